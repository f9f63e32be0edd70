"""Examples that the literature works out on paper, to the bit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tools.docs import ROOT
from worker.evaluate.literature.hashes import ALGORITHMS, hashes_of
from worker.evaluate.literature.measures import alike, hamming, share_of_equal_bits
from worker.evaluate.literature.simhash import bit_string, from_sums, simhash, sums
from worker.evaluate.literature.weights import weigh
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.fingerprint.hashing import hash_words
from worker.fingerprint.text_reader import TextReader
from worker.page.words.dictionary import dictionary
from worker.page.words.noise import NoiseWords

PAGE: Final = ROOT / "docs" / "benchmarks" / "literature.md"
CALLED = "你妈妈喊你回家吃饭哦，回家罗回家罗"
CALLED_IN_OTHER_WORDS = "你妈妈叫你回家吃饭啦，回家罗回家罗"
SOURCE_PRINTED = (
    "1000010010101101111111100000101011010001001111100001001011001011",
    "1000010010101101011111100000101011010001001111100001101010001011",
)

TROPICAL_FISH = {
    "tropical": (2, "01100001"),
    "fish": (2, "10101011"),
    "include": (1, "11100110"),
    "found": (1, "00011110"),
    "environments": (1, "00101101"),
    "around": (1, "10001011"),
    "world": (1, "00101010"),
    "including": (1, "11000000"),
    "both": (1, "10101110"),
    "freshwater": (1, "00111111"),
    "salt": (1, "10110101"),
    "water": (1, "00100101"),
    "species": (1, "11101110"),
}
"""Croft, Metzler, Strohman, Search Engines: Information Retrieval in Practice, figure 3.16: weight and hash."""


def numbers(*bit_strings: str) -> list[int]:
    return [int(bits, 2) for bits in bit_strings]


def test_two_words_of_weight_4_and_5_sum_up_to_the_fingerprint_101011() -> None:
    hashes = numbers("100101", "101011")
    assert sums(hashes, [4, 5], 6) == [9, -9, 1, -1, 1, 9]
    assert bit_string(simhash(hashes, [4, 5], 6), 6) == "101011"


def test_10101_and_00110_are_3_bits_apart() -> None:
    assert hamming(*numbers("10101", "00110")) == 3


def test_only_sums_above_zero_become_ones() -> None:
    assert bit_string(from_sums([0.1, 0.1, 0.1, 0.1, -0.8, -0.3, 0.4, 0.5]), 8) == "11110011"


@pytest.mark.parametrize(("other", "expected"), [("11110000", 0.75), ("11110001", 0.875), ("11110011", 1.0)])
def test_similarity_is_the_share_of_equal_bits(other: str, expected: float) -> None:
    a, b = numbers("11110011", other)
    assert share_of_equal_bits(a, b, 8) == expected


def test_texts_are_alike_strictly_above_one_half() -> None:
    a, half, more = numbers("11110011", "00000011", "10000011")
    assert share_of_equal_bits(a, half, 8) == 0.5
    assert not alike(a, half, 8)
    assert alike(a, more, 8)


def test_uniform_weights_count_each_word_once() -> None:
    hashes = numbers("11110000", "11001100", "10101010")
    assert sums(hashes, [1] * 3, 8) == [3, 1, 1, -1, 1, -1, -1, -3]
    assert bit_string(simhash(hashes, [1] * 3, 8), 8) == "11101000"


@pytest.mark.parametrize("bits", [8, 16, 32, 60, 63, 64])
@pytest.mark.parametrize("word", ["美国", "51区", "雇员", "外星人", "near-duplicates", "fingerprinting"])
def test_bkdr_is_31_times_the_hash_so_far_plus_the_character_in_signed_64_bits(word: str, bits: int) -> None:
    signed = 0
    for character in word:
        signed = (signed * 31 + ord(character) + 2**63) % 2**64 - 2**63
    assert hashes_of([word], "bkdr", bits) == [abs(signed) % 2**bits]


def test_the_tropical_fish_sentence_has_the_fingerprint_10101111() -> None:
    weights = [weight for weight, _ in TROPICAL_FISH.values()]
    hashes = numbers(*(bits for _, bits in TROPICAL_FISH.values()))
    assert sums(hashes, weights, 8) == [1, -5, 9, -9, 3, 1, 3, 3]
    assert bit_string(simhash(hashes, weights, 8), 8) == "10101111"


def test_two_published_fingerprints_are_3_bits_apart() -> None:
    assert hamming(*numbers(*SOURCE_PRINTED)) == 3


def java_hash_code(text: str) -> int:
    """``String.hashCode`` of Java: as bkdr, in signed 32 bits."""
    units = text.encode("utf-16-be")
    hashed = 0
    for place in range(0, len(units), 2):
        hashed = (hashed * 31 + int.from_bytes(units[place : place + 2], "big") + 2**31) % 2**32 - 2**31
    return hashed


def as_java_prints_a_long(number: int) -> str:
    """``Long.toBinaryString``: 64 bits in two's complement, without leading zeros; a negative int gets 32 ones more."""
    return f"{number % 2**64:b}"


