"""Choosing settings by labelled pairs, compared with a readable choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import CheckFailed, UsageError
from worker.evaluate.calibration import FOLDS, Candidate, Outcome, calibrate
from worker.evaluate.kept_by_method import Collection, Kept
from worker.evaluate.labels.labelled import Label, Pair
from worker.evaluate.methods import OfWorker
from worker.evaluate.scores import Share
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.fingerprinter import Recipe
from worker.fingerprint.near import SimHashNear

ANSWERS = [Candidate({"k": k}, OfWorker("simhash", Recipe(), SimHashNear(k))) for k in range(4)]


def world(distances: Sequence[tuple[int, int | None]]) -> tuple[list[Pair], Collection]:
    """A labelled pair of two new documents for each distance."""
    kept, pairs = {}, []
    for number, (distance, label) in enumerate(distances):
        a, b = f"a{number}", f"b{number}"
        for key, fingerprint in ((a, 0), (b, (1 << distance) - 1)):
            page = Fingerprinted(fingerprint=fingerprint, text_hash=hash(key), tokens=9, language="en", reason=None)
            kept[key] = Kept(0.0, 9, {"simhash": (page, 0.0)})
        pairs.append(Pair(a, b, cast(Label, label), "en", 9))
    return pairs, Collection(kept, {})


def test_the_widest_radius_within_the_allowed_false_positives_is_chosen() -> None:
    distances = [(0, 1), (1, 1), (2, 1), (3, 1)] * 25 + [(40, 0)] * 98 + [(3, 0), (2, 0)]
    for allowed, k in ((0.0, 1), (0.009, 1), (0.01, 2), (0.02, 3), (1.0, 3)):
        found = calibrate(*world(distances), ANSWERS, allowed)
        assert found.chosen.settings == {"k": k}
        assert found.fitted == Outcome(Share(25 * (k + 1), 100), Share(max(0, k - 1), 100))


@pytest.mark.parametrize(("in_force", "chosen"), [(0, 1), (1, 1), (2, 2), (3, 2)])
def test_of_settings_that_do_equally_well_those_nearest_to_the_ones_in_force_win(in_force: int, chosen: int) -> None:
    distances: list[tuple[int, Label]] = [(1, 1), (9, 0), (3, 0)]
    assert calibrate(*world(distances), ANSWERS, 1.0, in_force).chosen.settings == {"k": chosen}


def test_the_frontier_holds_what_finds_more_with_more_false_ones() -> None:
    distances = [(0, 1)] * 3 + [(2, 1)] * 3 + [(3, 0)] * 2 + [(1, 0)]
    frontier = calibrate(*world(distances), ANSWERS, 1.0).frontier
    assert [(row.settings["k"], outcome.recall.hits, outcome.false_positives.hits) for row, outcome in frontier] == [
        (0, 3, 0),
        (2, 6, 1),
    ]


def test_expected_is_judged_on_pairs_that_had_no_part_in_the_choice() -> None:
    """Only one pair is false: whichever fold it is in, the others allow k = 3, with which the pair is called
    falsely."""
    found = calibrate(*world([(3, 1)] * 200 + [(40, 0)] * 199 + [(3, 0)]), ANSWERS, 0.0)
    assert found.fitted.false_positives == Share(0, 200)
    assert found.expected.false_positives == Share(1, 200)
    assert 0 < found.expected.recall.hits < 200 / (FOLDS - 2)


def test_precision_is_of_what_is_called_near() -> None:
    assert Outcome(Share(30, 40), Share(10, 500)).precision == Share(30, 40)


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from([0, 1])), max_size=30), st.sampled_from([0, 0.1, 0.5, 1]))
def test_the_choice_is_that_of_trying_all(distances: list[tuple[int, Label]], allowed: float) -> None:
    distances = [*distances, (9, 0), (0, 1)]
    others = sum(label == 0 for _, label in distances)

    def counted(k: int) -> tuple[int, int]:
        return tuple(sum(d <= k and label == wanted for d, label in distances) for wanted in (1, 0))  # type: ignore[return-value]

    careful = [k for k in range(4) if counted(k)[1] <= allowed * others]
    if not careful:
        with pytest.raises(CheckFailed, match=r"no settings call at most .* look at those pairs, or allow more"):
            calibrate(*world(distances), ANSWERS, allowed)
        return
    best = max(careful, key=lambda k: (counted(k)[0], -counted(k)[1], -k))
    found = calibrate(*world(distances), ANSWERS, allowed)
    assert found.chosen.settings == {"k": best}
    assert (found.fitted.recall.hits, found.fitted.false_positives.hits) == counted(best)


@pytest.mark.parametrize("labels", [[1, 1], [0], [None], []])
def test_both_labels_must_be_there(labels: list[Label]) -> None:
    with pytest.raises(UsageError, match="takes pairs of label 1 and of label 0; add the ones that are missing"):
        calibrate(*world([(2, label) for label in labels]), ANSWERS, 0.1)


def test_pairs_without_a_label_do_not_count() -> None:
    found = calibrate(*world([(0, 1), (9, 0), (1, None), (9, None)]), ANSWERS, 0.0)
    assert found.fitted == Outcome(Share(1, 1), Share(0, 1))
    assert np.isfinite(found.expected.recall.value)
