"""Which parts of a page are its content: each rule with the smallest page that needs it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from worker.page.main_text.content import PageBlock, blocks, is_notice, main_content
from worker.page.main_text.rules import RULES, Rule, without

LINKS = "".join(f"<li><a href=/{n}>Link {n}</a></li>" for n in range(9))
MENU = f"<ul>{LINKS}</ul>"


def prose(name: str, words: int = 30) -> str:
    """A paragraph of this many words."""
    return f"<p>{' '.join([name, *('word' for _ in range(words - 1))])}</p>"


def names(markup: str) -> list[str]:
    """The names of the paragraphs that are content, and the first words of other lines."""
    return [line.split()[0] for line in main_content(markup)[0].splitlines() if line.strip()]


@pytest.mark.parametrize(
    "aside",
    [
        f"<nav>{MENU}</nav>",
        f"<aside>{prose('beside')}</aside>",
        f"<footer>{prose('beside')}</footer>",
        f"<header>{prose('beside')}</header>",
        f"<div role=navigation>{MENU}</div>",
        f"<div role=complementary>{prose('beside')}</div>",
        f"<div class=sidebar>{prose('beside')}</div>",
        f"<div id=cookie-banner>{prose('beside')}</div>",
        f"<div class=relatedArticles>{prose('beside')}</div>",
        f"<section class=comments>{prose('beside', 40)}</section>",
        f"<div hidden>{prose('beside')}</div>",
        f"<div style='display:none'>{prose('beside')}</div>",
        "<script>var beside = 'word'</script><style>beside</style>",
        "<noscript>beside</noscript><template>beside</template><select><option>beside</select>",
        "<svg><title>beside</title></svg><button>beside</button><textarea>beside</textarea>",
        "<iframe>beside</iframe><object>beside</object>",
    ],
)
def test_what_is_beside_the_content_goes(aside: str) -> None:
    page = f"<body>{aside}<div>{prose('one')}{prose('two')}</div>{aside}</body>"
    assert names(page) == ["one", "two"]


@pytest.mark.parametrize(
    "wrapper",
    ["<div class='has-sidebar sidebar'>", "<div id=menu>", "<div hidden>", "<header>", "<body class=popup><div>"],
)
def test_a_name_that_holds_most_of_the_page_lies(wrapper: str) -> None:
    assert names(f"{wrapper}{prose('one')}{prose('two')}</div>") == ["one", "two"]


@pytest.mark.parametrize("name", ["<nav>", "<footer>", "<div class=nav>", "<div class=menu>", "<div role=navigation>"])
def test_a_page_of_nothing_but_navigation_has_no_content(name: str) -> None:
    assert main_content(f"<body>{name}{MENU}")[0] == ""


def test_comments_go_even_if_there_are_more_of_them_than_article() -> None:
    page = f"<article>{prose('one')}</article><div id=comments>{prose('no', 90)}</div>"
    assert names(page) == ["one"]
    assert names(f"<div id=comments>{prose('one')}</div>") == ["one"]


def test_the_content_of_main_is_taken_though_other_parts_are_larger() -> None:
    assert names(f"<main>{prose('one')}</main><div>{prose('two', 90)}</div>") == ["one"]
    assert names(f"<div role=main>{prose('one')}</div><div>{prose('two', 90)}</div>") == ["one"]
    assert names(f"<aside><main>{prose('one')}</main></aside>") == ["one"]


def test_a_main_of_next_to_nothing_is_not_believed() -> None:
    assert names(f"<main>{prose('no', 3)}</main><div>{prose('one', 90)}</div>") == ["one"]


def test_the_part_with_most_prose_is_taken() -> None:
    page = f"<div>{prose('no')}</div><div>{prose('one', 40)}{prose('two', 40)}</div><ul>{LINKS * 5}</ul>"
    assert names(page) == ["one", "two"]


@pytest.mark.parametrize("heading", ["h1", "h2", "h3"])
def test_sections_under_the_main_heading_stay_together(heading: str) -> None:
    below = f"h{int(heading[1]) + 1}"
    sections = f"<div><{below}>A</{below}>{prose('one', 60)}</div><div><{below}>B</{below}>{prose('two')}</div>"
    page = f"<body><div>{prose('no', 5)}</div><div><{heading}>Title</{heading}>{sections}</div></body>"
    assert names(page) == ["Title", "A", "one", "B", "two"]


def test_sections_stay_together_under_their_own_heading_where_the_site_has_a_higher_one() -> None:
    sections = f"<div><h3>A</h3>{prose('one', 60)}</div><div><h3>B</h3>{prose('two')}</div>"
    page = f"<body><h1>Site</h1><div>{prose('no', 5)}</div><div><h2>Title</h2>{sections}</div></body>"
    assert names(page) == ["Site", "Title", "A", "one", "B", "two"]


@pytest.mark.parametrize(("words", "left"), [(20, ["Title", "one", "B", "two"]), (4, ["Title", "B", "two"])])
def test_a_section_does_not_stand_for_prose_before_it_that_has_no_heading(words: int, left: list[str]) -> None:
    parts = f"<div>{prose('one', words)}</div><div><h2>B</h2>{prose('two', 50)}</div>"
    assert names(f"<body><div><h1>Title</h1></div><div>{parts}</div></body>") == left


def test_what_stands_before_the_part_with_the_main_heading_is_no_part_of_it() -> None:
    page = f"<body><div>{prose('no', 20)}</div><div><h1>Title</h1>{prose('two', 50)}</div></body>"
    assert names(page) == ["Title", "two"]


def test_the_heading_of_the_site_is_a_link_and_no_title() -> None:
    page = f"<h1><a href=/>Site</a></h1><div><h2>Title</h2>{prose('one', 60)}</div><div>{prose('no')}</div>"
    assert names(page) == ["Title", "one"]


def test_the_main_heading_belongs_to_the_content_wherever_it_stands() -> None:
    inside = f"<article><h1>Title</h1><div>{prose('one')}{prose('two')}</div></article>"
    above = f"<div class=top><h1>Title</h1><p>By us</p></div><div>{prose('one')}{prose('two')}</div>"
    assert names(inside) == names(above) == ["Title", "one", "two"]
    assert names(f"{prose('one')}<nav><h1>no</h1></nav>") == ["one"]


def test_an_anchor_without_address_is_no_link() -> None:
    anchored = f"<div><a id=begin>{prose('one', 40)}{prose('two', 40)}</div>"
    assert names(f"{anchored}<div>{prose('no', 40)}</div>") == ["one", "two"]


def test_lists_tables_and_code_are_content() -> None:
    parts = "<ul><li>item</ul><table><tr><td>cell<td>next</table><pre>code  here\nmore</pre><dl><dt>term<dd>what</dl>"
    text = main_content(f"<body><nav>{MENU}</nav><article>{prose('one')}{parts}{MENU}</article>").text
    assert text.splitlines()[1:8] == ["item", "cell", "next", "code here more", "term", "what", "Link 0"]


def test_no_item_or_paragraph_is_the_content_alone() -> None:
    assert names(f"<ul><li>{prose('one', 70)}</li><li>{prose('two')}</li></ul>") == ["one", "two"]
    assert names(f"<div>{prose('one', 900)}{prose('two', 3)}</div>") == ["one", "two"]


def test_a_table_of_contents_is_content_where_there_is_nothing_else() -> None:
    page = f"<div class=navheader>{MENU}</div><div><h1>Title</h1><dl>{LINKS * 4}</dl></div>"
    assert names(page)[:2] == ["Title", "Link"]


def test_of_a_layout_by_tables_the_cell_with_the_content_is_taken() -> None:
    rows = f"<tr><td>{MENU}<td>{prose('one', 50)}{prose('two', 50)}<td>{prose('no', 8)}"
    assert names(f"<table>{rows}</table>") == ["one", "two"]


def test_text_is_unescaped_and_its_white_space_plain() -> None:
    text, title, *_ = main_content(
        "<title> A &lt;b&gt;\n c </title><p> one\n\t two<b>three</b> &amp; &#x7f51;&#39029; <p> <p>four<br>five"
    )
    assert text.rstrip() == "one twothree & 网页\nfour\nfive"
    assert title == "A <b> c"


def test_the_pieces_of_a_landing_page_stay_together() -> None:
    def piece(name: str, words: int) -> str:
        part = f"<div>{prose(name, words)}</div>"
        return f"<section><h2>{name}</h2><div>{part}{part}</div></section>"

    teasers = "".join(f"<div><a href=/{n}>{prose('no', 12)}</a></div>" for n in range(4))
    wide = f"<div><div>{piece('eins', 30)}{piece('zwei', 30)}</div>{piece('drei', 20)}</div><div>{teasers}</div>"
    assert set(names(f"<body>{wide}</body>")) == {"eins", "zwei", "drei"}
    without_sections = main_content(f"<body>{wide}</body>", without(named("sections"))).text
    assert "drei" not in without_sections


def test_an_article_of_one_piece_stands_for_itself_whatever_its_neighbours_say() -> None:
    page = f"<div><div>{prose('one', 40)}{prose('two', 40)}</div><div>{prose('no', 30)}</div></div>"
    assert names(page) == ["one", "two"]


def test_a_few_sentences_before_a_longer_list_introduce_it() -> None:
    cards = "".join(f"<div><a href=/{n}>Artikel Nummer {n}</a> <span>{n} Euro</span></div>" for n in range(30))
    page = f"<body><div><div><div>{prose('eins', 40)}</div></div><div><div>{cards}</div></div></div>"
    assert names(page).count("Artikel") == 30
    assert names(page)[0] == "eins"
    assert "Artikel" not in main_content(page, without(named("listing"))).text


def test_an_article_is_no_introduction_to_the_links_beside_it() -> None:
    cards = "".join(f"<div><a href=/{n}>Artikel Nummer {n}</a> <span>{n} Euro</span></div>" for n in range(90))
    page = f"<body><div><div>{prose('eins', 40)}{prose('zwei', 60)}</div><div><div>{cards}</div></div></div>"
    assert names(page) == ["eins", "zwei"]


def test_short_lines_weigh_less_than_an_article() -> None:
    teasers = "".join(f"<div><div>Kurz gesagt {n}</div></div>" for n in range(30))
    assert names(f"<div>{teasers}</div><div>{prose('eins', 20)}{prose('zwei', 20)}</div>") == ["eins", "zwei"]


def test_a_thread_for_those_without_scripts_is_the_page() -> None:
    thread = f"<noscript><div>{prose('uno', 60)}{prose('dos', 60)}</div></noscript>"
    assert names(f"<body>{prose('shell', 5)}{thread}") == ["uno", "dos"]
    assert names(f"<body>{prose('one', 90)}{thread}") == ["one"]


@pytest.mark.parametrize(
    "notice",
    [
        "You need to enable JavaScript to run this app.",
        "Bitte aktivieren Sie JavaScript in Ihrem Browser.",
        "Пожалуйста, включите JavaScript",
        "请启用 JavaScript 后继续",
        "Loading…",
        "Cargando, por favor espere",
        "読み込み中",
    ],
)
def test_a_notice_in_place_of_a_page_is_no_text(notice: str) -> None:
    assert main_content(f"<title>App</title><div id=app><p>{notice}</p></div>")[:4] == ("", "App", None, False)
    assert [block.dropped_by for block in blocks(f"<p>{notice}</p>")] == ["notice"]


def test_an_article_about_scripts_is_no_notice() -> None:
    assert main_content(f"<p>Enable JavaScript with this script. {prose('one', 50)}").text


@pytest.mark.parametrize(
    ("page", "bare"),
    [
        (prose("one", 10), None),
        (prose("one", 9), "it has fewer than 10 words outside links"),
        (f"<h1>Index</h1>{MENU * 9}", None),
        ("", "it has fewer than 10 words outside links"),
    ],
)
def test_a_text_of_few_words_is_bare(page: str, bare: str | None) -> None:
    assert main_content(page).bare == bare


@pytest.mark.parametrize(
    ("page", "linked"),
    [
        (prose("one", 99) + MENU, False),
        (f"<h1>Index</h1>{MENU * 9}", True),
        (f"<h1>Title</h1>{prose('one', 22)}<div>{MENU * 99}</div>", True),
    ],
)
def test_a_text_of_more_links_than_other_words_is_told(page: str, linked: bool) -> None:
    assert main_content(page).linked == linked


def named(name: str) -> Rule:
    return next(rule for rule in RULES if rule.name == name)


def test_blocks_are_all_lines_of_a_page_and_the_kept_ones_are_its_text() -> None:
    page = f"<script>x</script><nav>{MENU}</nav><div>{prose('one')}{prose('two')}</div><div hidden>{prose('no')}</div>"
    found = blocks(page)
    assert [block.dropped_by for block in found] == [*["meaning"] * 9, None, None, "hidden"]
    assert "\n".join(block.text for block in found if block.dropped_by is None) == main_content(page).text.strip()


def test_a_block_that_is_not_shown_names_the_element_that_hides_it() -> None:
    page = (
        "<title>a</title><p>b<span style='font-size:0'>c</span><svg>d<text>e</text></svg><template><div><b>f</b></div>"
        "</template><select><option>g</select><textarea>h</textarea><p>i<button>j</button></p><custom-part><template "
        "shadowrootmode=open>k</template>l<p>m</p></custom-part><script>no</script><style>no</style>"
    )
    found = {block.text: block.unseen_in for block in blocks(page) if block.dropped_by == "unseen"}
    hiding = {"a": "title", "c": "span", "d": "svg", "f": "template", "g": "select", "h": "textarea", "j": "button"}
    assert found == hiding | {"l": "", "m": "p"}
    assert {block.text for block in blocks(page) if block.unseen_in is None} == {"b", "e", "i", "k"}


SENTENCE = "The council has voted to rebuild the old ferry landing before winter comes to the coast."
SHELL = "<title>{}</title><nav>" + MENU + "</nav><p>We bring you news of the coast, paid for by readers since 1987.</p>"
STATE = f'<script>window.state = {{"title": "Ferry landing", "body": "{SENTENCE} {SENTENCE} {SENTENCE}"}}</script>'
LINKED = f'<script type="application/ld+json">{{"@type": "Article", "articleBody": "{SENTENCE} {SENTENCE}"}}</script>'


def test_where_the_visible_text_is_a_shell_that_of_the_scripts_counts() -> None:
    page = SHELL.format("The Press") + STATE
    assert main_content(page)[:2] == (f"Ferry landing\n{' '.join([SENTENCE] * 3)}", "Ferry landing")
    assert main_content(page, without(named("embedded"))).text.startswith("We bring you news")


def test_the_page_keeps_its_own_title_where_that_says_what_the_script_tells_of() -> None:
    assert main_content(SHELL.format("The ferry landing | The Press") + STATE).title == "The ferry landing | The Press"


def test_where_the_visible_text_is_there_as_well_it_counts() -> None:
    page = f"<title>Ferry landing</title><main><h1>Ferry landing</h1><p>{SENTENCE} {SENTENCE}</p></main>{STATE}{LINKED}"
    assert main_content(page).text == f"Ferry landing\n{SENTENCE} {SENTENCE}"


def test_blocks_that_stand_in_scripts_say_where() -> None:
    assert blocks(SHELL.format("The Press") + LINKED)[-2:] == [
        PageBlock("We bring you news of the coast, paid for by readers since 1987.", "embedded"),
        PageBlock(f"{SENTENCE} {SENTENCE}", None, origin="JSON-LD"),
    ]


def test_a_short_text_names_the_pictures_that_it_stands_under_and_a_long_one_does_not() -> None:
    page = "<main><h1>Watch</h1><iframe src=//player.example/ab12></iframe>{}</main>"
    assert main_content(page.format(prose("short"))).pictures == ("ab12",)
    assert main_content(page.format(prose("long", 60))).pictures == ()


def test_the_rules_are_the_same_where_nothing_is_compiled() -> None:
    page = (
        f"<title>t</title><nav>{MENU}</nav><table><tr><td>{prose('one')}<td class='Ad'>{prose('网页')}</table><p>café"
    )
    program = (
        "import sys; from worker.compiling import COMPILED; from worker.page.main_text import content;"
        "assert not COMPILED; print(ascii(content.main_content(sys.argv[1])))"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", program, page], capture_output=True, text=True, env=environment, check=True
    )
    assert ended.stdout.strip() == ascii(main_content(page))


@pytest.mark.parametrize(
    "text",
    [
        "You need to enable JavaScript to run this app.",
        "Bitte aktivieren Sie JavaScript in Ihrem Browser.",
        "请启用 JavaScript 后刷新页面",
        "Пожалуйста, включите JavaScript",
        "Loading…",
        "Just a moment...",
        "加载中",
        "読み込み中です",
    ],
)
def test_a_notice_asks_for_scripts_or_patience(text: str) -> None:
    assert is_notice(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "JavaScript is a language.",
        "Enable the second disk before the first.",
        "The loading of ships by night is slow and dangerous, as the crew of one of them told us.",
        "下载中心",
    ],
)
def test_a_text_that_asks_for_neither_is_none(text: str) -> None:
    assert not is_notice(text)
