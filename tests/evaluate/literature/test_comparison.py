"""Two explained texts side by side: every measure between them."""

from __future__ import annotations

import pytest

from tests.results.explain.test_side_by_side import explained
from worker.evaluate.literature.comparison import compare
from worker.evaluate.literature.explained import Explainer
from worker.evaluate.literature.measures import BlockLayout
from worker.fingerprint.fingerprinter import Recipe
from worker.fingerprint.near import AccurateNear, Match, SimHashNear
from worker.fingerprint.sketch import agreement
from worker.page.extract import from_text


def test_fingerprints_of_two_widths_have_no_distance() -> None:
    with pytest.raises(ValueError, match="64 and 32 bits"):
        compare(explained(1), explained(1, bits=32), near=SimHashNear(3), layout=BlockLayout(4, 16))


@pytest.mark.parametrize(
    ("layout", "blocks"),
    [(BlockLayout(4, 16), (1, 2, 3)), (BlockLayout(8, 8), (1, 2, 3, 4, 5, 6, 7)), (BlockLayout(4, 8), None)],
)
def test_every_measure_lies_between_the_two_fingerprints(layout: BlockLayout, blocks: tuple[int, ...] | None) -> None:
    found = compare(explained(0), explained(0b111), near=SimHashNear(3), layout=layout)
    assert found.measures is not None
    assert (found.measures.distance, found.measures.equal_bits) == (3, 61 / 64)
    assert found.measures.angle == pytest.approx(180 * 3 / 64)
    assert found.measures.blocks == blocks
    assert (found.match, found.k) == (Match(3, "hamming"), 3)
    assert (found.agreement, found.bands) == (None, None)


def test_one_side_without_a_fingerprint_leaves_nothing_to_measure() -> None:
    found = compare(explained(None), explained(5), near=SimHashNear(3), layout=BlockLayout(4, 16))
    assert (found.measures, found.match) == (None, None)
    assert found.ordinary == {"blake2b": 0, "xxh3": 0}


def test_sketches_and_bands_are_compared_where_both_have_them() -> None:
    explainer = Explainer(Recipe(sketched=True))
    text = "fish water salt tropical species lake"
    one, other = (explainer.explain(from_text(f"{text} {last}"), "u") for last in ("pond", "sea"))
    changed, same = (compare(one, each, near=AccurateNear(), layout=BlockLayout(4, 16)) for each in (other, one))
    assert changed.agreement == agreement(one.sketch, other.sketch) != 128
    assert (same.agreement, same.bands) == (128, 8)
