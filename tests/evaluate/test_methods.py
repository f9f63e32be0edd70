"""Each method's answer on two texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from worker.evaluate.baselines import Exact, Jaccard, LongestSentences, Shingles
from worker.evaluate.methods import Call, Method, OfWorker
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.fingerprint.near import HAMMING_RATIO, AccurateNear, SimHashNear
from worker.page.extract import from_text

ORIGINAL = (
    "The ferry leaves the old harbour at seven and comes back at noon. On Sundays it waits for the late train. "
    "Bicycles travel free of charge, dogs need a ticket of their own. "
    "渡轮每天早上七点从老码头出发，中午返回，星期天会等晚点的火车。"
)
EDITED = ORIGINAL.replace("seven", "eight").replace("late train", "night train")
OTHER = "Rain is expected over the hills tonight, with wind from the west; the pass stays closed. 今晚有雨。"

RECIPE = Recipe()
METHODS: list[Method] = [
    OfWorker("simhash", RECIPE, SimHashNear(3, HAMMING_RATIO)),
    OfWorker("accurate", replace(RECIPE, sketched=True), AccurateNear()),
    LongestSentences(),
    Shingles(),
    Jaccard(),
    Exact(),
]


@pytest.fixture(scope="module", params=METHODS, ids=lambda method: method.name)
def method(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_a_text_is_near_itself_and_to_no_other(method: Method) -> None:
    make = method.maker()
    original = make(from_text(ORIGINAL), "a", b"")
    assert method.call(original, make(from_text(ORIGINAL), "b", b"")).near
    assert not method.call(original, make(from_text(OTHER), "c", b"")).near


def test_empty_texts_are_near_to_nothing_not_even_to_each_other(method: Method) -> None:
    make = method.maker()
    for empty in ("", " \n\u200b "):
        assert not method.call(make(from_text(empty), "a", b""), make(from_text(""), "b", b"")).near
        assert not method.call(make(from_text(empty), "a", b""), make(from_text(ORIGINAL), "b", b"")).near


def test_a_worker_s_method_calls_equal_bytes_without_a_word_near_as_the_worker_does() -> None:
    for method in METHODS[:2]:
        make = method.maker()
        shell, same, other = (make(from_text(""), "a", body) for body in (b"<p>", b"<p>", b"<p><p>"))
        assert method.call(shell, same) == Call(True)
        assert method.call(shell, other) == Call(False)


@pytest.mark.parametrize(
    "odd", ["啊" * 5000, "😀😀😀", "1 2 3", "שלום עולם", "สวัสดีชาวโลก", "こんにちは世界", "안녕 세계", "!?…", "\ud800"]
)
def test_odd_texts_are_called_and_nobody_crashes(method: Method, odd: str) -> None:
    make = method.maker()
    kept = make(from_text(odd), "a", b"")
    assert not method.call(kept, make(from_text(ORIGINAL), "b", b"")).near
    assert method.kept_bytes(kept) >= 0


def test_calls_are_symmetric(method: Method) -> None:
    make = method.maker()
    kept = [make(from_text(text), text, b"") for text in (ORIGINAL, EDITED, OTHER, "", "ferry")]
    assert all(method.call(a, b) == method.call(b, a) for a in kept for b in kept)


def test_the_swept_parameter_at_its_chosen_value_says_what_the_method_says(method: Method) -> None:
    sweep = method.sweep()
    if sweep is None:
        return
    make = method.maker()
    kept = [make(from_text(text), text, b"") for text in (ORIGINAL, EDITED, OTHER)]
    value = min(sweep.values, key=lambda value: abs(value - sweep.chosen))
    assert value == pytest.approx(sweep.chosen, abs=1e-3)
    for a in kept:
        for b in kept:
            call = method.call(a, b)
            assert sweep.near(a, b, call, value) == call.near


def test_a_worker_s_method_says_what_near_says_of_the_worker_s_fingerprints() -> None:
    fingerprinter = Fingerprinter(RECIPE)
    near = SimHashNear(3, HAMMING_RATIO)
    method = OfWorker("simhash", RECIPE, near)
    a, b = (fingerprinter.of_text(text, "") for text in (ORIGINAL, EDITED))
    distance = (a.fingerprint ^ b.fingerprint).bit_count()  # type: ignore[operator]
    assert method.call(a, b) == Call(near(a, b) is not None, distance, None)
