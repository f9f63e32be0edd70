"""Parts next to the content, and parts that only seem to be."""

from __future__ import annotations

import pytest

from worker.page.main_text.content import main_content
from worker.page.main_text.rules import RULES, Rule, without

MENU = "".join(f"<li><a href=/{n}>Łącze {n}</a></li>" for n in range(9))


def prose(name: str, words: int = 30) -> str:
    """A paragraph of this many words."""
    return f"<p>{' '.join([name, *('słowo' for _ in range(words - 1))])}</p>"


def rule(name: str) -> Rule:
    return next(each for each in RULES if each.name == name)


def names(markup: str, *left_out: str) -> list[str]:
    """The first words of all kept lines, though many lines are the same here."""
    text = main_content(markup, without(*map(rule, ["repeated", *left_out]))).text
    return [line.split()[0] for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("name", ["widget", "sidebar", "elementor-widget promo", "cookies-accepted banner"])
def test_names_that_every_paragraph_has_are_not_believed(name: str) -> None:
    page = "".join(
        f"<div class='{name}'>{prose(each)}</div>" for each in ("raz", "dwa", "trzy", "cztery", "pięć", "sześć")
    )
    assert names(f"<body><nav>{MENU}</nav>{page}") == ["raz", "dwa", "trzy", "cztery", "pięć", "sześć"]


def test_a_name_does_not_take_the_longest_text() -> None:
    article = f"<div class=newsletter>{prose('raz', 90)}{prose('dwa', 90)}</div>"
    others = "".join(f"<div><div>{prose('nie', 25)}</div></div>" for _ in range(12))
    assert names(f"<body>{article}<div>{others}</div>")[:2] == ["raz", "dwa"]
    assert "raz" not in names(f"<body>{article}<div>{others}</div>", "names-lie")


def test_what_is_called_navigation_and_made_of_links_goes_even_then() -> None:
    page = "".join(
        f"<div class=widget>{prose(each)}</div>" for each in ("raz", "dwa", "trzy", "cztery", "pięć", "sześć")
    )
    assert names(f"<body><div class=widget><ul>{MENU}</ul></div>{page}")[0] == "raz"


@pytest.mark.parametrize(
    ("name", "goes"),
    [
        ("modal", True),
        ("article-modal", True),
        ("modal-enabled", False),
        ("relatedDisabled", False),
        ("has-sidebar", False),
        ("layout-with_sidebar_right", False),
        ("noSidebar", False),
        ("no-ads sidebar", True),
        ("sharing-enabled sharedaddy", True),
    ],
)
def test_what_an_element_has_or_lacks_does_not_name_it(name: str, goes: bool) -> None:
    texts = "".join(f"<div>{prose('nie', 40)}</div>" for _ in range(6))
    page = f"<body><main><div class='{name}'>{prose('raz', 40)}</div>{texts}</main>"
    assert ("raz" in names(page)) is not goes


@pytest.mark.parametrize("opening", ["<div role=dialog>", "<div role=complementary>", "<aside>"])
def test_dialogs_and_sidebars_go_however_long_they_are(opening: str) -> None:
    assert names(f"<body>{opening}{prose('nie', 40)}{prose('nie', 40)}</div></aside><div>{prose('raz')}</div>") == [
        "raz"
    ]


@pytest.mark.parametrize("name", ["cookie-law-info-bar", "didomi-host", "usercentrics-root", "cmplz-cookiebanner"])
def test_consent_banners_go_though_they_are_longer_than_the_article(name: str) -> None:
    banner = f"<div id={name}>{prose('nie', 60)}{prose('nie', 60)}</div>"
    assert names(f"<body><article><h1>Tytuł</h1>{prose('raz', 80)}</article>{banner}") == ["Tytuł", "raz"]


@pytest.mark.parametrize(
    "page",
    ["<article id=cookie-policy>{}</article>", "<main><div class=cookies>{}</div></main>", "<div id=gdpr>{}</div>"],
)
def test_an_article_on_cookies_is_no_consent_banner(page: str) -> None:
    article = page.format(f"<h1>Ciasteczka</h1>{prose('raz', 80)}{prose('dwa', 80)}")
    others = f"<div>{prose('trzy', 50)}</div>"
    assert names(f"<body class=cookies-accepted>{article}{others}")[:3] == ["Ciasteczka", "raz", "dwa"]


@pytest.mark.parametrize(
    ("page", "kept"),
    [
        ("<article>{title}{text}</article>{other}", True),
        ("<div><article>{title}{text}</article></div><article>{other}</article>", True),
        ("<article>{title}{text}</article><article>{title}{other}</article>", False),
        ("<article>{title}</article>{other}", False),
    ],
)
def test_the_only_article_with_the_title_is_the_main_content(page: str, kept: bool) -> None:
    other = f"<div>{prose('nie', 60)}{prose('nie', 60)}</div>"
    found = names(f"<body>{page.format(title='<h1>Tytuł</h1>', text=prose('raz', 45), other=other)}")
    assert (found == ["Tytuł", "raz"]) is kept


def test_a_thread_is_its_replies_though_they_are_called_comments() -> None:
    replies = "".join(f"<div class=comment>{prose(each, 50)}</div>" for each in ("raz", "dwa", "trzy"))
    page = f"<body>{prose('wątek', 9)}<div class=comments>{replies}</div>"
    assert set(names(page)) >= {"raz", "dwa", "trzy"}
    assert names(page, "comments-are-all") == ["wątek"]


def test_comments_stay_where_the_page_says_that_it_is_a_thread() -> None:
    replies = "".join(f"<div class=comment>{prose(each, 30)}</div>" for each in ("raz", "dwa", "trzy"))
    page = f"<body><div>{prose('wątek', 40)}{prose('wątek', 40)}</div><div class=comments>{replies}</div>{{}}"
    says = '<script type="application/ld+json">{"@type": "DiscussionForumPosting"}</script>'
    assert names(page.format("")) == ["wątek", "wątek"]
    assert set(names(page.format(says))) == {"wątek", "raz", "dwa", "trzy"}
    assert names(page.format(says[:-30])) == ["wątek", "wątek"]


@pytest.mark.parametrize("hidden", ["hidden", "style='display:none'", "aria-hidden=true"])
def test_hidden_blocks_side_by_side_are_panels_and_a_lone_one_is_a_dialog(hidden: str) -> None:
    answers = [f"<div><h3>Pytanie</h3><div {hidden}>{prose(each)}</div></div>" for each in ("raz", "dwa", "trzy")]
    article = f"<div>{prose('tekst', 40)}{prose('tekst', 40)}{{}}</div>"
    assert {"raz", "dwa", "trzy"} <= set(names(article.format("".join(answers))))
    assert not {"raz", "dwa", "trzy"} & set(names(article.format("".join(answers)), "panels"))
    assert not {"raz", "dwa"} & set(names(article.format("".join(answers[:2]))))


@pytest.mark.parametrize("tab", ["role=tabpanel", "class=tab-pane"])
def test_hidden_panels_of_tabs_stay_however_few_and_menus_in_them_go(tab: str) -> None:
    hidden = f"<div {tab} hidden>{prose('dwa', 40)}</div><div {tab} hidden><ul>{MENU}</ul></div>"
    page = f"<body><h1>Tytuł</h1><div {tab}>{prose('raz', 40)}</div>{hidden}"
    assert names(page) == ["Tytuł", "raz", "dwa"]
    assert names(page, "panels") == ["Tytuł", "raz"]


def test_hidden_menus_are_no_panels() -> None:
    menus = "".join(f"<div hidden><p>Dział</p><ul>{MENU}</ul></div>" for _ in range(4))
    assert "Łącze" not in names(f"<div>{menus}{prose('raz', 40)}{prose('dwa', 40)}</div>")


@pytest.mark.parametrize("name", ["promo", "widget"])
def test_a_name_of_most_of_the_page_says_nothing_however_small_each_part_is(name: str) -> None:
    parts = "".join(
        f"<div class={name}>{prose(each)}</div>" for each in ("raz", "dwa", "trzy", "cztery", "pięć", "sześć")
    )
    page = f"<body>{parts}<div>{prose('siedem', 40)}{prose('osiem', 20)}</div>"
    assert names(page)[:6] == ["raz", "dwa", "trzy", "cztery", "pięć", "sześć"]
    assert names(page, "names-lie") == ["siedem", "osiem"]


@pytest.mark.parametrize("name", ["promo", "widget"])
def test_a_name_of_a_small_part_of_the_page_is_believed(name: str) -> None:
    parts = "".join(f"<div class={name}>{prose('nie', 15)}</div>" for _ in range(4))
    assert names(f"<body><div>{prose('raz', 80)}{prose('dwa', 80)}{parts}</div>") == ["raz", "dwa"]
