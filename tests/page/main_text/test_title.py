"""Titles and the texts under them."""

from __future__ import annotations

import pytest

from worker.page.main_text.title import LEAST_ANNOUNCED, first_part, is_announced, numbers

APPEAL = "We value your privacy. Tell us what you need, and one of our engineers will answer within a day.\n" * 3


@pytest.mark.parametrize(
    ("title", "first"),
    [
        ("Fish - Aquarium", "Fish"),
        ("Fish  |  Aquarium", "Fish"),
        ("Fish|Aquarium", "Fish"),
        ("Fish (print)", "Fish"),
        ("鱼（打印）", "鱼"),
        ("Salt-water fish: a guide", "Salt-water fish: a guide"),
        ("Fish -- |-| -- Aquarium", "Fish"),
        ("| Aquarium", ""),
        ("", ""),
        (" " * 200_000 + "-", " " * 200_000 + "-"),
        ("Fish" + " -" * 200_000, "Fish"),
    ],
)
def test_the_first_part_ends_where_a_sign_stands_between_blanks(title: str, first: str) -> None:
    assert first_part(title) == first


@pytest.mark.parametrize(
    ("title", "text"),
    [
        (
            "Tropical fish in salt water | The Aquarium",
            "Few fish of the tropical seas live in the salt of the dead one.",
        ),
        ("Tropical fish", "TROPICAL FISH\nThe fishes of the tropics."),
        ("五十一区的外星人 - 新闻网", "五十一区的外星人会开飞碟，内部雇员称。"),
        ("Как выбрать аквариум", "Прежде чем выбрать, измерьте: аквариумы тяжелы."),
        ("熱帯魚の水槽について", "熱帯魚の水槽は大きい。"),
        ("Who we are", "This is who we are, and what we do."),
        ("إعادة البناء", "بدأت إِعَادَةُ البِنَاءِ أمس."),
        ("Ёлки в городе", "Елки стоят там, где их ставили."),
        ("Ko\u02bbprik ta\u02bcmiri", "Eski ko'prikni ta'miri boshlandi."),
    ],
)
def test_an_article_has_words_of_its_title(title: str, text: str) -> None:
    assert is_announced(text, title)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Tropical fish in salt water", APPEAL),
        ("What you need", "What you need\nA menu of other things."),
        ("The day of our engineers", "The day of our engineers\nThe day of\nour engineers\nThe end."),
        ("五十一区的外星人", "本站使用小甜饼，继续浏览即表示同意。"),
        ("Tropical fish in salt water", ""),
        ("Tropical fish | Ask our engineers for privacy", "Tropical fish | Ask our engineers for privacy\n" + APPEAL),
        ("", APPEAL),
        ("404", APPEAL),
    ],
)
def test_a_template_has_none_but_in_the_title_itself(title: str, text: str) -> None:
    assert not is_announced(text, title)


def test_function_words_do_not_announce_an_article() -> None:
    title = "How one of us will do what you and your fish are in for"
    assert not is_announced(APPEAL, title)
    assert is_announced(f"{APPEAL} No fish.", title)


def test_two_of_five_words_are_enough() -> None:
    words = ["amber", "basalt", "copper", "diamond", "emerald"]
    enough = round(LEAST_ANNOUNCED * len(words))
    for count in range(len(words) + 1):
        assert is_announced(f"Of {' and '.join(words[:count])}.", " ".join(words)) == (count >= enough)


@pytest.mark.parametrize(
    ("title", "part"),
    [
        ("Tropical fish in salt water | The Aquarium", "Tropical fish in salt water"),
        ("Tropical fish — in salt water - The Aquarium", "Tropical fish"),
        ("五十一区的外星人|新闻网", "五十一区的外星人"),
        ("Salt-water fish: a guide", "Salt-water fish: a guide"),
        ("The night train (print)", "The night train"),
        ("夜航船（打印版）", "夜航船"),
        ("", ""),
    ],
)
def test_the_name_of_the_site_and_what_stands_in_brackets_are_no_part_of_a_title(title: str, part: str) -> None:
    assert first_part(title) == part


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Strip #1201 | Comics 24", ["1201"]),
        ("Comics - Strip #1201", ["1201"]),
        ("Photo ١٧", ["17"]),
        ("第１２话", ["12"]),
        ("Ferries: 3 of 20", ["3", "20"]),
        ("Page 007", ["7"]),
        ("Views — Manual 3.2.25", []),
        ("Views", []),
    ],
)
def test_numbers_of_a_title_are_those_of_its_first_part_else_of_the_rest(title: str, expected: list[str]) -> None:
    assert numbers(title) == expected
