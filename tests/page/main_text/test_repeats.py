"""Text that a page repeats."""

from __future__ import annotations

import pytest

from worker.page.main_text.content import blocks, main_content
from worker.page.main_text.repeats import LEAST_PASSAGE, LONGEST_LINE

APPLES = " ".join(f"Apple number {n} is red." for n in range(LEAST_PASSAGE // 5))
PEARS = " ".join(f"Pear number {n} is green." for n in range(LEAST_PASSAGE // 5))
_MIDDLE = APPLES.index("Apple number 6")
HALVES = [f"<p>{half}</p>" for half in (APPLES[:_MIDDLE].strip(), APPLES[_MIDDLE:])]


def _text(*parts: str) -> str:
    return main_content(f"<title>Fruit</title><main><h1>Fruit</h1>{''.join(parts)}</main>").text


@pytest.mark.parametrize("passage", [[f"<p>{APPLES}</p>"], HALVES], ids=["one line", "two lines"])
def test_a_passage_that_stood_there_before_is_read_once(passage: list[str]) -> None:
    once = _text(*passage, f"<p>{PEARS}</p>")
    assert _text(*passage, f"<p>{PEARS}</p>", *passage) == once
    assert _text(*passage, *passage, f"<p>{PEARS}</p>", *passage) == once


def test_it_is_the_same_however_its_source_is_broken_into_lines() -> None:
    broken = APPLES.replace(" is ", "\n  is ")
    assert _text(f"<p>{APPLES}</p>", f"<p>{PEARS}</p>", f"<p>\n {broken}\n</p>").count(APPLES) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (APPLES, APPLES[: APPLES.rindex("Apple")]),
        (APPLES, APPLES.replace("number 9", "number 10")),
        (" ".join([APPLES] * (LONGEST_LINE // LEAST_PASSAGE + 1)),) * 2,
    ],
    ids=["too short", "a word is another", "a text in one line"],
)
def test_what_is_no_passage_said_before_stays(first: str, second: str) -> None:
    assert _text(f"<p>{first}</p>", f"<p>{PEARS}</p>", f"<p>{second}</p>").endswith(f"\n{second}")


def test_lines_that_others_part_are_no_passage() -> None:
    parted = [HALVES[0], f"<p>{PEARS}</p>", HALVES[1]]
    assert _text(*HALVES, *parted).endswith(HALVES[1][3:-4])


def test_a_little_of_a_long_text_stays_as_its_author_wrote_it() -> None:
    long = "".join(f"<p>{PEARS.replace('Pear', name)}</p>" for name in map(chr, range(65, 65 + 20)))
    assert _text(f"<p>{APPLES}</p>", long, f"<p>{APPLES}</p>").count(APPLES) == 2


def test_blocks_say_so() -> None:
    page = f"<title>Fruit</title><main><h1>Fruit</h1><p>{APPLES}</p><p>{PEARS}</p><p>{APPLES}</p></main>"
    assert [block.dropped_by for block in blocks(page) if block.text == APPLES] == [None, "repeated"]
