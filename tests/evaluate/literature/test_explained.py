"""A page with all steps to its fingerprint, at any width, with other weights and hashes."""

from __future__ import annotations

import pytest

from worker.evaluate.literature.explained import Explained, Explainer
from worker.evaluate.literature.hashes import ALGORITHMS, Algorithm, hashes_of
from worker.evaluate.literature.simhash import simhash
from worker.evaluate.literature.variant import Variant
from worker.evaluate.literature.weights import WEIGHTS, IdfTable, parse_tagged, weigh
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.page.extract import Extracted, from_text

URL = "https://example.org/a"


@pytest.fixture(scope="module")
def explainer() -> Explainer:
    return Explainer(Recipe(sketched=True))


def of(explainer: Explainer, variant: Variant) -> Explainer:
    """The same explainer with another variant; its loaded data stays."""
    other = Explainer.__new__(Explainer)
    other.__dict__.update(explainer.__dict__ | {"variant": variant})
    return other


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("bits", [8, 33, 64])
def test_an_explanation_comes_to_the_fingerprint_of_its_features(
    explainer: Explainer, algorithm: Algorithm, bits: int
) -> None:
    text = "fish water salt fish 飞碟 " * 3
    explained = of(explainer, Variant(hash=algorithm, bits=bits)).explain(from_text(text), URL)
    words, weights = zip(*explained.features, strict=True)
    assert explained.fingerprint == simhash(hashes_of(words, algorithm, bits), weights, bits)
    assert dict(explained.features)["water"] == 3.0
    assert len(explained.sums) == bits
    assert int("".join("1" if votes > 0 else "0" for votes in explained.sums), 2) == explained.fingerprint


@pytest.mark.parametrize("text", ["fish water salt fish 飞碟 " * 3, "fish", "", "a 1 1 tel 2 2 a.b a.b 我们的网页"])
def test_without_a_variant_it_is_what_the_worker_makes(explainer: Explainer, text: str) -> None:
    page = Extracted(text, "utf-8", shown=("12",))
    explained, made = explainer.explain(page, URL), explainer.fingerprinter.of_extracted(page, URL)
    for name in ("fingerprint", "text_hash", "tokens", "language", "reason", "sketch", "bands", "site", "title"):
        assert getattr(explained, name) == getattr(made, name), name
    assert explainer.fingerprinted(page, URL, b"") == explainer.fingerprinter.of_extracted(page, URL, b"")


def test_a_wide_explanation_needs_a_hash_that_is_as_wide(explainer: Explainer) -> None:
    explained = of(explainer, Variant(bits=128)).explain(from_text("fish water salt"), URL)
    assert explained.fingerprint is not None and explained.fingerprint.bit_length() > 64
    with pytest.raises(ValueError, match="choose fewer"):
        of(explainer, Variant(hash="bkdr", bits=128)).explain(from_text("fish water salt"), URL)


def test_weights_and_hashes_move_the_fingerprint_and_nothing_else(explainer: Explainer) -> None:
    page = from_text("fish " * 9 + "water water water salt tropical species")
    table = IdfTable({"fish": 0.1, "species": 9.0})
    variants = [*(Variant(weights=weights, idf=table) for weights in WEIGHTS), Variant(hash="bkdr")]
    made = [of(explainer, variant).fingerprinted(page, URL, b"") for variant in variants]
    assert len({one.fingerprint for one in made}) >= 5
    assert len({replace_fingerprint(one) for one in made}) == 1
    assert made[0] == Fingerprinter(explainer.fingerprinter.recipe).of_extracted(page, URL, b"")


def replace_fingerprint(made: object) -> tuple[object, ...]:
    """Everything except the fingerprint."""
    return tuple(getattr(made, name) for name in type(made).__struct_fields__ if name != "fingerprint")  # type: ignore[attr-defined]


def test_tagged_words_of_uniform_weight_count_one_each() -> None:
    features = weigh(parse_tagged("美国/ns 51区/n 雇员/n 称/v 美国/ns"), "uniform")
    assert list(features) == ["美国", "51区", "雇员", "称"]
    assert len(set(features.values())) == 1


@pytest.mark.parametrize("bits", [8, 64, 128])
def test_an_explanation_travels_at_any_width(explainer: Explainer, bits: int) -> None:
    explained = of(explainer, Variant(bits=bits)).explain(from_text("fish water salt 51区 and more"), URL)
    assert Explained.decode(explained.encode()) == explained


@pytest.mark.parametrize("torn", [b"", b"[]", b'{"bits": 64}', b"\xff", b'{"language": "\xff"}'])
def test_what_is_no_explanation_is_refused(torn: bytes) -> None:
    with pytest.raises(ValueError, match="not an explained fingerprint"):
        Explained.decode(torn)
