"""Which headings say what the title says: seen by what is dropped below others."""

from __future__ import annotations

import pytest

from worker.page.main_text.content import main_content

OWN = "<p>The harbour was closed on Tuesday after a crane fell into the water beside the old town.</p>" * 6
OTHER = "<p>Farmers in the valley have sold fewer apples than in any other year since records began.</p>"


def has_other(title: str, heading: str, other: str, count: int = 2) -> bool:
    """Whether cards below headings that lead elsewhere are kept on a page of this title and heading."""
    cards = "".join(f"<div><h3><a href=/{n}>{other} {n}</a></h3>{OTHER}</div>" for n in range(count))
    page = f"<title>{title}</title><div><h1>{heading}</h1>{OWN}<div>{cards}</div></div>"
    return "apples" in main_content(page).text


@pytest.mark.parametrize(
    ("title", "heading"),
    [
        ("Crane falls into the harbour | Post", "Crane falls into the harbour"),
        ("Post: Crane falls into the harbour", "Crane Falls Into the Harbour"),
        ("Crane falls into the harbour", "Crane falls into the harbour, none hurt on the quay"),
        ("港口吊车落水事故调查_新闻网", "港口吊车落水事故调查"),
        ("Кран упал в гавань — Газета", "Кран упал в гавань"),
        ("رافعة تسقط في الميناء", "رافعة تسقط في الميناء"),
        ("Żuraw runął do portu &ndash; Gazeta", "Żuraw runął do portu"),
    ],
)
def test_a_heading_of_the_words_of_the_title_is_the_pages_own(title: str, heading: str) -> None:
    assert not has_other(title, heading, "Fewer apples sold")


@pytest.mark.parametrize("title", ["", "Something else is told of", "Harbour news of all days in the year"])
def test_a_page_whose_headings_say_nothing_of_the_title_is_left_as_it_is(title: str) -> None:
    assert has_other(title, "Crane falls into the harbour", "Fewer apples sold")


@pytest.mark.parametrize("title", ["10 apples of the valley", "Die 10 besten Äpfel | Post", "Apples: top 10"])
def test_a_title_that_says_how_many_there_are_is_that_of_a_list(title: str) -> None:
    assert has_other(title, title, "Apple", count=10)


@pytest.mark.parametrize("title", ["Crane of 2025 in the harbour", "Crane for 3.50 in it", "Crane 80/90 falls"])
def test_years_and_prices_count_nothing(title: str) -> None:
    assert not has_other(title, title, "Fewer apples sold", count=3)


def test_a_heading_that_leads_to_a_place_of_its_page_is_a_part_of_it() -> None:
    parts = "".join(f"<div><h3><a href='#{n}'>Apples {n}</a></h3>{OTHER}</div>" for n in range(3))
    page = f"<title>Harbour and apples</title><div><h1>Harbour and apples</h1>{OWN}{parts}</div>"
    assert main_content(page).text.count("fewer apples") == 3
