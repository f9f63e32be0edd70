"""Evidence of titles and headings on a text."""

from __future__ import annotations

import pytest

from worker.page.main_text.content import main_content
from worker.page.main_text.title_evidence import LEAST_ANNOUNCED, UNTITLED, is_announced, read_title

APPEAL = "We value your privacy. Tell us what you need, and one of our engineers will answer within a day.\n" * 3


@pytest.mark.parametrize(
    ("title", "first"),
    [
        ("Fish - Aquarium", "Fish"),
        ("Fish  |  Aquarium", "Fish"),
        ("Fish|Aquarium", "Fish"),
        ("Fish (print)", "Fish"),
        ("鱼（打印）", "鱼"),
        ("五十一区的外星人_新闻网", "五十一区的外星人"),
        ("五十一区的外星人-新闻网", "五十一区的外星人"),
        ("五十一区的外星人｜新闻网", "五十一区的外星人"),
        ("Fish—Aquarium", "Fish"),
        ("Fish > Aquarium", "Fish"),
        ("Salt-water fish: a guide", "Salt-water fish"),
        ("snake_case 1-2 and 3/4", "snake_case 1-2 and 3/4"),
        ("Fish -- |-| -- Aquarium", "Fish"),
        ("| Aquarium", "Aquarium"),
        ("Print: Fish | Aquarium", "Fish"),
        ("Page 2 - Fish", "Fish"),
        ("第2页 - 鱼", "鱼"),
        ("", ""),
        ("Print version", ""),
        (" " * 200_000 + "-", ""),
        ("Fish" + " -" * 200_000, "Fish"),
    ],
)
def test_a_title_has_parts_and_names_of_views_are_none(title: str, first: str) -> None:
    assert read_title(title).first == first


@pytest.mark.parametrize(
    "title", ["{} | Harbour Post", "Harbour Post | {}", "Harbour Post: {}", "{} _ Harbour Post", "{}"]
)
@pytest.mark.parametrize(
    ("names", "host"),
    [(("Harbour post",), "a.example"), ((), "www.harbour-post.example"), ((), "harbourpost.example")],
)
def test_the_name_of_the_site_goes_wherever_it_stands(title: str, names: tuple[str, ...], host: str) -> None:
    told = read_title(title.format("The 3 whales of Oslo"), names, host)
    assert (told.first, told.tokens) == ("The 3 whales of Oslo", ("the", "3", "whales", "of", "oslo"))


def test_of_a_site_alone_nothing_is_left() -> None:
    assert read_title("Harbour Post", (), "harbour-post.example") == read_title("", (), "") == UNTITLED


def test_a_title_that_begins_with_the_name_of_the_site_keeps_it() -> None:
    assert read_title("Apple pie with nuts", (), "apple.example").tokens == ("apple", "pie", "with", "nuts")


def test_versions_count_in_the_first_part_alone() -> None:
    releases = [
        read_title(f"Sails {own} release notes — Sails {of} documentation").tokens
        for own, of in (("4.2.17", "4.2.28"), ("4.2.17", "5.2"), ("4.2.18", "5.2"))
    ]
    assert releases[0] == releases[1] != releases[2]


def test_numbers_and_spelling_of_what_is_compared() -> None:
    assert read_title("Strip 12").tokens != read_title("Strip 13").tokens
    assert read_title("ＳＴＲＩＰ  12").tokens == read_title("Strip #12!").tokens


@pytest.mark.parametrize("invisible", ["\u00ad", "\u200b", "\u2060", "\ufeff"])
def test_what_is_not_seen_within_a_word_parts_none(invisible: str) -> None:
    assert read_title(f"Schiff{invisible}fahrt in Nord{invisible}deutschland") == read_title(
        "Schifffahrt in Norddeutschland"
    )
    text = "Von der Schiff{0}fahrt in Nord{0}deutschland wird erzählt.\nEnde"
    assert is_announced(text.format(invisible), "Schifffahrt in Norddeutschland")
    assert is_announced(text.format(""), f"Schiff{invisible}fahrt in Nord{invisible}deutschland")


def test_words_of_scripts_without_blanks_are_pairs() -> None:
    assert read_title("外星人 51 a").words == ["外星", "星人", "51", "a"]
    assert read_title("鱼").words == ["鱼"]
    assert UNTITLED.words == []


@pytest.mark.parametrize(
    ("title", "text"),
    [
        (
            "Tropical fish in salt water | The Aquarium",
            "Few fish of the tropical seas live in the salt of the dead one.",
        ),
        ("Tropical fish", "TROPICAL FISH\nThe fishes of the tropics."),
        ("五十一区的外星人 - 新闻网", "五十一区的外星人会开飞碟，内部雇员称。"),
        ("章鱼会做梦吗", "研究说，章鱼睡着时会变色，好像会做梦。"),
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


def test_words_of_the_title_are_looked_for_in_all_of_a_long_text() -> None:
    others = "a line that speaks of something else and is long enough for prose\n" * 100
    assert not is_announced(others, "Whales migrate northwards")
    assert is_announced(
        others + "in spring the whales migrate northwards again\n" + others, "Whales migrate northwards"
    )


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
    assert read_title(title).numbers == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Ferries stay in port | Radio 24", []),
        ("Radio 24 | Ferries stay in port", []),
        ("渡轮停航_频道_Radio 24", []),
        ("Forecast | Day 3 | Radio 24", ["3"]),
        ("Radio 24 | Day 3", ["3"]),
        ("Page 2 - Fish", ["2"]),
        ("Radio 24", []),
    ],
)
@pytest.mark.parametrize(("names", "host"), [(("Radio 24",), "a.example"), ((), "radio24.example")])
def test_the_numbers_of_a_site_known_by_name_are_not_those_of_its_titles(
    title: str, expected: list[str], names: tuple[str, ...], host: str
) -> None:
    assert read_title(title, names, host).numbers == expected


@pytest.mark.parametrize(
    "unread", ["(3) ", "(20+) ", " (999)\t", "(1条消息) ", "(3 封私信) ", "(3 封私信 / 80 条消息) "]
)
@pytest.mark.parametrize("title", ["Fish | Aquarium", "Strip 12", "鱼_新闻网"])
def test_the_number_of_unread_messages_is_no_part_of_the_title_behind_it(unread: str, title: str) -> None:
    assert read_title(unread + title) == read_title(title)


@pytest.mark.parametrize(
    ("title", "number"),
    [("(1984) Fish", "1984"), ("Fish (3) | Aquarium", "3"), ("(3)", "3"), ("(3) ", "3"), ("(3)-Fish", "3")],
)
def test_other_numbers_in_brackets_are_parts_of_the_title(title: str, number: str) -> None:
    told = read_title(title)
    assert number in told.tokens
    assert told.numbers == [number]


OWN = "<p>The harbour was closed on Tuesday after a crane fell into the water beside the old town.</p>" * 6
OTHER = "<p>Farmers in the valley have sold fewer apples than in any other year since records began.</p>"


def has_other(title: str, heading: str, other: str, count: int = 2) -> bool:
    """Whether cards below headings that link elsewhere are kept on a page with this title and heading."""
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
