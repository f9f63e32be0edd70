"""Labelled pairs of pages, judged as a worker judges them and in other ways, and compared with the labels."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from crawler_plugin.wire.errors import UsageError
from worker.cli._output_file import path_here
from worker.cli._variant_options import add_variant_options, variant_of
from worker.compose.kernels import compile_apart
from worker.compose.parts import near, recipe, scheme
from worker.evaluate import plots, report
from worker.evaluate.baselines import Exact, Jaccard, LongestSentences, Shingles, Weighted
from worker.evaluate.circumstances import machine
from worker.evaluate.curves import curves
from worker.evaluate.evaluation import Evaluation, evaluate
from worker.evaluate.extractors import BUILT_IN, EXTRACTORS, extractor_named
from worker.evaluate.kept_by_method import Parsers
from worker.evaluate.labels.from_canonical import read_canonical
from worker.evaluate.labels.labelled import Labelled, read_labelled
from worker.evaluate.literature.variant import Variant
from worker.evaluate.methods import Method, OfWorker

if TYPE_CHECKING:
    from worker.config import Settings

SUMMARY = "compare verdicts with labelled pages: recall, false positives, cost, next to other methods"

METHODS: Final = ("simhash", "accurate", "sentences", "shingles", "jaccard", "exact")
WEIGHTED: Final = "weighted"


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    add_labelled_options(parser, pairs_required=False)
    parser.add_argument(
        "--from-canonical",
        action="store_true",
        help="in place of --pairs: pages that name one canonical URL are copies, others of their host are not; "
        "documents need id, url and html",
    )
    parser.add_argument(
        "--methods",
        default=",".join(METHODS),
        metavar="M,…",
        help=f"some of {','.join(METHODS)}, default all of these; and {WEIGHTED}, which is simhash with the weights "
        "and the hash given below",
    )
    parser.add_argument(
        "--extractor",
        choices=tuple(EXTRACTORS),
        default=BUILT_IN,
        help="extractor of the main content of HTML; default the worker's own",
    )
    other = parser.add_argument_group("the other methods")
    other.add_argument(
        "--sentences", type=int, default=3, metavar="N", help="how many of the longest sentences; default 3"
    )
    other.add_argument(
        "--share", type=float, default=0.6, help="share of them that must be the same; default .6: 2 of 3"
    )
    other.add_argument("--ngram", type=int, default=2, metavar="N", help="tokens of a shingle; default 2")
    other.add_argument("--threshold", type=float, default=0.6, help="least similarity of shingles; default .6")
    add_variant_options(parser)
    parser.add_argument(
        "--out", type=path_here, metavar="DIR", help="write predictions.jsonl, report.json, report.md and curves there"
    )


def add_labelled_options(parser: argparse.ArgumentParser, *, pairs_required: bool = True) -> None:
    """Options that say where labelled pairs are read from, and how."""
    parser.add_argument(
        "--docs", type=Path, required=True, metavar="FILE", help="documents, JSON lines: id, text and html; or a folder"
    )
    parser.add_argument(
        "--pairs",
        type=Path,
        required=pairs_required,
        metavar="FILE",
        help="pairs, JSON lines: a, b and label 1, 0 or null; or CSV of a,b (duplicates) or a,b,label; or a folder",
    )
    parser.add_argument("--field", choices=("text", "html"), default="text", help="the field to compare; default text")
    parser.add_argument("--processes", type=int, metavar="N", help="parsing processes; default the setting, one a core")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Evaluate, write files if there is a place for them, print the tables."""
    settings = load()
    methods = _methods(arguments, settings)
    labelled = _labelled(arguments)
    found_by = extractor_named(arguments.extractor)
    compile_apart()
    evaluation = evaluate(labelled, recipe(settings), methods, parsers(settings, arguments.processes), found_by)
    if arguments.out is not None:
        write(evaluation, settings, arguments.out)
    print(report.summary(evaluation))
    for table in report.tables(evaluation):
        print("\n" + table.as_text())
    if arguments.out is None:
        print("\nadd --out DIR for predictions.jsonl, report.json, report.md and curves")
    return 0


