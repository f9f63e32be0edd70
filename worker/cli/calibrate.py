"""Labelled pairs of the user's own pages → k and threshold, and their expected results."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from crawler_plugin.wire.errors import UsageError
from worker.cli.evaluate import add_labelled_options, method, parsers
from worker.compose.kernels import compile_apart
from worker.compose.parts import recipe
from worker.evaluate.calibration import FOLDS, Calibration, Candidate, Outcome, calibrate
from worker.evaluate.kept_by_method import collect
from worker.evaluate.labels.labelled import read_labelled
from worker.evaluate.report import Table
from worker.evaluate.scores import Share

if TYPE_CHECKING:
    from worker.config import Settings

MOST_FALSE: Final = 1e-4
MOST_K: Final = 3
"""The largest distance that the index can look up."""
THRESHOLDS: Final = tuple(percent / 100 for percent in range(95, 35, -5))
"""The strictest first, down to the least that ``near.threshold`` accepts."""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    add_labelled_options(parser)
    parser.add_argument("--predicate", choices=("simhash", "accurate"), help="default the setting near.predicate")
    parser.add_argument(
        "--false-positives",
        type=float,
        default=MOST_FALSE,
        metavar="SHARE",
        help=f"largest share of the pairs of label 0 that may be called near-duplicates; default {MOST_FALSE:g}",
    )


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Print the choice, and the settings to paste."""
    if not 0 <= arguments.false_positives <= 1:
        raise UsageError(f"--false-positives {arguments.false_positives:g}: a share is between 0 and 1; give one")
    settings = load()
    labelled = read_labelled(arguments.docs, arguments.pairs, arguments.field)
    candidates = list(_candidates(settings, arguments.predicate or settings.near.predicate))
    compile_apart()
    collection = collect(
        labelled.documents,
        labelled.field,
        recipe(settings),
        [candidates[-1].method],
        parsers(settings, arguments.processes),
    )
    in_force = min(range(len(candidates)), key=lambda place: _distance(candidates[place], settings))
    found = calibrate(labelled.pairs, collection, candidates, arguments.false_positives, in_force)
    print(f"{len(candidates)} settings tried on {len(labelled.pairs):,} pairs by their {labelled.field}\n")
    for table in _tables(found):
        print(table.as_text() + "\n")
    print(
        "Expected: settings chosen by four fifths of the pairs, applied to the last fifth, each fifth in turn. "
        "Precision is of\nthese pairs: in a crawl with a smaller share of copies it is lower.\n\n"
        + fragment(found.chosen.settings)
    )
    return 0


def fragment(near: Mapping[str, Any]) -> str:
    """The lines of a config file that set these settings."""
    return "\n".join(["near:", *(f"  {name}: {value}" for name, value in near.items())])


def _candidates(settings: Settings, predicate: str) -> Iterator[Candidate]:
    """All settings of the predicate, the strictest first."""
    for k in range(MOST_K + 1):
        for threshold in THRESHOLDS if predicate == "accurate" else (None,):
            near: dict[str, Any] = {"predicate": predicate, "k": k}
            if threshold is not None:
                near["threshold"] = threshold
            changed = settings.model_copy(update={"near": settings.near.model_copy(update=near)})
            yield Candidate(near, method(predicate, changed))


def _distance(candidate: Candidate, settings: Settings) -> tuple[float, float]:
    """How far a candidate is from the settings in force: in k, then in the threshold."""
    near = candidate.settings
    return abs(near["k"] - settings.near.k), abs(near.get("threshold", 0.0) - settings.near.threshold)


def _tables(found: Calibration) -> Iterator[Table]:
    columns = {"chosen, on all pairs": found.fitted, f"expected, {FOLDS} folds": found.expected}
    rows = [
        ("recall", *(_with_interval(outcome.recall) for outcome in columns.values())),
        ("precision", *(_with_interval(outcome.precision) for outcome in columns.values())),
        ("false positives", *(_with_interval(outcome.false_positives, rate=True) for outcome in columns.values())),
    ]
    yield Table("With 95 % intervals", ("", *columns), tuple(rows))
    head = ("near settings", "recall", "false positives")
    yield Table(
        "Settings that find more, with more false positives", head, tuple(_row(*entry) for entry in found.frontier)
    )


def _row(candidate: Candidate, outcome: Outcome) -> tuple[str, ...]:
    told = ", ".join(f"{name} {value}" for name, value in candidate.settings.items() if name != "predicate")
    return told, f"{outcome.recall.value:.4f}", f"{outcome.false_positives.hits:,}"


def _with_interval(share: Share, *, rate: bool = False) -> str:
    low, high = share.interval
    return f"{share.hits:,} ({low:.1e}–{high:.1e})" if rate else f"{share.value:.4f} ({low:.3f}–{high:.3f})"
