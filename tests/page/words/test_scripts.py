"""The script of a text, and the kinds of its characters."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from tests.fingerprint.definition.segment import language, unspaced
from worker.page.words.normalise import normalise
from worker.page.words.scripts import FOLLOWS, HAN, LEADS, TABLE_END, UNSPACED, classes


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("", "none"),
        ("123 !? 😀", "none"),
        ("网页的编码", "zh"),
        ("A page that quotes one word: 教程", "latin"),
        ("用 Python 写的教程", "zh"),
        ("日本語のテキスト", "ja"),
        ("カタカナ", "ja"),
        ("한국어 페이지", "ko"),
        ("Schöne Grüße", "latin"),
        ("Привет, мир", "cyrillic"),
        ("مرحبا بالعالم", "arabic"),
        ("สวัสดีครับ", "thai"),
        ("Γειά σου κόσμε", "other"),
        ("שלום", "other"),
    ],
)
def test_the_language_is_told_by_script(text: str, label: str) -> None:
    assert language(normalise(text)) == label
    assert language(normalise(text).split()) == label


@pytest.mark.data
def test_the_language_of_real_pages_is_told_by_their_script(labelled_sets: list[Path]) -> None:
    texts = (text for folder in labelled_sets for text in islice(_texts(folder, "zh"), 300))
    chinese = [language(normalise(text)) for text in texts if len(text) > 1000]
    assert chinese.count("zh") > 0.9 * len(chinese)


def _texts(folder: Path, lang: str) -> Iterator[str]:
    with lzma.open(folder / "docs.jsonl.xz", "rt") as lines:
        for line in lines:
            document = json.loads(line)
            if document["lang"] == lang:
                yield document["text"]


def test_characters_beyond_the_table_are_of_the_class_of_its_last_entry() -> None:
    assert len(classes()) == TABLE_END + 1
    assert classes()[ord("网")] == HAN
    with pytest.raises(ValueError, match="read-only"):
        classes()[0] = np.uint8(HAN)


def test_written_characters_of_thai_have_vowels_in_front_and_marks_behind() -> None:
    assert "เ" in unspaced(LEADS)
    assert "ั" in unspaced(FOLLOWS)
    assert "ก" not in unspaced(LEADS) + unspaced(FOLLOWS)
    assert classes()[ord("ก")] == UNSPACED
