"""The frame of a report page."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from tests.results.report.reports import Parsed
from worker.results.report.document import document
from worker.results.report.markup import tag

PARTS = {"one": ("First", tag("p", "a < b")), "two": ("Second", tag("p", "c"))}


def framed(script: str) -> Parsed:
    made = document("</title>", tag("h1", "Here"), PARTS, skip=("all", "Skip"), style="p {}", script=script)
    return Parsed(made)


def policy(page: Parsed) -> str:
    return next(at["content"] or "" for name, at in page.elements if "http-equiv" in at and name == "meta")


def test_the_menu_leads_to_each_part_and_the_first_link_to_all_of_them() -> None:
    page = framed("")
    assert [at["href"] for name, at in page.elements if name == "a"] == ["#all", "#one", "#two"]
    assert {"all", "one", "two"} <= {at.get("id") for _, at in page.elements}
    assert page.words.count("</title>") == 1


def test_a_browser_may_use_this_style_and_this_script_and_nothing_else() -> None:
    hashed = {text: b64encode(sha256(text.encode()).digest()).decode() for text in ("p {}", "1;")}
    assert f"style-src 'sha256-{hashed['p {}']}'; script-src 'sha256-{hashed['1;']}'; " in policy(framed("1;"))
    assert framed("1;").count("script") == 1
    assert "script-src" not in policy(framed(""))
    assert framed("").count("script") == 0