def _labelled(arguments: argparse.Namespace) -> Labelled:
    if arguments.from_canonical == (arguments.pairs is not None):
        raise UsageError("give either --pairs FILE or --from-canonical: labels come from one of them")
    if arguments.from_canonical:
        return read_canonical(arguments.docs, arguments.field)
    return read_labelled(arguments.docs, arguments.pairs, arguments.field)


def method(name: str, settings: Settings) -> OfWorker:
    """A predicate by its name, as the settings say.

    Raises:
        UsageError: the settings name a file that cannot be read.
    """
    chosen = settings.model_copy(update={"near": settings.near.model_copy(update={"predicate": name})})
    return OfWorker(name, recipe(chosen), near(chosen).near)


def _methods(arguments: argparse.Namespace, settings: Settings) -> list[Method]:
    n, threshold = arguments.ngram, arguments.threshold
    if min(n, arguments.sentences) < 1 or not 0 < arguments.share <= 1 or not 0 < threshold <= 1:
        raise UsageError("--sentences and --ngram are at least 1, --share and --threshold above 0 and at most 1")
    others: dict[str, Method] = {
        "sentences": LongestSentences(arguments.sentences, arguments.share),
        "shingles": Shingles(n, threshold),
        "jaccard": Jaccard(n, threshold),
        "exact": Exact(),
    }
    names, variant = _names(arguments.methods), variant_of(arguments, settings)
    if WEIGHTED in names:
        ours = method("simhash", settings)
        others[WEIGHTED] = Weighted(WEIGHTED, ours.recipe, ours.near, variant)
    elif variant != Variant():
        raise UsageError(f"--weights and --hash are for the method {WEIGHTED}; name it in --methods")
    return [others.get(name) or method(name, settings) for name in names]


def parsers(settings: Settings, processes: int | None) -> Parsers:
    """The same parsers as a worker's.

    Raises:
        UsageError: not a number of processes.
    """
    if processes is not None and not 1 <= processes <= 1024:
        raise UsageError(f"--processes {processes}: give a number from 1 to 1024")
    page = settings.page
    chosen = processes or page.processes or os.cpu_count() or 1
    return Parsers(chosen, page.timeout_seconds, page.memory_mb * 1024 * 1024)


def write(evaluation: Evaluation, settings: Settings, folder: Path) -> None:
    """All files of an evaluation.

    Raises:
        UsageError: the folder cannot be written to.
    """
    measured_on = machine([f"xxhash {version('xxhash')}"])
    circumstances = {"measured_on": measured_on, "scheme": dict(scheme(settings, recipe(settings)).entries)}
    as_json = json.dumps(report.as_object(evaluation, circumstances), ensure_ascii=False, indent=2)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "predictions.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in evaluation.predictions())
        (folder / "report.json").write_text(as_json + "\n", encoding="utf-8")
        pictures = _draw(evaluation, folder)
        (folder / "report.md").write_text(report.as_markdown(evaluation, measured_on, pictures), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--out {folder}: cannot be written ({error.strerror}); name another folder") from error


def _draw(evaluation: Evaluation, folder: Path) -> list[str]:
    """Names of the pictures; none if they cannot be drawn."""
    if not plots.can_draw():
        print(plots.NEEDED, file=sys.stderr)
        return []
    found = {f"{name}.svg": curve for name, curve in curves(evaluation).items()}
    for name, curve in found.items():
        plots.draw(curve, evaluation.labelled.field, folder / name)
    return list(found)


def _names(listed: str) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in listed.split(",") if name.strip()))
    unknown = [name for name in names if name not in (*METHODS, WEIGHTED)]
    if unknown or not names:
        wrong = f"there is no method {unknown[0]!r}" if unknown else "no method is named"
        raise UsageError(f"--methods: {wrong}; name some of {', '.join((*METHODS, WEIGHTED))}")
    return names
