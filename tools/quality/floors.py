"""The pairs that both predicates find and call falsely, and the quality of the main text, on sets of labelled pages,
group by group; and the bounds that none of these figures may cross."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from crawler_plugin.wire.errors import PageError
from tools.quality import own_pages
from tools.quality.extraction import extractions
from tools.quality.rows import as_rows
from worker.cli.evaluate import method
from worker.compose.parts import recipe
from worker.config import Settings
from worker.evaluate.evaluation import called
from worker.evaluate.extractors import BUILT_IN
from worker.evaluate.kept_by_method import Collection, Kept
from worker.evaluate.labels.labelled import META, Field, Labelled, read_labelled
from worker.evaluate.labels.lines import lines
from worker.evaluate.methods import OfWorker
from worker.evaluate.scores import EDITED, OVERALL, Counts, Group, false_positives, recall, tally
from worker.fingerprint.fingerprinter import Fingerprinter

FLOORS: Final = Path(__file__).with_name("floors.json")
PREDICATES: Final = ("simhash", "accurate")
FIELDS: Final[tuple[Field, ...]] = ("text", "html")
EXTRACTION: Final = "extraction"
OWN: Final = "own"
LABELLED: Final = ("dev", "web")
"""Sets of labelled pages, by the names of their folders. A set is recognised by its pairs, wherever its folder is."""

DIMENSIONS: Final = ("class", "relation", "language")
"""The fields by which a set is divided, in addition to the whole set."""
WHOLE: Final = ("all", "edited")
"""Groups in which nothing may become worse. In the other groups a pair or two may, where the whole does not."""
SLACK: Final = 2

Name = tuple[str, str, str, str]
"""Set, field or ``extraction``, group, and predicate or extractor."""
Figures = dict[str, float]
"""``found`` of the ``of`` near-duplicates, and ``false`` of the ``others``; or ``f1`` of ``pages``, and how many of
them came out ``empty``."""


def measure(name: str, folder: Path) -> dict[Name, Figures]:
    """The figures of a set with default settings, as in ``python -m worker evaluate``, but without its processes."""
    settings = Settings()
    fingerprinter = Fingerprinter(recipe(settings))
    methods = [method(predicate, settings) for predicate in PREDICATES]
    found: dict[Name, Figures] = {}
    for field in FIELDS:
        labelled = read_labelled(folder, folder, field)
        for predicate, counts in _counts(labelled, fingerprinter, methods):
            for group in _with_floors(counts):
                found[name, field, shown(group), predicate] = figures(counts, group)
    for kind, measured in _extraction(folder, fingerprinter):
        found[name, EXTRACTION, kind, BUILT_IN] = measured
    return found


def measure_own() -> dict[Name, Figures]:
    """The figures of the project's own pages."""
    with tempfile.TemporaryDirectory() as folder:
        own_pages.write(Path(folder))
        return measure(OWN, Path(folder))


def misses(found: Mapping[Name, Figures], floors: Mapping[Name, Figures]) -> list[str]:
    """The figures that are worse than their floor by more than is allowed, have no floor, or are missing, each with
    both numbers."""
    told = []
    for name in sorted(found.keys() | floors.keys()):
        shown = " · ".join(name)
        if name not in found or name not in floors:
            told.append(f"{shown}: there is no {'figure' if name in floors else 'floor'}")
            continue
        ours, floor = found[name], floors[name]
        told += [
            f"{shown}: {what} {ours.get(what)}, the floor is {floor.get(what)}"
            for what in sorted(ours.keys() | floor.keys())
            if not _holds(what, ours, floor, name[2] in WHOLE)
        ]
    return told


def pairs_of(folder: Path) -> str:
    """The identity of a set of labelled pages: a hash of its pairs."""
    hashed = hashlib.blake2b(digest_size=8)
    for _, line in lines(folder / "pairs.jsonl.xz"):
        hashed.update(line.encode())
    return hashed.hexdigest()


def name_of(folder: Path) -> str:
    """The name of the set in a folder: the set that has floors for these pairs, otherwise the folder's name."""
    pairs = pairs_of(folder)
    return next((name for name, fields in _stored().items() if fields.get("pairs") == pairs), folder.name)


def read(name: str) -> dict[Name, Figures]:
    """The floors of a set as they are stored."""
    return {
        (name, field, group, by): figures
        for field, groups in _stored().get(name, {}).items()
        if field != "pairs"
        for group, methods in groups.items()
        for by, figures in methods.items()
    }


