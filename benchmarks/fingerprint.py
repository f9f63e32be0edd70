"""``python -m benchmarks fingerprint``: text to fingerprint, compared with packages from PyPI for the same purpose.

All contenders take the same texts of 3 to 5 kB in turn, in one process and one thread; a round is one pass over them,
and the median of the rounds counts. CPU time, since other programs may run here. Where there are pages with HTML, the
extractors of their main content are measured in the same way.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import importlib.util
import json
import lzma
import re
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, Final

from benchmarks import report
from crawler_plugin.wire.errors import UsageError
from worker.compose import parts
from worker.config import Settings
from worker.evaluate.circumstances import machine
from worker.evaluate.extractors import BUILT_IN, EXTRACTORS
from worker.fingerprint.fingerprinter import Fingerprinter
from worker.fingerprint.key import LEAST_BYTES, Key
from worker.page.extract import Extractor, extract
from worker.sizing.pages import pages_of

SMALLEST, LARGEST = 3_000, 5_000
"""Bytes of a text in UTF-8."""
LANGUAGES: Final = ("zh", "en")
MARKUP: Final = "html"
_HEADINGS: Final = {"zh": "Chinese texts", "en": "English texts", MARKUP: "Main content of pages"}
MOST: Final = 200
"""Texts of each language."""
RUNS: Final = 3

Task = Callable[[str], object]


@dataclass(frozen=True)
class Peer:
    """Another package's way from a text to the value by which it compares texts."""

    name: str
    package: str
    make: Callable[[Any], Task]


@dataclass(frozen=True)
class FingerprintSpeed:
    """Median of the rounds. ``times_ours`` is the time of one text, divided by its time here.

    ``language`` is ``html`` where extractors of main content were measured. ``left_out`` texts made the contender
    raise, so it did not get them.
    """

    language: str
    contender: str
    texts_a_second: float
    microseconds: float
    times_ours: float
    left_out: int = 0


def _simhash(package: Any) -> Task:
    def of_text(text: str) -> object:
        return package.Simhash(text).value

    return of_text


def _gaoya(package: Any) -> Task:
    def of_text(text: str) -> object:
        made = package.simhash.SimHashStringIndex()
        made.insert_document(1, text)
        return made

    return of_text


def _datasketch(package: Any) -> Task:
    def of_text(text: str) -> object:
        sketch = package.MinHash(num_perm=128)
        sketch.update_batch([word.encode() for word in WORD.findall(text)])
        return sketch

    return of_text


def _rensa(package: Any) -> Task:
    def of_text(text: str) -> object:
        sketch = package.RMinHash(num_perm=128, seed=1)
        sketch.update(WORD.findall(text))
        return sketch.digest()

    return of_text


def _trafilatura(package: Any) -> Task:
    simhash = importlib.import_module("trafilatura.deduplication").Simhash

    def of_text(text: str) -> object:
        return simhash(text).hash

    return of_text


def _tors(package: Any) -> Task:
    def of_text(text: str) -> object:
        return package.simhash64(text)

    return of_text


WORD: Final = re.compile(r"[\u4e00-\u9fff]|\w+")
PEERS: Final = (
    Peer("PyPI simhash", "simhash", _simhash),
    Peer("gaoya, words, stored in its index", "gaoya", _gaoya),
    Peer("datasketch, MinHash 128", "datasketch", _datasketch),
    Peer("rensa, MinHash 128", "rensa", _rensa),
    Peer("trafilatura, Simhash", "trafilatura", _trafilatura),
    Peer("tors", "tors", _tors),
)
_MEASURED: Final = (*(peer.package for peer in PEERS), "resiliparse")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: which texts, how often."""
    parser.add_argument("--docs", type=Path, required=True, help="folder with docs.jsonl.xz (text, lang a line)")
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"rounds (default: {RUNS})")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write the tables to FILE, as Markdown")
    parser.add_argument("--json", action="store_true", help="an object a contender, language and line")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure and print."""
    made = parts.recipe(load())
    if arguments.runs < 1:
        raise UsageError(f"--runs {arguments.runs} measures nothing; give at least 1")
    texts = texts_of(arguments.docs)
    ours = {
        "this, SimHash": Fingerprinter(dataclasses.replace(made, sketched=False)),
        "this, SimHash and sketch": Fingerprinter(dataclasses.replace(made, sketched=True)),
    }
    if made.key is None:
        keyed = dataclasses.replace(made, sketched=True, key=Key.of(bytes(LEAST_BYTES)))
        ours["this, SimHash and sketch, with a key"] = Fingerprinter(keyed)
    contenders: dict[str, Task] = {name: _of_text(each) for name, each in ours.items()}
    absent = []
    for peer in PEERS:
        if importlib.util.find_spec(peer.package) is None:
            absent.append(f"{peer.name} is not installed: pip install {peer.package}")
        else:
            contenders[peer.name] = peer.make(importlib.import_module(peer.package))
    results = []
    for measured in chain(
        measure(texts, contenders, arguments.runs),
        measure(markup_of(arguments.docs), extractors(), arguments.runs),
    ):
        print(json.dumps(dataclasses.asdict(measured)) if arguments.json else line_of(measured), flush=True)
        results.append(measured)
    versions = [f"{package} {version(package)}" for package in _MEASURED if importlib.util.find_spec(package)]
    if not arguments.json:
        print(*absent, machine(versions), sep="\n")
    if arguments.out is not None:
        _write(arguments.out, results, arguments.runs, versions, absent)
    return 0


