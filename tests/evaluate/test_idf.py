"""Inverse document frequencies, against their definition."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import pytest

from crawler_plugin.wire.errors import UsageError
from worker.evaluate.idf import DocumentFrequencies, count_documents, table
from worker.fingerprint.text_reader import TextReader
from worker.page.words.dictionary import dictionary
from worker.page.words.noise import NOISE_WORDS

TEXTS = ["Apples fall far", "apples fall, apples rot", "pears rot", "梨子 rot", "", "!!!"]


Count = Callable[[list[str]], DocumentFrequencies]


@pytest.fixture(scope="module")
def count() -> Count:
    return partial(count_documents, reader=TextReader(dictionary(), NOISE_WORDS), noise=NOISE_WORDS)


def test_a_token_counts_once_a_document_and_documents_without_one_do_not_count(count: Count) -> None:
    counted = count(TEXTS)
    assert counted.documents == 4
    assert counted.by_token == {"apples": 2, "fall": 2, "far": 1, "rot": 3, "pears": 1, "梨子": 1}


def test_copies_make_no_word_common(count: Count) -> None:
    assert count([*TEXTS, *TEXTS, "FAR fall apples"]) == count(TEXTS)


def test_idf_is_the_logarithm_of_documents_by_documents_with_the_token(count: Count) -> None:
    rows = table(count(TEXTS), least=1)
    assert [row.token for row in rows] == ["rot", "apples", "fall", "far", "pears", "梨子"]
    assert [row.idf for row in rows] == pytest.approx([math.log(4 / count) for count in (3, 2, 2, 1, 1, 1)])


def test_tokens_of_few_documents_need_no_line(count: Count) -> None:
    assert {row.token for row in table(count(TEXTS))} == {"apples", "fall", "rot"}


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ([], "of 0 different documents says nothing; give more"),
        (["same words", "words, SAME"], "of 1 different documents"),
        (["one thing", "another matter"], "no word is in 2 of the 2 documents; give more, or a lower --least"),
    ],
)
def test_too_few_documents_are_refused(texts: list[str], says: str, count: Count) -> None:
    with pytest.raises(UsageError, match=says):
        table(count(texts))
