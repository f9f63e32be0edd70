"""Documents in frames are part of the page."""

from __future__ import annotations

import pytest

from worker.page.elements.frames import with_frames
from worker.page.elements.markup import parse
from worker.page.main_text.content import blocks, main_content


def text_of(markup: str) -> str:
    """The whole shown text of the page."""
    return " ".join(block.text for block in blocks(markup) if block.unseen_in is None and block.dropped_by != "hidden")


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        ("<iframe srcdoc='<p>one</p><p>two'></iframe>", "a one two b"),
        ('<iframe class=x srcdoc="&lt;p class=&quot;y&quot;>one &amp;amp; two" width=9></iframe>', "a one & two b"),
        ("<IFRAME SRCDOC=one></IFRAME>", "a one b"),
        ("<iframe srcdoc='<!doctype html><html><title>no</title><body>one</html>'></iframe>", "a one b"),
        ("<iframe srcdoc='<script>no</script>one'>no</iframe>", "a one b"),
        ("<iframe srcdoc='one'></iframe> <iframe srcdoc='two'></iframe>", "a one two b"),
        ("<iframe srcdoc='one' hidden></iframe>", "a b"),
        ("<iframe srcdoc='one' style='display:none'></iframe>", "a b"),
        ("<iframe srcdoc></iframe><iframe srcdoc=''></iframe><iframe src=x>no</iframe>", "a b"),
        ("<iframe srcdoc='one", "a"),
        ("<template><iframe srcdoc='no'></iframe></template>", "a b"),
        ("<div srcdoc='no'></div>", "a b"),
    ],
)  # fmt: skip
def test_the_document_of_a_frame_stands_in_its_place(frame: str, text: str) -> None:
    assert text_of(f"<body><p>a</p>{frame}<p>b</p>") == text


def test_the_title_is_that_of_the_page() -> None:
    page = "<title>page</title><iframe srcdoc='<title>frame</title><p>one'></iframe>"
    assert main_content(page).title == "page"


def test_a_page_without_such_frames_is_not_read_twice() -> None:
    page = parse("<p>a<iframe src=x></iframe>")
    assert with_frames(page) is page


def test_a_frame_in_a_frame_has_no_document() -> None:
    assert text_of("<iframe srcdoc=\"one<iframe srcdoc='no'></iframe>\"></iframe>") == "one"
