"""Which lines have a date, and which headings are titles."""

from __future__ import annotations

import numpy as np
import pytest

from worker.page.elements.markup import parse
from worker.page.main_text.dates import BYLINES, DATED, DATES, LINES, LONGER, OF_LINES, TITLE, find_lines, find_titles
from worker.page.main_text.shown import hide
from worker.page.main_text.tally import OF_ELEMENTS, OF_RUNS, survey


def found(markup: str) -> tuple[dict[int, int], int]:
    """The columns of a whole page, and its headings."""
    body, elements, runs, _ = parse(markup)
    known = np.zeros((len(elements), OF_ELEMENTS), dtype=np.int32)
    said = np.zeros((len(runs), OF_RUNS), dtype=np.int32)
    lines = np.zeros((len(elements), OF_LINES), dtype=np.int32)
    titles = np.zeros(len(elements), dtype=np.int32)
    hide(body, elements, runs, True, known, said)
    survey(elements, runs, known, said)
    find_lines(body, elements, runs, known, said, lines)
    find_titles(body, elements, runs, known, said, titles)
    return {column: int(lines[0, column]) for column in range(OF_LINES)}, int(titles[0])


@pytest.mark.parametrize(
    "line",
    [
        "3 May 2024",
        "May 2024",
        "2024-05-03 10:15",
        "3.5.24, Ewa",
        "03/05/2024",
        "Ewa 10:15",
        "today, 9:05 pm",
        "2024年5月3日",
        "小明发表于 2024-05-03 10:15",
        "۱۲ مرداد ۱۴۰۳",
        "<a href=/u>Ewa</a> <time>3 hours ago</time>",
        "Maria Lopez wrote on 3 May 2024 at 9:31",
    ],
)
def test_a_line_of_a_date_and_little_else(line: str) -> None:
    assert found(f"<p>{line}<p>text")[0][DATES] == 1


@pytest.mark.parametrize(
    "line",
    [
        "2024",
        "1,499",
        "4 of 5",
        "3 hours ago",
        "room 2 24",
        "1403 pages here",
        "10:1 against",
        "1.2.3 is out",
        "They had founded the house in May 1924 and sold it",
        "12345 67890",
        "one <a href=/u>two three four five six seven eight nine ten eleven</a> 2024 12:10",
    ],
)
def test_other_lines_with_numbers(line: str) -> None:
    assert found(f"<p>{line}<p>text")[0][DATES] == 0


def test_lines_are_counted_of_all_kinds() -> None:
    prose = " ".join(["word"] * 20)
    lines, _ = found(f"<div><p>4 of 5</p><p>{prose}</p><p>Ewa, 3 May 2024</p></div>")
    assert (lines[LINES], lines[BYLINES], lines[DATES], lines[LONGER]) == (3, 2, 1, 1)
    assert found("<p>Joined: Sun 17 Dec 2023 11:18 am<p>one")[0][LONGER] == 0


@pytest.mark.parametrize(
    ("headings", "kind"),
    [
        ("<h3>Ewa</h3>", 0),
        ("<h3>How to mend an old bicycle</h3>", TITLE),
        ("<h3>3 May 2024, morning</h3>", DATED),
        ("<p>How to mend an old bicycle</p>", 0),
    ],
)
def test_headings_are_titles_by_their_length(headings: str, kind: int) -> None:
    assert found(headings)[1] == kind


def test_a_heading_that_all_have_is_the_title_of_none_but_the_first() -> None:
    posts = "".join(f"<div><h3>{n}. Re: How to mend my bicycle</h3><h4>Ewa{n}</h4></div>" for n in range(1, 4))
    body, elements, runs, _ = parse(posts)
    known = np.zeros((len(elements), OF_ELEMENTS), dtype=np.int32)
    said = np.zeros((len(runs), OF_RUNS), dtype=np.int32)
    titles = np.zeros(len(elements), dtype=np.int32)
    hide(body, elements, runs, True, known, said)
    survey(elements, runs, known, said)
    find_titles(body, elements, runs, known, said, titles)
    assert titles[[1, 4, 7]].tolist() == [TITLE, 0, 0]
