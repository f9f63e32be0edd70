"""The content of the handbook's page of failures, and the texts that it does not quote."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tools.quality import failures, rows
from tools.quality.extraction import Extraction
from worker.evaluate.evaluation import Evaluation, evaluate
from worker.evaluate.kept_by_method import Parsers
from worker.evaluate.labels.labelled import Document, Field, Labelled, Pair
from worker.evaluate.methods import OfWorker
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.fingerprint.near import AccurateNear

RECIPE = Recipe(sketched=True)
TRUTH = {
    "wide": "The goose on the roof looked down at all of us and hissed at the postman for a long while.",
    "narrow": "The goose on the roof looked down at all of us and hissed at the postman for a long while.",
    "one": "Nobody knows how the old bridge was built, and nobody has asked.",
    "two": "A letter came from the harbour on Tuesday morning, without a stamp.",
}
WRONG = "Both pages show this paragraph of other words, although each should say something of its own instead."
SHOWN = TRUTH | {
    "narrow": "The goose.",
    "one": WRONG,
    "two": WRONG,
}
PAIRS = (
    Pair("wide", "narrow", 1, "en", None, {"class": "copy-cut"}),
    Pair("one", "two", 0, "zh", None, {"class": "not-shells"}),
    Pair("one", "wide", 0, "en", None, {"class": "not-shells"}),
    Pair("two", "wide", None, "en", None, {"class": "not-shells"}),
)


def evaluated(field: Field) -> Evaluation:
    bodies = (
        TRUTH if field == "text" else {key: f"<html><body><p>{text}</p></body></html>" for key, text in SHOWN.items()}
    )
    documents = {key: Document(key, body, "en") for key, body in bodies.items()}
    method = OfWorker("accurate", RECIPE, AccurateNear())
    return evaluate(Labelled(field, documents, PAIRS, 0), RECIPE, [method], Parsers(1, 60.0, 512 << 20))


@pytest.fixture(scope="module")
def found() -> list[failures.Failing]:
    return failures.failing(evaluated("html"), evaluated("text"), Fingerprinter(RECIPE))


def test_failures_are_told_by_label_and_class_with_what_was_taken_out(found: list[failures.Failing]) -> None:
    told = [(one.label, one.name, one.of, one.languages, one.badly, one.same) for one in found]
    assert told == [
        (0, "not-shells", 2, Counter(zh=1), 1, 1),
        (1, "copy-cut", 1, Counter(en=1), 1, 0),
    ]
    wide, narrow = found[1].example
    assert (wide.id, narrow.id, narrow.text.strip(), narrow.truth) == (
        "wide",
        "narrow",
        SHOWN["narrow"],
        TRUTH["narrow"],
    )
    assert wide.f1 == 1.0
    assert narrow.f1 < 0.3


def test_only_what_is_free_is_quoted_and_of_that_the_beginning(found: list[failures.Failing]) -> None:
    page = failures.as_page({"dev": found, "web": found}, [])
    dev, web = page.split("## web", 1)
    assert "`not-shells`" in dev
    assert "| `narrow` |" in dev
    assert "goose" not in dev
    assert "paragraph" not in dev
    assert "“The goose on the roof looked down at all of us and hissed at…”" in web
    assert "“Both pages show this paragraph of other words, although each…”" in web
    assert "WCXB" in web
    assert "CC-BY-4.0" in web


def test_what_a_page_says_means_nothing_to_markdown() -> None:
    text = "<b>Bold</b> | *star* [link](http://x.example) `code`\n\n# head"
    page = Extraction("p", "http://p.example/a_b", "forum", text, text, 0.5, False, 0.0)
    shown = failures.as_page({}, [page])
    row = next(line for line in shown.splitlines() if line.startswith("| forum"))
    assert row.count("|") == 6
    assert not {"<b>", "*star", "[link", "http://", "`code"} & set(row.split())
    assert "&lt;b&gt;Bold" in row


def test_rows_hold_what_was_written_and_each_object_without_others_is_a_line() -> None:
    value = {"a": {"b": {"x": 1, "é": [1, 2]}, "c": {}}, "d": "text"}
    written = rows.as_rows(value)
    assert json.loads(written) == value
    assert written.splitlines()[2] == '  "b": {"x": 1, "é": [1, 2]},'
