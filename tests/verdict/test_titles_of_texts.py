"""Which texts stand under several titles of a site: the table against a slow, readable one, and what it remembers."""

from __future__ import annotations

import random
import struct
import tracemalloc
from itertools import combinations
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.messages import EVIDENCE_BYTES, Claim
from worker.fingerprint.scoped import ANNOUNCED, DOUBTED, LEAST_ACROSS, TEMPLATE, alike
from worker.verdict.titles_of_texts import START, TitlesOfTexts

MIB: Final = 1 << 20


def page(title: int = 2, bands: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8), **fields: Any) -> Claim:
    """A doubted page of site 7, with a sketch's bands or, where these are none, by its fingerprint alone."""
    given: dict[str, Any] = {"fingerprint": 5, "tokens": LEAST_ACROSS, "site": 7, "doubt": DOUBTED, **fields}
    packed = struct.pack("<8I", *bands) if bands else b""
    return Claim(partition=0, offset=0, clock=0, url="http://a.example/", title=title, bands=packed, **given)


def doubts(pages: list[Claim], table: TitlesOfTexts | None = None) -> list[int]:
    """Of pages that are claimed one after the other."""
    table = TitlesOfTexts() if table is None else table
    return [table.mark(claim).doubt for claim in pages]


def test_from_the_third_title_on_a_text_is_a_template_s() -> None:
    assert doubts([page(title) for title in (2, 4, 6, 8, 10)]) == [DOUBTED] * 2 + [TEMPLATE] * 3


def test_a_mark_changes_nothing_else_of_a_claim() -> None:
    table = TitlesOfTexts()
    doubts([page(title) for title in (2, 4)], table)
    marked = table.mark(page(8))
    assert marked != page(8)
    assert marked.doubted(DOUBTED) == page(8)


def test_a_page_that_is_claimed_again_is_marked_by_the_titles_of_others_only() -> None:
    assert doubts([page(title) for title in (2, 4, 4, 2)]) == [DOUBTED] * 4
    assert doubts([page(title) for title in (2, 4, 6, 2, 4, 6)]) == [DOUBTED] * 2 + [TEMPLATE] * 4


def test_titles_of_another_site_or_another_scope_do_not_count() -> None:
    assert doubts([page(2 * number, site=number) for number in range(1, 9)]) == [DOUBTED] * 8
    assert doubts([page(2 * number, scope=number) for number in range(1, 9)]) == [DOUBTED] * 8
    assert doubts([page(2 * number, scope=1 << 63) for number in range(1, 4)])[-1] == TEMPLATE


def test_one_band_in_common_is_enough_and_the_same_number_in_another_band_is_none() -> None:
    def shifted(title: int, place: int) -> Claim:
        keys = [100 * title + number for number in range(8)]
        keys[place] = 77
        return page(title, tuple(keys))

    assert doubts([shifted(title, 3) for title in (2, 4, 6)])[-1] == TEMPLATE
    assert doubts([shifted(2 * number + 2, number) for number in range(8)]) == [DOUBTED] * 8


def test_each_of_the_others_may_have_another_band_in_common_with_it() -> None:
    others = [(1, 12, 13, 14, 15, 16, 17, 18), (21, 2, 23, 24, 25, 26, 27, 28)]
    pages = [page(2 * number + 2, bands) for number, bands in enumerate(others)]
    assert doubts([*pages, page(8)]) == [DOUBTED] * 2 + [TEMPLATE]


@pytest.mark.parametrize("bits", list(combinations((0, 15, 16, 31, 40, 63), 2)))
def test_without_bands_fingerprints_that_differ_in_two_bits_are_near(bits: tuple[int, int]) -> None:
    one, other = 0x0123456789ABCDEF, 0x0123456789ABCDEF ^ 1 << bits[0] ^ 1 << bits[1]
    pages = [page(title, (), fingerprint=one) for title in (2, 4)]
    assert doubts([*pages, page(8, (), fingerprint=other), page(10, (), fingerprint=~one & (1 << 64) - 1)]) == [
        *[DOUBTED] * 2,
        TEMPLATE,
        DOUBTED,
    ]


def test_without_bands_and_fingerprint_equal_texts_are_near() -> None:
    assert doubts([page(title, (), fingerprint=None, text_hash=99) for title in (2, 4, 6, 8)])[-1] == TEMPLATE
    assert (
        doubts([page(title, (), fingerprint=None, text_hash=title << 40 | title) for title in (2, 4, 6, 8)])
        == [DOUBTED] * 4
    )


