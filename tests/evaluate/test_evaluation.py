"""Documents through parsing processes to counted calls."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from crawler_plugin.wire.errors import PageError
from worker.evaluate import report
from worker.evaluate.baselines import Exact
from worker.evaluate.curves import curves
from worker.evaluate.evaluation import Evaluation, evaluate
from worker.evaluate.kept_by_method import Parsers
from worker.evaluate.labels.labelled import Document, Field, Labelled, Pair
from worker.evaluate.methods import FAR, Method, OfWorker
from worker.evaluate.scores import OVERALL, Share
from worker.fingerprint.fingerprinter import Recipe
from worker.fingerprint.near import HAMMING_RATIO, SimHashNear

RECIPE = Recipe(max_bytes=100_000)
METHODS: list[Method] = [OfWorker("simhash", RECIPE, SimHashNear(3, HAMMING_RATIO)), Exact()]


def evaluated(bodies: Mapping[str, str], pairs: list[Pair], field: Field) -> Evaluation:
    documents = {key: Document(key, body, "en") for key, body in bodies.items()}
    labelled = Labelled(field, documents, tuple(pairs), 0)
    return evaluate(labelled, RECIPE, METHODS, Parsers(1, 60.0, 512 * 1024 * 1024))


@pytest.fixture(scope="module")
def pages() -> Evaluation:
    """Two copies, and two bodies that are not pages."""
    page = "<html><body><article><p>The goose on the roof looked down and hissed.</p></article></body></html>"
    bodies = {"page": page, "copy": page, "pdf": "%PDF-1.7 goose", "png": "GIF89a goose"}
    pairs = [Pair("page", "copy", 1, "en", None), Pair("pdf", "page", 1, "en", None), Pair("pdf", "png", 0, "en", 7)]
    return evaluated(bodies, pairs, "html")


def test_what_is_no_page_is_named_and_near_to_nothing(pages: Evaluation) -> None:
    assert {key: error.reason for key, error in pages.collection.unreadable.items()} == {
        "pdf": "not-text",
        "png": "not-text",
    }
    assert all(isinstance(error, PageError) for error in pages.collection.unreadable.values())
    for result in pages.results:
        assert [call.near for call in result.calls] == [True, False, False]
        assert result.calls[1:] == (FAR, FAR)
        assert result.counts[OVERALL] == {1: Share(1, 2), 0: Share(0, 1)}
    assert "2 documents unreadable, near to nothing (the first: pdf, not-text" in report.summary(pages)


def test_a_length_is_what_was_listed_or_else_the_tokens_of_the_longer_side(pages: Evaluation) -> None:
    assert pages.tokens == (9, 9, 7)


def test_a_curve_counts_what_cannot_be_read_as_not_found(pages: Evaluation) -> None:
    curve = curves(pages)["simhash"]
    assert curve.chosen == 3
    assert {point.recall for point in curve.points} == {Share(1, 2)}
    assert {point.false_positives for point in curve.points} == {Share(0, 1)}


def test_of_ten_megabytes_of_one_character_as_much_is_read_as_a_worker_reads() -> None:
    bodies = {"long": "a" * 10_000_000, "cut": "a" * 100_000, "other": "b" * 10_000_000}
    pairs = [Pair("long", "cut", 1, "en", None), Pair("long", "other", 0, "en", None)]
    exact = evaluated(bodies, pairs, "text").results[1]
    assert [call.near for call in exact.calls] == [True, False]


def test_pages_of_one_text_do_not_fill_blocks_though_no_pair_says_that_they_are_copies() -> None:
    texts = {f"{number}": " ".join(f"w{number * 100 + place}" for place in range(60)) for number in range(80)}
    pairs = [Pair("0", key, 0, "en", None) for key in texts if key != "0"]
    copies = {f"copy {number}": texts["7"] for number in range(80)}
    more = [Pair("0", key, 0, "en", None) for key in copies]
    assert evaluated(texts | copies, pairs + more, "text").load == evaluated(texts, pairs, "text").load