def write(name: str, floors: Mapping[Name, Figures], folder: Path | None) -> None:
    """Write a set's floors, one line per group, and the pairs on which they were measured."""
    stored = _stored()
    fields: dict[str, Any] = {} if folder is None else {"pairs": pairs_of(folder)}
    for (_, field, group, by), figures in floors.items():
        fields.setdefault(field, {}).setdefault(group, {})[by] = figures
    stored[name] = fields
    FLOORS.write_text(as_rows(dict(sorted(stored.items()))) + "\n", encoding="utf-8")


def renewed(floors: Mapping[Name, Figures], measured: Mapping[Name, Figures], *, lower: bool) -> dict[Name, Figures]:
    """The floors of a set raised to the measured figures; with ``lower`` they equal the measured figures."""
    return {
        name: figures if lower or name not in floors else _best(figures, floors[name])
        for name, figures in measured.items()
    }


def shown(group: Group) -> str:
    """A group's name: all, edited, or the field and its value."""
    dimension, name = group
    return name if dimension == "overall" else f"{dimension} {name}"


def figures(counts: Counts, group: Group) -> Figures:
    """The numbers of a group's pairs that were called near, by label."""
    near, other = recall(counts, group), false_positives(counts, group)
    found: Figures = {"found": near.hits, "of": near.of} if near.of else {}
    return found | ({"false": other.hits, "others": other.of} if other.of else {})


def _counts(
    labelled: Labelled, fingerprinter: Fingerprinter, methods: Sequence[OfWorker]
) -> Iterator[tuple[str, Counts]]:
    makers = {judge.name: judge.maker() for judge in methods}
    kept: dict[str, Kept] = {}
    unreadable: dict[str, PageError] = {}
    for key, document in labelled.documents.items():
        body = document.body.encode("utf-8", "replace")
        meta = META[labelled.field].at(document.url or f"document:{key}")
        try:
            page = fingerprinter.read(body, meta)
        except PageError as error:
            unreadable[key] = error
            continue
        made = {name: make(page, meta.url, body) for name, make in makers.items()}
        kept[key] = Kept(0.0, 0, {name: (value, 0.0) for name, value in made.items()})
    collection = Collection(kept, unreadable)
    for judge in methods:
        near = [called(judge, collection, pair).near for pair in labelled.pairs]
        yield judge.name, tally(labelled.pairs, [0] * len(near), near)


def _with_floors(counts: Counts) -> list[Group]:
    """The groups with floors; the edited pairs are not a group of their own where no text equals its copy's."""
    told = [group for group in counts if group == OVERALL or group[0] in DIMENSIONS]
    return told + [EDITED] * (recall(counts, EDITED).of < recall(counts).of)


def _extraction(folder: Path, fingerprinter: Fingerprinter) -> Iterator[tuple[str, Figures]]:
    groups: dict[str, list[tuple[float, bool]]] = {}
    for page in extractions(folder, fingerprinter):
        for group in ("all", f"type {page.type}"):
            groups.setdefault(group, []).append((page.f1, bool(page.is_empty)))
    for group, pages in sorted(groups.items()):
        mean = sum(f1 for f1, _ in pages) / len(pages)
        rounded_down = int(mean * 10_000) / 10_000  # a floor must not be above the figure
        yield group, {"f1": rounded_down, "empty": sum(empty for _, empty in pages), "pages": len(pages)}


def _holds(what: str, found: Figures, floor: Figures, is_whole: bool) -> bool:
    if what not in found or what not in floor:
        return False
    slack = 0.0 if is_whole else 1 / found["pages"] if what == "f1" else SLACK
    if what in ("found", "f1"):
        return found[what] >= floor[what] - slack
    if what in ("false", "empty"):
        return found[what] <= floor[what] + slack
    return found[what] == floor[what]


def _best(figures: Figures, floor: Figures) -> Figures:
    """The better of both for the same pairs; for other pairs the measured figures."""
    if any(figures.get(number) != floor.get(number) for number in ("of", "others", "pages")):
        return figures
    least = ("false", "empty")
    return {what: (min if what in least else max)(value, floor[what]) for what, value in figures.items()}


def _stored() -> dict[str, dict[str, Any]]:
    stored: dict[str, dict[str, Any]] = json.loads(FLOORS.read_text(encoding="utf-8")) if FLOORS.is_file() else {}
    return stored
