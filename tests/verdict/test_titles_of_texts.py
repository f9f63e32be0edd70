"""Finds texts that have several titles on a site, and remembers them."""

from __future__ import annotations

import random
import struct
import tracemalloc
from itertools import combinations
from typing import Any, Final

import pytest

from crawler_plugin.wire.messages import EVIDENCE_BYTES, NOT_STORED, Claim
from worker.fingerprint.scoped import ANNOUNCED, DOUBTED, LEAST_ACROSS, TEMPLATE
from worker.verdict.claims import Claims
from worker.verdict.titles_of_texts import TitlesOfTexts

MIB: Final = 1 << 20


def page(title: int = 2, bands: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8), **fields: Any) -> Claim:
    """A doubted page of site 7, with the bands of a sketch or, where there are none, only with its fingerprint."""
    given: dict[str, Any] = {"fingerprint": 5, "tokens": LEAST_ACROSS, "site": 7, "doubt": DOUBTED, **fields}
    packed = struct.pack("<8I", *bands) if bands else b""
    return Claim(partition=0, offset=0, clock=0, url="http://a.example/", title=title, bands=packed, **given)


def marked(table: TitlesOfTexts, pages: list[Claim]) -> tuple[list[int], bytes]:
    """The doubts of pages that are claimed together, and the evidence that they leave."""
    found: list[int] = table.mark(Claims.of(pages)).tolist()
    return found, table.keep()


def doubts(pages: list[Claim], table: TitlesOfTexts | None = None) -> list[int]:
    """The doubts of pages that are claimed one after the other."""
    table = TitlesOfTexts() if table is None else table
    return [doubt for claim in pages for doubt in marked(table, [claim])[0]]


def test_from_the_third_title_on_a_text_is_a_template_s() -> None:
    assert doubts([page(title) for title in (2, 4, 6, 8, 10)]) == [DOUBTED] * 2 + [TEMPLATE] * 3


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
    assert marked(table, others) == ([DOUBTED] * 4, b"")
    assert len(table) == 0
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


def test_a_page_that_is_not_stored_is_marked_and_does_not_count() -> None:
    kept_out = [page(title, flags=NOT_STORED) for title in (8, 10, 12)]
    table = TitlesOfTexts()
    assert marked(table, kept_out) == ([DOUBTED] * 2 + [TEMPLATE], b"")
    assert len(table) == 0
    assert marked(table, [page(2), kept_out[0], page(4), kept_out[1]])[0] == [DOUBTED] * 4
    assert marked(table, kept_out[:1])[0] == [TEMPLATE]
    alone = TitlesOfTexts()
    marked(alone, [page(2), page(4)])
    assert table.evidence() == alone.evidence()


def test_what_changes_nothing_leaves_no_evidence() -> None:
    table = TitlesOfTexts()
    rows = [marked(table, [page(title)])[1] for title in (2, 2, 4, 6, 8, 10, 12, 2)]
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
    chance, scope, pages = random.Random(1), (1 << 64) - 1, list[Claim]()
    words_of = [*(0b111 | 1 << place for place in range(3, 7)), *(0xFFF << place for place in range(12, 60, 12))]
    for _ in range(2_200):  # more than two generations, each key with as many titles as are kept
        bands = tuple(chance.getrandbits(32) for _ in range(8))
        site = chance.getrandbits(32)
        for words in words_of:
            title = chance.getrandbits(32)
            pages.append(page(title, bands, site=site, scope=scope, title_words=words))
    claims = Claims.of(pages)
    TitlesOfTexts(most=1)  # loads the compiled code
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    table = TitlesOfTexts(most=8_000)  # an eighth of the default
    table.mark(claims)
    evidence = table.keep()
    assert evidence.count(bytes(EVIDENCE_BYTES)) == 2
    left = tracemalloc.get_traced_memory()[0] - before - len(evidence)
    tracemalloc.stop()
    assert MIB < left < 17e6 / 8
