"""A sample of the pages that ``python -m tests.shown`` compares with lexbor's tree, as they are and mutated."""

from __future__ import annotations

import pytest

from tests.shown.differences import DIFFERENCES, SAME, UNLISTED, kind_of
from tests.shown.mutations import mutated
from tests.shown.trees import lexbors, ours
from worker.sizing.pages import Page

PAGE = (
    "<title>t</title><nav><ul><li><a href=/>eins<li><b>zwei</ul></nav><main><h1>drei<svg><title>no</title><text>vier"
    "</text></svg></h1><p>fünf<table><tr><td>sechs<td>sieben</table><dl><dt>elf<dd><i>zwölf</i><ruby>漢<rt>kan</ruby>"
    "</dl><pre>dreizehn</pre><div><span>vierzehn</span> &amp; <code>fünfzehn</code></div>"
)
RARE = (
    "<x-a><template shadowrootmode=open><p>eins<slot></slot></template>zwei</x-a><textarea readonly>drei</textarea>"
    "<p><select><option>no</select><noscript>no</noscript><xmp><b></xmp><button>no</button><h2><button>vier</button>"
)


@pytest.mark.parametrize("page", [PAGE, RARE])
def test_a_page_shows_the_words_that_it_shows_by_lexbors_tree(page: str) -> None:
    assert ours(page) == lexbors(page)
    assert "no" not in ours(page)


def test_a_broken_page_differs_in_no_way_that_is_not_listed() -> None:
    assert [seed for seed in range(400) if kind_of(mutated(PAGE, seed)) == UNLISTED] == []


@pytest.mark.data
def test_real_pages_broken_or_not_differ_in_no_way_that_is_not_listed(real_pages: list[Page]) -> None:
    pages = [body.decode("utf-8", "replace") for _, body in real_pages[::15]]
    kinds = [kind_of(page) for page in pages]
    kinds += [kind_of(mutated(page, seed)) for seed, page in enumerate(pages)]
    assert UNLISTED not in kinds
    assert kinds.count(SAME) >= 0.9 * len(kinds)


@pytest.mark.parametrize(
    ("markup", "kind"),
    [
        ("<p>a<b>b</b>c", SAME),
        ("a</x-a>b", "blanks"),
        ("<table><tr><td>a</td>b</table>", "order"),
        ("<noscript>a</noscript>", "noscript"),
        ("<ul><li><button>a<li>b</ul>", "button"),
        ("<div><select></div>a", "select"),
    ],
)
def test_a_difference_is_known_by_what_the_page_must_not_have_for_it_to_go(markup: str, kind: str) -> None:
    assert kind_of(markup) == kind


def test_each_kind_is_listed_once_with_its_reason() -> None:
    assert len({difference.name for difference in DIFFERENCES}) == len(DIFFERENCES)
    assert all(difference.reason.endswith(".") for difference in DIFFERENCES)


def test_a_mutated_page_is_the_same_for_the_same_seed() -> None:
    assert mutated(PAGE, 7) == mutated(PAGE, 7)
    assert len({mutated(PAGE, seed) for seed in range(100)}) > 90
    assert isinstance(mutated("", 1), str)