def extractors() -> dict[str, Task]:
    """The installed extractors of main content from a page in UTF-8, ours first."""
    named = {name: made for name, made in EXTRACTORS.items() if name == BUILT_IN or importlib.util.find_spec(name)}
    return {"this, main content" if name == BUILT_IN else name: _extracting(made) for name, made in named.items()}


def _extracting(extractor: Extractor) -> Task:
    def of_markup(markup: str) -> object:
        return extract(markup.encode(), content_type="text/html; charset=utf-8", extractor=extractor)

    return of_markup


def markup_of(folder: Path) -> dict[str, list[str]]:
    """``MOST`` pages of ``docs.jsonl.xz``, evenly from all that have HTML; nothing where none has."""
    pages = pages_of(folder, None)
    some = pages[:: max(1, len(pages) // MOST)][:MOST]
    return {MARKUP: [body.decode() for _, body in some]} if some else {}


def _write(
    out: Path, results: Sequence[FingerprintSpeed], rounds: int, versions: Sequence[str], absent: Sequence[str]
) -> None:
    languages = list(dict.fromkeys(each.language for each in results))
    report.write(
        out,
        title="From a text to its fingerprint, from a page to its text",
        how=(
            f"`python -m benchmarks fingerprint --docs FOLDER --runs {rounds}`: all take the same texts in turn, in "
            f"one process and one thread; CPU time, median of {rounds} rounds. Texts have {SMALLEST} to {LARGEST} "
            "bytes in UTF-8; on a busy machine only the last column means something."
        ),
        versions=versions,
        absent=absent,
        sections=[(_HEADINGS[language], _table(results, language)) for language in languages],
    )


def _table(results: Sequence[FingerprintSpeed], language: str) -> str:
    rows = [
        [
            each.contender + (f" ({each.left_out} texts left out: it raises)" if each.left_out else ""),
            f"{each.texts_a_second:,.0f}",
            f"{each.microseconds:,.1f}",
            f"{each.times_ours:.2f}",
        ]
        for each in results
        if each.language == language
    ]
    return report.table(("", "a second", "µs", "times ours"), rows)


def texts_of(folder: Path) -> dict[str, list[str]]:
    """By language the first ``MOST`` texts of 3 to 5 kB in ``docs.jsonl.xz``.

    Raises:
        UsageError: no such file, or no such text.
    """
    file = folder / "docs.jsonl.xz"
    if not file.is_file():
        raise UsageError(f"{file} is not there: give --docs a folder with docs.jsonl.xz (text, lang a line)")
    found: dict[str, list[str]] = {language: [] for language in LANGUAGES}
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        for document in map(json.loads, lines):
            texts = found.get(document.get("lang"))
            if texts is not None and len(texts) < MOST and SMALLEST <= len(document["text"].encode()) < LARGEST:
                texts.append(document["text"])
    if not any(found.values()):
        raise UsageError(f"{file} has no text of {SMALLEST} to {LARGEST} bytes in {LANGUAGES}; give another folder")
    return {language: texts for language, texts in found.items() if texts}


def measure(texts: dict[str, list[str]], contenders: dict[str, Task], rounds: int) -> Iterator[FingerprintSpeed]:
    """Measure every contender on the texts of every language; the others are compared with the first contender."""
    for language, portion in texts.items():
        taken: dict[str, list[float]] = {name: [] for name in contenders}
        given = {name: _taken_by(task, portion) for name, task in contenders.items()}
        for _ in range(rounds):
            for name, task in contenders.items():
                taken[name].append(_cpu_seconds(task, given[name]) / max(1, len(given[name])))
        medians = {name: statistics.median(times) for name, times in taken.items()}
        base = next(iter(medians.values()))
        for name, each in medians.items():
            yield FingerprintSpeed(language, name, 1 / each, each * 1e6, each / base, len(portion) - len(given[name]))


def line_of(measured: FingerprintSpeed) -> str:
    """The result as a line for people."""
    return (
        f"{measured.language}  {measured.contender:<34} {measured.texts_a_second:>9,.0f} texts/s "
        f"{measured.microseconds:>9,.1f} µs  {measured.times_ours:>6.2f}"
        + (f"  {measured.left_out} texts left out: it raises" if measured.left_out else "")
    )


def _of_text(fingerprinter: Fingerprinter) -> Task:
    def of_text(text: str) -> object:
        return fingerprinter.of_text(text, "")

    return of_text


def _taken_by(task: Task, texts: Sequence[str]) -> list[str]:
    """The texts for which the task does not raise; afterwards its caches are filled, too.

    PyPI simhash keeps weights in a byte each: it raises OverflowError for a text that has a feature 256 times.
    """
    taken = []
    for text in texts:
        with suppress(OverflowError):
            task(text)
            taken.append(text)
    return taken


def _cpu_seconds(task: Task, texts: Sequence[str]) -> float:
    begun = time.process_time()
    for text in texts:
        task(text)
    return time.process_time() - begun
