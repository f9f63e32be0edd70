"""Measures everything that the handbook says about quality: ``docs/quality/figures.json``, the reports with their
curves, and the page of failures. ``published`` makes the tables from it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

from tools.quality import failures, floors
from tools.quality.extraction import Extraction, extractions
from tools.quality.rows import as_rows
from worker.cli.evaluate import METHODS, method, parsers, write
from worker.compose.parts import recipe
from worker.config import Settings
from worker.evaluate.baselines import Exact, Jaccard, LongestSentences, Shingles
from worker.evaluate.circumstances import machine
from worker.evaluate.evaluation import Evaluation, evaluate
from worker.evaluate.extractors import BUILT_IN, EXTRACTORS
from worker.evaluate.labels.labelled import read_labelled
from worker.evaluate.methods import Method
from worker.evaluate.scores import EDITED, OVERALL, SHORT, Group
from worker.fingerprint.fingerprinter import Fingerprinter
from worker.page.extract import Extractor
from worker.page.main_text.content import main_content

DOCS: Final = Path(__file__).resolve().parents[2] / "docs" / "quality"
FIGURES: Final = DOCS / "figures.json"
FAILURES: Final = DOCS / "failures.md"

OTHERS: Final[Mapping[str, Method]] = {
    other.name: other for other in (LongestSentences(), Shingles(), Jaccard(), Exact())
}
MOST_EDITED: Final[Group] = ("band", "0.8-0.9")
OF_SHORT: Final[Group] = ("length", f"< {SHORT}")
OF_ALL_METHODS: Final = (OVERALL, EDITED, MOST_EDITED, OF_SHORT)
"""Groups that are reported for every method; groups with floors are reported for the worker's own methods."""


def measure(sets: Mapping[str, Path]) -> None:
    """Measure all sets and write all files. Takes some minutes; the times in it are right only on an idle machine."""
    settings = Settings()
    sets_measured: dict[str, Any] = {}
    failed: dict[str, list[failures.Failing]] = {}
    for name, folder in sets.items():
        evaluations = {}
        for field in floors.FIELDS:
            evaluation = _evaluated(folder, field, settings, [*METHODS])
            _store(evaluation, settings, DOCS / name / field)
            evaluations[field] = evaluation
        failed[name] = failures.failing(evaluations["html"], evaluations["text"], Fingerprinter(recipe(settings)))
        sets_measured[name] = {field: _figures(evaluation) for field, evaluation in evaluations.items()}
    extractors, worst = _extractors(sets, settings)
    versions = [f"{name} {version(name)}" for name in ("resiliparse", "trafilatura", "xxhash")]
    FIGURES.write_text(
        as_rows(
            {
                "measured_on": machine(versions),
                "sets": sets_measured,
                "extractors": extractors,
            }
        )
        + "\n",
        encoding="utf-8",
    )
    FAILURES.write_text(failures.as_page(failed, worst), encoding="utf-8")


def _evaluated(
    folder: Path, field: Any, settings: Settings, names: list[str], extractor: Extractor = main_content
) -> Evaluation:
    methods = [OTHERS.get(name) or method(name, settings) for name in names]
    labelled = read_labelled(folder, folder, field)
    return evaluate(labelled, recipe(settings), methods, parsers(settings, None), extractor)


def _store(evaluation: Evaluation, settings: Settings, folder: Path) -> None:
    """Write report and curves for readers. ``FIGURES`` has the numbers for tables."""
    write(evaluation, settings, folder)
    for name in ("predictions.jsonl", "report.json"):
        (folder / name).unlink()


def _figures(evaluation: Evaluation) -> dict[str, Any]:
    labels = [pair.label for pair in evaluation.labelled.pairs]
    return {
        "pairs": {"near_duplicates": labels.count(1), "others": labels.count(0)},
        "documents": len(evaluation.labelled.documents),
        "extraction_microseconds": round(evaluation.collection.extraction_seconds() * 1e6),
        "block_load": {language: round(load, 1) for language, load in evaluation.load.items()},
        "methods": {
            result.method.name: {
                "microseconds": round(result.microseconds),
                "bytes": round(result.kept_bytes),
                "groups": {
                    floors.shown(group): floors.figures(result.counts, group)
                    for group in result.counts
                    if group in OF_ALL_METHODS
                    or (group[0] in floors.DIMENSIONS and result.method.name in floors.PREDICATES)
                },
            }
            for result in evaluation.results
        },
    }


def _extractors(sets: Mapping[str, Path], settings: Settings) -> tuple[dict[str, Any], list[Extraction]]:
    """Each extractor on all HTML, and for each type the worst page of the built-in extractor."""
    found: dict[str, Any] = {}
    worst: list[Extraction] = []
    fingerprinter = Fingerprinter(recipe(settings))
    for name_of, extractor in EXTRACTORS.items():
        by_type: dict[str, list[Extraction]] = {}
        for folder in sets.values():
            for page in extractions(folder, fingerprinter, extractor):
                for name in ("all", page.type):
                    by_type.setdefault(name, []).append(page)
        verdicts = {}
        for name, folder in sets.items():
            evaluation = _evaluated(folder, "html", settings, [*floors.PREDICATES], extractor)
            verdicts[name] = {
                result.method.name: floors.figures(result.counts, OVERALL) for result in evaluation.results
            }
        found[name_of] = {
            "milliseconds": round(median(page.seconds for page in by_type["all"]) * 1000, 2),
            "types": {name: _of_type(pages) for name, pages in sorted(by_type.items())},
            "verdicts": verdicts,
        }
        if name_of == BUILT_IN:
            worst = [
                min(pages, key=lambda page: (page.f1, page.id)) for name, pages in by_type.items() if name != "all"
            ]
    return found, sorted(worst, key=lambda page: page.type)


def _of_type(pages: list[Extraction]) -> dict[str, float]:
    enough = [page.is_empty for page in pages if page.is_empty is not None]
    return {
        "f1": round(sum(page.f1 for page in pages) / len(pages), 4),
        "below_half": sum(page.f1 < 0.5 for page in pages),
        "empty": sum(enough),
        "enough": len(enough),
        "pages": len(pages),
    }