@pytest.mark.parametrize(
    "fields",
    [{"site": 0}, {"title": 0}, {"fingerprint": None, "bands": (), "text_hash": 0}],
    ids=["of no site", "without title", "without key"],
)
def test_other_pages_are_neither_marked_nor_counted(fields: dict[str, Any]) -> None:
    table = TitlesOfTexts()
    others = [page(**{"title": title, **fields}) for title in (2, 4, 6, 8)]
    assert [table.mark(claim) for claim in others] == others
    assert len(table) == 0
    assert table.count(others[0]) == b""
    assert doubts([page(10)], table) == [DOUBTED]


def announced(words: int, **fields: Any) -> Claim:
    return page(2 * words, title_words=words, **{"doubt": ANNOUNCED, **fields})


def test_announced_texts_are_marked_by_titles_that_are_not_alike_however_short() -> None:
    apart = [0b11, 0b1100, 0b110000, 0b11000000, 0b1100000000]
    wanted = [ANNOUNCED] * 2 + [TEMPLATE] * 3
    assert doubts([announced(words) for words in apart]) == wanted
    assert doubts([announced(words, tokens=1) for words in apart]) == wanted
    assert doubts([announced(0b111 << number % 2) for number in range(9)]) == [ANNOUNCED] * 9
    assert doubts([announced(words) for words in (*apart[:2], 0b111)])[-1] == ANNOUNCED, "alike to the first"


def test_titles_that_are_alike_do_not_take_the_place_of_others() -> None:
    many = [0b111 | 1 << number for number in range(3, 20)]
    apart = [0b11 << number for number in (20, 23, 26)]
    assert doubts([announced(words) for words in (*many, *apart)])[-2:] == [TEMPLATE] * 2


def test_doubted_and_announced_texts_count_for_each_other() -> None:
    apart = [0b11, 0b1100, 0b110000, 0b11000000]
    assert doubts([*(announced(words) for words in apart[:2]), page(99), announced(apart[3])])[-2:] == [TEMPLATE] * 2
    assert doubts([*(page(title) for title in (2, 4)), announced(1), page(8)])[-2:] == [ANNOUNCED, TEMPLATE]


def test_pages_without_any_title_are_marked_and_count_for_none() -> None:
    assert doubts([page(0) for _ in range(5)]) == [DOUBTED] * 5
    assert doubts([*(page(title) for title in (2, 4)), page(0)])[-1] == TEMPLATE


def test_urls_that_stand_for_titles_count_as_such() -> None:
    assert doubts([page(title) for title in (3, 5, 7, 9)])[-1] == TEMPLATE


# a slow table