def test_an_ordinary_hash_scatters_two_sentences_that_say_the_same() -> None:
    hashes = java_hash_code(CALLED), java_hash_code(CALLED_IN_OTHER_WORDS)
    printed = [as_java_prints_a_long(hashed) for hashed in hashes]
    assert printed == [
        "1" * 24 + "1111111110001000001100110100111011011110",
        "1010010001111111110010110011101",
    ]
    low, other_low = (hashed % 2**32 for hashed in hashes)
    assert hamming(low, other_low) == 15, "of 32 bits, where 16 are expected of unrelated hashes"
    page = PAGE.read_text("utf-8")
    assert all(one in page for one in printed)
    assert "of their 32 bits 15 differ" in page


def test_an_ordinary_64_bit_hash_scatters_them_as_well() -> None:
    for algorithm in ALGORITHMS:
        assert hamming(*hashes_of([CALLED, CALLED_IN_OTHER_WORDS], algorithm, 64)) > 20


def test_the_commands_of_the_handbook_print_the_sentence_weighed_by_hand_as_it_shows(tmp_path: Path) -> None:
    fences = re.findall(r"^```(sh|text)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    shown = [text for kind, text in fences if kind == "text"]
    commands = [text for kind, text in fences if kind == "sh"]
    places = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": places, "PYTHONPATH": str(ROOT)}
    weighed, by_default = (
        subprocess.run(
            ["sh", "-ec", command], cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=True
        ).stdout
        for command in commands
    )
    assert shown[0] in weighed
    assert shown[2] in by_default


def test_the_handbook_shows_the_two_sentences_fingerprints_beside_what_the_source_printed() -> None:
    sentences = (CALLED, CALLED_IN_OTHER_WORDS)
    by_default = [Fingerprinter(Recipe()).of_text(text, "a:").fingerprint or 0 for text in sentences]
    reader = TextReader(dictionary(), NoiseWords())
    words = [reader.tokens(text).words for text in sentences]
    assert words[0] == ["你", "妈妈", "喊", "你", "回家", "吃饭", "哦", "回家", "罗", "回家", "罗"]
    assert [(one, other) for one, other in zip(*words, strict=True) if one != other] == [("喊", "叫"), ("哦", "啦")]
    alone = [simhash(hash_words(list(each)).tolist(), each.values(), 64) for each in map(weigh, words)]
    rows = {
        "as the source printed them": numbers(*SOURCE_PRINTED),
        "by jieba's words alone, each by its count": alone,
        "by this system's default": by_default,
    }
    shown = "".join(
        f"{name:<66}{hamming(*pair)} of 64 bits differ\n" + "".join(f"  {bit_string(one, 64)}\n" for one in pair)
        for name, pair in rows.items()
    )
    assert shown in PAGE.read_text("utf-8")
