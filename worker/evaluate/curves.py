"""How recall and false positives move with a method's parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worker.evaluate.evaluation import Evaluation, Result
from worker.evaluate.labels.labelled import IDENTICAL_TEXT
from worker.evaluate.scores import Share


@dataclass(frozen=True)
class Point:
    """The results of a method with its parameter at ``value``; ``edited`` is recall without pairs of equal text."""

    value: float
    recall: Share
    edited: Share
    false_positives: Share


@dataclass(frozen=True)
class Curve:
    """The points of one method, by rising value of its ``parameter``; ``chosen`` is the value in force."""

    method: str
    parameter: str
    chosen: float
    points: tuple[Point, ...]

    @property
    def as_object(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "parameter": self.parameter,
            "chosen": self.chosen,
            "points": [
                {
                    "value": point.value,
                    "recall": point.recall.value,
                    "recall_edited": point.edited.value,
                    "false_positives": point.false_positives.hits,
                }
                for point in self.points
            ],
        }


def curves(evaluation: Evaluation) -> Mapping[str, Curve]:
    """The curve of every method that has a parameter, by its name."""
    found = {}
    for result in evaluation.results:
        curve = _curve(evaluation, result)
        if curve is not None:
            found[curve.method] = curve
    return found


def _curve(evaluation: Evaluation, result: Result) -> Curve | None:
    method = result.method
    sweep = method.sweep()
    if sweep is None:
        return None
    near = {value: [0, 0, 0] for value in sweep.values}
    of = [0, 0, 0]
    for pair, call in zip(evaluation.labelled.pairs, result.calls, strict=True):
        if pair.label is None:
            continue
        kinds = (2,) if pair.label == 0 else (0,) if pair.facets.get("band") == IDENTICAL_TEXT else (0, 1)
        for kind in kinds:
            of[kind] += 1
        a, b = (evaluation.collection.of(key, method) for key in pair.keys)
        if a is None or b is None:
            continue
        for value in sweep.values:
            if sweep.near(a, b, call, value):
                for kind in kinds:
                    near[value][kind] += 1
    points = (
        Point(value, *(Share(hits, count) for hits, count in zip(near[value], of, strict=True)))
        for value in sweep.values
    )
    return Curve(method.name, sweep.parameter, sweep.chosen, tuple(points))
