"""The table of titles, compared with a slow, readable one."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.messages import EVIDENCE_BYTES, Claim
from tests.verdict.test_titles_of_texts import marked, page
from tests.verdict.titles_by_definition import TitlesByDefinition
from worker.fingerprint.scoped import ANNOUNCED, DOUBTED, TEMPLATE
from worker.verdict.claims import Claims
from worker.verdict.titles_of_texts import TitlesOfTexts

KEYS = st.just(()) | st.tuples(*[st.integers(0, 3)] * 8).filter(any)
PAGES = st.lists(
    st.builds(
        page,
        st.integers(0, 7),
        KEYS,
        fingerprint=st.none() | st.sampled_from((5, 5 << 40, 7)),
        text_hash=st.integers(0, 3),
        site=st.integers(0, 1),
        scope=st.sampled_from((0, 1 << 40)),
        title_words=st.sampled_from((0, 0b11, 0b110, 0b1100, 0b11 << 40, 1 << 63)),
        doubt=st.sampled_from((ANNOUNCED, DOUBTED, TEMPLATE)),
    ),
    max_size=40,
)
MOST = st.integers(1, 30)
BATCHES = st.lists(st.integers(0, 12), max_size=12)


def by_definition(table: TitlesByDefinition, pages: list[Claim]) -> tuple[list[int], bytes]:
    """Like ``marked``, by the definition."""
    found, rows = [], b""
    for claim in pages:
        found.append(table.mark(claim))
        rows += table.told
    return found, rows


@given(pages=PAGES, most=MOST, batches=BATCHES, trials=st.sets(st.integers(0, 40)))
def test_marks_and_evidence_are_those_of_the_definition_whatever_is_marked_together_or_tried(
    pages: list[Claim], most: int, batches: list[int], trials: set[int]
) -> None:
    plain, table = TitlesByDefinition(most), TitlesOfTexts(most)
    place = 0
    for number, size in enumerate(batches):
        batch = pages[place : place + size]
        place += size
        if number in trials:
            table.mark(Claims.of(pages[-number:]))
        assert marked(table, batch) == by_definition(plain, batch)
        if number + 1 in trials:
            table.mark(Claims.of(pages[:number]))
        assert table.evidence() == plain.evidence()
        assert len(table) == len(plain)


@given(
    pages=PAGES, more=PAGES, most=MOST, other=MOST, begin=st.integers(0, 9),
    forged=st.lists(st.binary(min_size=EVIDENCE_BYTES, max_size=EVIDENCE_BYTES), max_size=4),
)  # fmt: skip
def test_what_is_learnt_of_any_evidence_is_what_the_definition_says(
    pages: list[Claim], more: list[Claim], most: int, other: int, begin: int, forged: list[bytes]
) -> None:
    """Evidence may also be the end of another table's evidence, more than this table remembers, or evidence that no
    table gives."""
    table = TitlesOfTexts(most)
    marked(table, pages)
    evidence = table.evidence()[begin * EVIDENCE_BYTES :] + b"".join(forged)
    plain, again = TitlesByDefinition(other), TitlesOfTexts(other)
    for _ in range(2):
        plain.learn(evidence)
        again.mark(Claims.of(more))  # and is forgotten
        again.learn(evidence)
        assert again.evidence() == plain.evidence()
        assert marked(again, more) == by_definition(plain, more)


@given(pages=PAGES, more=PAGES, most=MOST, short=st.booleans())
def test_from_its_evidence_a_table_is_what_it_was(
    pages: list[Claim], more: list[Claim], most: int, short: bool
) -> None:
    table, again = TitlesOfTexts(most), TitlesOfTexts(most)
    rows = [marked(table, [claim])[1] for claim in pages]
    if short:
        again.learn(rows[-1] if rows else b"")  # earlier knowledge does not count
    assert all(len(row) <= 2 * EVIDENCE_BYTES for row in rows)
    again.learn(table.evidence() if short else b"".join(rows))
    assert len(again) == len(table)
    assert marked(again, more) == marked(table, more)


def test_a_large_table_is_that_of_the_definition() -> None:
    """More than two generations, in batches of a fifth of a generation each; every key has up to five titles."""
    chance = random.Random(2)
    plain, table = TitlesByDefinition(2_000), TitlesOfTexts(2_000)
    for _ in range(15):
        batch = [
            page(
                chance.randint(1, 9),
                tuple(chance.choice((chance.randint(1, 40), chance.getrandbits(32) or 1)) for _ in range(8)),
                title_words=chance.choice((1, 6, 24, 96, 384, 1536)),
                site=chance.randint(1, 2),
                doubt=chance.choice((ANNOUNCED, DOUBTED)),
            )
            for _ in range(100)
        ]
        assert marked(table, batch) == by_definition(plain, batch)
    assert table.evidence() == plain.evidence()