class Slow:
    """Texts as lists of titles, in two generations."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.young: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        self.old: dict[tuple[int, ...], list[tuple[int, int]]] = {}

    def mark(self, claim: Claim) -> int:
        if not claim.site:
            return claim.doubt
        title = (claim.title, claim.title_words)
        keys = struct.unpack("<8I", claim.bands)
        texts = [(claim.scope, claim.site, number, key) for number, key in enumerate(keys) if key]
        found = [self.young.get(text) or self.old.get(text) or [] for text in texts]
        others = [title]
        for each in (each for titles in found for each in titles):
            if claim.doubt == DOUBTED:
                if each[0] not in [number for number, _ in others]:
                    others.append(each)
            elif apart(each, others):
                others.append(each)
        if texts and claim.title:
            if len(self.young) >= self.most:
                self.old, self.young = self.young, {}
            for text in texts:
                titles = self.young.setdefault(text, list(self.old.get(text, [])))
                unlike: list[tuple[int, int]] = []
                for each in titles:
                    if apart(each, unlike):
                        unlike.append(each)
                new = claim.title not in [number for number, _ in titles]
                if new and (len(titles) < 3 or (len(unlike) < 3 and apart(title, titles))):
                    titles.append(title)
        return TEMPLATE if len(others) > 2 else claim.doubt

    @property
    def said(self) -> set[tuple[int, ...]]:
        generations = enumerate((self.old, self.young) if self.old else (self.young,))
        return {
            (age, scope, site, *title, number, key)
            for age, texts in generations
            for (scope, site, number, key), titles in texts.items()
            for title in titles
        }


def apart(title: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return not any(alike(title[1], words) for _, words in others)


def said(evidence: bytes) -> set[tuple[int, ...]]:
    """What rows say, by the rows of zeros before them."""
    found: set[tuple[int, ...]] = set()
    age = 0
    for scope, site, title, words, *keys in struct.iter_unpack("<QIIQ8I", evidence.removeprefix(START)):
        age += not any((scope, site, title, words, *keys))
        found |= {(age, scope, site, title, words, number, key) for number, key in enumerate(keys) if key}
    return found


KEYS = st.tuples(*[st.integers(0, 3)] * 8)
PAGES = st.lists(
    st.builds(
        page,
        st.integers(0, 7),
        KEYS,
        site=st.integers(0, 1),
        scope=st.sampled_from((0, 1 << 40)),
        title_words=st.sampled_from((0, 0b11, 0b110, 0b1100, 0b11 << 40, 1 << 63)),
        doubt=st.sampled_from((ANNOUNCED, DOUBTED)),
    ),
    max_size=40,
)
MOST = st.integers(1, 30)


@given(pages=PAGES, most=MOST)
def test_marks_are_those_of_a_slow_table(pages: list[Claim], most: int) -> None:
    slow, table = Slow(most), TitlesOfTexts(most=most)
    assert doubts(pages, table) == [slow.mark(claim) for claim in pages]
    assert said(table.evidence()) == slow.said
    assert len(table) == len(slow.young)


@given(pages=PAGES, most=MOST, batches=st.lists(st.integers(1, 9), min_size=40, max_size=40))
def test_marks_do_not_depend_on_how_many_pages_are_marked_together(
    pages: list[Claim], most: int, batches: list[int]
) -> None:
    slow, table = Slow(most), TitlesOfTexts(most=most)
    wanted = [slow.mark(claim) for claim in pages]
    found: list[int] = []
    for size in batches:
        batch = pages[len(found) : len(found) + size]
        table.marked(batch)
        marked = table.marked(batch)
        found += [claim.doubt for claim in marked]
        for claim in marked:
            table.count(claim)
    assert found == wanted
    assert said(table.evidence()) == slow.said


@given(pages=PAGES, more=PAGES, most=MOST, short=st.booleans())
def test_from_its_evidence_a_table_is_what_it_was(
    pages: list[Claim], more: list[Claim], most: int, short: bool
) -> None:
    table, again = TitlesOfTexts(most=most), TitlesOfTexts(most=most)
    rows = [table.count(claim) for claim in pages]
    if short:
        again.learn(rows[-1] if rows else b"")  # what was known before does not count
    assert all(len(row) <= 2 * EVIDENCE_BYTES for row in rows)
    again.learn(table.evidence() if short else b"".join(rows))
    assert said(again.evidence()) == said(table.evidence())
    assert (len(again), again.count(page(2))) == (len(table), table.count(page(2)))
    assert doubts(more, again) == doubts(more, table)


def test_what_changes_nothing_leaves_no_evidence() -> None:
    table = TitlesOfTexts()
    rows = [table.count(page(title)) for title in (2, 2, 4, 6, 8, 10, 12, 2)]
    assert [len(row) // EVIDENCE_BYTES for row in rows] == [1, 0, 1, 1, 0, 0, 0, 0]
    assert len(table.evidence()) == (1 + 3) * EVIDENCE_BYTES


def test_what_came_long_ago_is_forgotten_unless_it_comes_again() -> None:
    table = TitlesOfTexts(most=80)
    seldom, once = [page(title) for title in (2, 4, 6)], [page(title, (9,) * 8) for title in (2, 4, 6)]
    doubts([*seldom, *once], table)
    for number in range(10, 40):
        other = page(2, tuple(range(100 * number, 100 * number + 8)))
        doubts([other, seldom[number % 3]] if number % 5 == 0 else [other], table)
    assert doubts([page(8), page(8, (9,) * 8)], table) == [TEMPLATE, DOUBTED]


def test_an_attacker_who_fills_it_makes_it_no_larger_than_it_may_be() -> None:
    chance, scope = random.Random(1), (1 << 64) - 1
    table = TitlesOfTexts(most=8_000)  # an eighth of what it is otherwise
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(2_200):  # two generations and more, each key under as many titles as are kept
        bands = tuple(chance.getrandbits(32) for _ in range(8))
        site = chance.getrandbits(32)
        for words in (*(0b111 | 1 << place for place in range(3, 7)), *(0xFFF << place for place in range(12, 60, 12))):
            table.mark(page(chance.getrandbits(32), bands, site=site, scope=scope, title_words=words))
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert 3 * MIB < peak < 40e6 / 8
