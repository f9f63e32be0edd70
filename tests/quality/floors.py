"""Recall and false positives of both predicates on labelled pages, and the bounds that they must not cross."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tests.quality import own_pages
from worker.cli.evaluate import method, parsers
from worker.compose.parts import recipe
from worker.config import Settings
from worker.evaluate.evaluation import evaluate
from worker.evaluate.labelled import Field, read_labelled
from worker.evaluate.scores import EDITED, false_positives, recall

FLOORS: Final = Path(__file__).with_name("floors.json")
PREDICATES: Final = ("simhash", "accurate")
FIELDS: Final[tuple[Field, ...]] = ("text", "html")
OWN: Final = "own pages"
LABELLED: Final = "labelled pages"

Name = tuple[str, str, str]
"""Collection, field, predicate."""


class Figures(NamedTuple):
    """Shares of the pairs labelled near-duplicates, and of those whose texts differ, that are found; and how many other
    pairs are called near."""

    recall: float
    edited: float
    false_positives: int

    def misses(self, floor: Figures) -> list[str]:
        """What is worse than the floor, each with both figures."""
        told = {
            "recall": self.recall < floor.recall,
            "edited": self.edited < floor.edited,
            "false_positives": self.false_positives > floor.false_positives,
        }
        worse = [name for name, is_worse in told.items() if is_worse]
        return [f"{name} {getattr(self, name)}, the floor is {getattr(floor, name)}" for name in worse]

    def best(self, other: Figures) -> Figures:
        """The better of each."""
        least = min(self.false_positives, other.false_positives)
        return Figures(max(self.recall, other.recall), max(self.edited, other.edited), least)


def measure(collection: str, folder: Path) -> Iterator[tuple[Name, Figures]]:
    """The figures of a folder of labelled pages, by the code of ``python -m worker evaluate`` and default settings."""
    settings = Settings()
    methods = [method(name, settings) for name in PREDICATES]
    for field in FIELDS:
        labelled = read_labelled(folder, folder, field)
        for result in evaluate(labelled, recipe(settings), methods, parsers(settings, os.cpu_count())).results:
            counts = result.counts
            figures = Figures(
                _rounded_down(recall(counts).value),
                _rounded_down(recall(counts, EDITED).value),
                false_positives(counts).hits,
            )
            yield (collection, field, result.method.name), figures


def measure_own() -> dict[Name, Figures]:
    """Of the project's own pages."""
    with tempfile.TemporaryDirectory() as folder:
        own_pages.write(Path(folder))
        return dict(measure(OWN, Path(folder)))


def read() -> dict[Name, Figures]:
    """The floors as they are written down."""
    stored = json.loads(FLOORS.read_text(encoding="utf-8")) if FLOORS.is_file() else {}
    return {
        (collection, field, predicate): Figures(**figures)
        for collection, fields in stored.items()
        for field, predicates in fields.items()
        for predicate, figures in predicates.items()
    }


def write(floors: Mapping[Name, Figures]) -> None:
    """Write them down."""
    stored: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for (collection, field, predicate), figures in sorted(floors.items()):
        stored.setdefault(collection, {}).setdefault(field, {})[predicate] = figures._asdict()
    FLOORS.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")


def renewed(floors: Mapping[Name, Figures], measured: Mapping[Name, Figures], *, lower: bool) -> dict[Name, Figures]:
    """The floors raised to what was measured; with ``lower`` also lowered to it."""
    new = dict(floors)
    for name, figures in measured.items():
        new[name] = figures if lower or name not in floors else floors[name].best(figures)
    return new


def _rounded_down(share: float) -> float:
    """To four digits: a floor is something to stand on."""
    return int(share * 10_000) / 10_000
