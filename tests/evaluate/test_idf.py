"""Inverse document frequencies, against their definition."""

from __future__ import annotations

import math

import pytest

from crawler_plugin.wire.errors import UsageError
from worker.evaluate.idf import count_documents, table
from worker.page.words.segment import Segmenter

TEXTS = ["Apples fall far", "apples fall, apples rot", "pears rot", "梨子 rot", "", "!!!"]


@pytest.fixture(scope="module")
def segmenter() -> Segmenter:
    return Segmenter()


def test_a_token_counts_once_a_document_and_documents_without_one_do_not_count(segmenter: Segmenter) -> None:
    counted = count_documents(TEXTS, segmenter)
    assert counted.documents == 4
    assert counted.by_token == {"apples": 2, "fall": 2, "far": 1, "rot": 3, "pears": 1, "梨子": 1}


def test_copies_make_no_word_common(segmenter: Segmenter) -> None:
    assert count_documents([*TEXTS, *TEXTS, "FAR fall apples"], segmenter) == count_documents(TEXTS, segmenter)


def test_idf_is_the_logarithm_of_documents_by_documents_with_the_token(segmenter: Segmenter) -> None:
    rows = table(count_documents(TEXTS, segmenter), least=1)
    assert [row.token for row in rows] == ["rot", "apples", "fall", "far", "pears", "梨子"]
    assert [row.idf for row in rows] == pytest.approx([math.log(4 / count) for count in (3, 2, 2, 1, 1, 1)])


def test_tokens_of_few_documents_need_no_line(segmenter: Segmenter) -> None:
    assert {row.token for row in table(count_documents(TEXTS, segmenter))} == {"apples", "fall", "rot"}


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ([], "of 0 different documents says nothing; give more"),
        (["same words", "words, SAME"], "of 1 different documents"),
        (["one thing", "another matter"], "no word stands in 2 of the 2 documents; give more, or a lower --least"),
    ],
)
def test_too_few_documents_are_refused(texts: list[str], says: str, segmenter: Segmenter) -> None:
    with pytest.raises(UsageError, match=says):
        table(count_documents(texts, segmenter))
