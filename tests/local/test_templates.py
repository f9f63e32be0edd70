"""Evidence of titles on templates, in one process: the same for any batching and any number of processes, over
restarts, crashes and ways back.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler_plugin.wire.messages import EVIDENCE_BYTES, Block, Claim
from tests.fingerprint.definition.sketch import bands, sketch
from tests.local.crashes import settings as settings_of
from tests.local.crawled import network
from tests.local.test_single_shard import POLICY, claim, single
from worker.fingerprint.hashing import hash_words
from worker.fingerprint.scheme import Scheme
from worker.fingerprint.scoped import DOUBTED, TEMPLATE
from worker.local import Deduplicator, FetchedPage, compaction, single_shard
from worker.local.compaction import compacted, is_crowded, last_start
from worker.local.single_shard import SingleShard
from worker.verdict.claims import Claims
from worker.verdict.titles_of_texts import START

pytestmark = pytest.mark.usefixtures("read_here")
SCHEME: Final = Scheme.of({"near.k": 3})
RULES: Final = replace(POLICY, scheme=SCHEME.id)
TEXT: Final = hash_words([f"word {number}" for number in range(80)])


def product(site: int, number: int, cut: int = 0) -> Claim:
    """A page of one of several shops with one text; each page may leave out some words."""
    words = TEXT[cut:]
    text: dict[str, Any] = {"tokens": len(words), "sketch": sketch(words), "bands": bands(words), "text_hash": cut}
    url = f"http://shop{site}.example/{number}"
    return claim(url, 0xABCDEF, site=site, title=2 * (1000 * site + number), doubt=DOUBTED, **text)


SHOPS: Final = [product(site, number, number % 3) for number in range(1, 21) for site in (1, 2)]
"""Two shops in turn. Two pages of the second shop are called copies of the first shop's pages before the template is
recognised."""


def judged(shard: SingleShard, pages: Sequence[Claim], sizes: Iterator[int]) -> list[str]:
    """Outcome and doubt of each page, judged in batches of these sizes."""
    found: list[str] = []
    while len(found) < len(pages):
        decided = shard.decide(Claims.of(pages[len(found) : len(found) + next(sizes)]))
        shard.has_room_for(decided)
        shard.take(decided)
        found += [f"{one.outcome} {one.claim.doubt} {one.original and one.original.url}" for one in decided.decisions]
    return found


def ones() -> Iterator[int]:
    while True:
        yield 1


@cache
def one_by_one() -> list[str]:
    """Outcomes and doubts of pages that are judged one by one, without a restart."""
    return judged(single(), SHOPS, ones())


def test_of_two_shops_with_one_text_all_pages_are_unique_but_two_of_the_second_one() -> None:
    found = one_by_one()
    assert Counter(one.split()[0] for one in found) == {"unique": 38, "duplicate": 2}
    assert [one.split()[1] for one in found] == [str(DOUBTED)] * 4 + [str(TEMPLATE)] * 36
    assert all(one.endswith("http://shop1.example/1") for one in found if one.startswith("duplicate"))


CUTS: Final = st.lists(st.integers(1, 9), min_size=len(SHOPS), max_size=len(SHOPS))


@settings(max_examples=30)
@given(sizes=CUTS, again=st.integers(0, len(SHOPS)))
def test_verdicts_do_not_depend_on_what_is_judged_together_or_looked_up(sizes: list[int], again: int) -> None:
    shard = single()
    shard.decide(Claims.of(SHOPS[again:]))
    assert judged(shard, SHOPS, iter(sizes)) == one_by_one()
    shard.decide(Claims.of(SHOPS))


@settings(max_examples=30)
@given(sizes=CUTS, seals=st.sets(st.integers(1, len(SHOPS))), shorter=st.booleans(), entries=st.sampled_from((3, 1000)))
def test_a_state_knows_what_titles_told_when_each_of_its_blocks_was_sealed(
    sizes: list[int], seals: set[int], shorter: bool, entries: int
) -> None:
    shard, place, found = single(replace(POLICY, flush_entries=entries)), 0, []
    for end in sorted({*seals, len(SHOPS)}):
        found += judged(shard, SHOPS[place:end], iter(sizes))
        place = end
        shard.seal()
    assert found == one_by_one()
    blocks = list(shard.sealed)
    for count in range(len(blocks) + 1):
        kept = blocks[:count]
        shard = single(blocks=compacted(kept) if shorter and kept else kept)
        place = shard.judged
        assert judged(shard, SHOPS[place:], iter(sizes)) == one_by_one()[place:]


def sealed(pages: Sequence[Claim]) -> list[Block]:
    """One block per page."""
    shard = single(RULES)
    for page in pages:
        judged(shard, [page], ones())
        shard.seal()
    return list(shard.sealed)


def test_what_is_told_anew_stands_for_all_that_was_told_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_shard, "_TOLD_ANEW", 10 * EVIDENCE_BYTES)
    blocks = sealed(SHOPS)
    starts = [number for number, block in enumerate(blocks) if block.evidence.startswith(START)]
    assert starts
    assert last_start(blocks) == starts[-1]
    for count in range(1, len(blocks) + 1):
        forgotten = [block.with_evidence(b"") for block in blocks[: last_start(blocks[:count])]]
        shard = single(blocks=[*forgotten, *blocks[len(forgotten) : count]])
        place = shard.judged
        assert judged(shard, SHOPS[place:], ones()) == one_by_one()[place:]
    assert not is_crowded(blocks)
    monkeypatch.setattr(compaction, "_MOST_FORGOTTEN", 10 * EVIDENCE_BYTES - 1)
    assert is_crowded(blocks)
    assert not is_crowded(compacted(blocks))


def test_rows_stand_in_the_block_of_the_page_that_brought_them() -> None:
    pages = [SHOPS[0], SHOPS[0], product(1, 1, 20), claim("http://other.example/", 5), SHOPS[2]]
    assert [len(block.evidence) // EVIDENCE_BYTES for block in sealed(pages)] == [1, 0, 1, 0, 1]


def test_fewer_blocks_have_no_more_evidence_than_the_table_holds() -> None:
    blocks = sealed(SHOPS)
    (fewer,) = compacted(blocks)
    assert 0 < len(fewer.evidence) <= 2 * sum(len(block.evidence) for block in blocks)
    assert len(compacted([fewer])[0].evidence) == len(fewer.evidence)
    assert compacted(sealed([claim("http://other.example/", 5)]))[0].evidence == b""


# with pages


PAGES: Final = network()


def kinds(pages: Sequence[FetchedPage], local: Deduplicator) -> list[tuple[str, str | None]]:
    return [(verdict.verdict, verdict.duplicate_of) for _, verdict in local.judge_all(pages)]


@pytest.fixture(scope="module")
def alone() -> list[tuple[str, str | None]]:
    """The verdicts on pages that are judged one by one."""
    with Deduplicator(config=settings_of()) as local:
        verdicts = [local.judge(page.url, page.body, content_type=page.content_type) for page in PAGES]
    return [(verdict.verdict, verdict.duplicate_of) for verdict in verdicts]


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_verdicts_are_the_same_for_any_number_of_processes(alone: list[tuple[str, str | None]], processes: int) -> None:
    with Deduplicator(config=settings_of(page={"processes": processes})) as local:
        assert kinds(PAGES, local) == alone


def test_a_state_that_is_killed_cut_back_and_opened_again_judges_as_one_that_is_not(
    tmp_path: Path, alone: list[tuple[str, str | None]]
) -> None:
    """A killed process leaves the file as it was at that moment."""
    chance, found, number = random.Random(3), list[tuple[str, str | None]](), 0
    state = tmp_path / "0"
    while len(found) < len(PAGES):
        number += 1
        with Deduplicator(state, settings_of()) as local:
            found = found[: local.judged]
            for size in (chance.randint(1, 20), chance.randint(1, 20)):
                found += kinds(PAGES[len(found) : len(found) + size], local)
                local.flush()
            found += kinds(PAGES[len(found) : len(found) + 5], local)
            if number % 2:
                local.flush()
            state = tmp_path / f"{number}"
            state.mkdir()
            shutil.copy(tmp_path / f"{number - 1}" / "index.blocks", state)
    assert found == alone


def test_to_look_up_counts_no_title(alone: list[tuple[str, str | None]]) -> None:
    with Deduplicator(config=settings_of()) as local:
        for page in PAGES[:40]:
            local.look_up(page.url, page.body, content_type=page.content_type)
        assert kinds(PAGES[:60], local) == alone[:60]
