"""``python -m benchmarks scan``: the cost of a scan, compared with the workers on Kafka and with other packages.

Its parts can be measured one by one, each with sizes of its own; ``--out`` keeps the figures of all of them as JSON
next to the page of the handbook, and writes the page anew from all figures there.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from benchmarks import report, scan_report
from benchmarks.planted_texts import PlantedTexts, score
from benchmarks.process_tree import ProcessTree
from benchmarks.scan_peers import CONTENDERS, Workshop, scan
from crawler_plugin.wire.errors import Unavailable, UsageError
from worker.compose import parts
from worker.compose.machine import parsers
from worker.index.blocks import Header, pack
from worker.index.entries import Entries, Survivor
from worker.local import Deduplicator
from worker.local.deduplicator import alone
from worker.local.state_file import StateFile
from worker.sizing import pipeline
from worker.sizing.pages import Page, pages_of, repeated

if TYPE_CHECKING:
    from worker.config import Settings

PARTS: Final = ("html", "texts", "peers", "large", "judge")
OF_A_KIND: Final = (3_200, 4_800)
"""Bytes of a text by default: 3 to 5 kB, with room for pieces that are longer than others."""
_SHORTER: Final = (1_000, 3_000)
_FEW: Final = 200
"""Pages of a scan that measures its start, and of slow contenders."""
_BLOCK: Final = 10_000
_NO_END: Final = 86_400.0

Row = dict[str, Any]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: which parts, how large."""
    parser.add_argument("--docs", type=Path, required=True, help="folder with docs.jsonl.xz (url, html, text a line)")
    parser.add_argument("--part", action="append", choices=PARTS, help="repeatable (default: all)")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="of html and texts, in turn (default: 3)")
    parser.add_argument("--pages", type=int, metavar="N", help="html and judge: number of pages (default: all)")
    parser.add_argument(
        "--laps", type=int, default=8, metavar="N", help="html: times that each page comes (default: 8)"
    )
    parser.add_argument(
        "--texts", type=int, default=60_000, metavar="N", help="texts: number of texts (default: 60000)"
    )
    parser.add_argument(
        "--sizes", type=_numbers, default=(100_000, 1_000_000), metavar="N,N", help="peers: (default: 100000,1000000)"
    )
    parser.add_argument(
        "--contenders",
        type=_contenders,
        default=tuple(CONTENDERS),
        metavar="NAME,NAME",
        help=f"peers: (default: {','.join(CONTENDERS)})",
    )
    parser.add_argument(
        "--most-minutes", type=float, default=60.0, metavar="N", help="peers: a contender is stopped then (default: 60)"
    )
    parser.add_argument(
        "--text-dedup", type=Path, metavar="PYTHON", help="peers: of an environment that has it (default: one is made)"
    )
    parser.add_argument(
        "--datatrove", type=Path, metavar="PYTHON", help="peers: of an environment that has it (default: one is made)"
    )
    parser.add_argument("--new", type=int, default=1_000_000, metavar="N", help="large: new texts (default: 1000000)")
    parser.add_argument("--old", type=int, default=10_000_000, metavar="N", help="large: old ones (default: 10000000)")
    parser.add_argument(
        "--survivors", type=int, default=1_000_000, metavar="N", help="judge: in the index (default: 1000000)"
    )
    parser.add_argument("--not-run", metavar="WHY", help="peers: run none of them, say on the page why not")
    parser.add_argument(
        "--note", metavar="TEXT", help="text for the page, below the figures: what else ran, why sizes are smaller"
    )
    parser.add_argument(
        "--work", type=Path, metavar="DIR", help="keep the files made for measuring here (default: they are deleted)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write the page of the handbook, and its JSON next to it"
    )
    parser.add_argument("--json", action="store_true", help="an object a figure and line")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure, print, and write.

    Raises:
        UsageError: no pages, or sizes that measure nothing.
        Unavailable: a scan failed.
    """
    if min(arguments.runs, arguments.laps, arguments.texts, arguments.new, *arguments.sizes) < 1:
        raise UsageError("sizes below 1 measure nothing; give larger ones")
    settings = load()
    wanted = arguments.part or PARTS
    if arguments.work is not None:
        arguments.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="crawl-dedup-bench-", dir=arguments.work) as scratch:
        folder = arguments.work or Path(scratch)
        config = folder / "config.yaml"
        config.write_text(json.dumps(settings.model_dump(mode="json")), encoding="utf-8")
        measured = Measured(
            arguments, settings, Workshop(folder, config, arguments.text_dedup, arguments.datatrove), Path(scratch)
        )
        for part in wanted:
            for row in measured.part(part):
                print(json.dumps(row) if arguments.json else scan_report.line_of(row), flush=True)
                if arguments.out is not None:
                    kept = report.together(arguments.out, [row], ("part", "name", "size"))
                    scan_report.write(arguments.out, kept, _versions())
    return 0


class Measured:
    """The parts; each gives figures as they come. ``scratch`` is a folder for the output of scans."""

    def __init__(self, arguments: argparse.Namespace, settings: Settings, workshop: Workshop, scratch: Path) -> None:
        self._asked: Final = arguments
        self._settings: Final = settings
        self._workshop: Final = workshop
        self._scratch: Final = scratch
        self._outs = 0

    def part(self, name: str) -> Iterator[Row]:
        """The figures of one part."""
        for row in getattr(self, f"_{name}")():
            note = {"note": self._asked.note} if self._asked.note else {}
            yield {"part": name, **row, "day": f"{datetime.now(UTC):%Y-%m-%d}", **note}

    def _html(self) -> Iterator[Row]:
        once = pages_of(self._asked.docs, self._asked.pages)
        pages = list(repeated(once, self._asked.laps))
        every = max(1, len(once) // _FEW)
        all_of_them, few = self._file("pages", pages), self._file("few-pages", once[::every][:_FEW])
        start, plain, full, workers, slow = [], [], [], [], []
        sample = [body.decode() for _, body in once[::every][:_FEW]]
        for _ in range(self._asked.runs):
            start.append(self._scan(few, "--no-report"))
            plain.append(self._scan(all_of_them, "--no-report"))
            full.append(self._scan(all_of_them))
            workers.append(pipeline.measure(self._settings, pages, parsers(self._settings)).pages_a_second_and_core)
            slow.append(_main_text_and_simhash(sample))
        began = statistics.median(took.cpu for took in start)
        count, beyond = len(pages), len(pages) - len(sample)
        common = {"size": count, "runs": self._asked.runs}
        for name, runs in ("scan", plain), ("scan, with report.html", full):
            yield {"name": name, **common, **_speed(runs, count, beyond, began)}
        yield {"name": "workers on Kafka", **common, "rate": statistics.median(workers)}
        yield {"name": "trafilatura + PyPI simhash", **common, "rate": statistics.median(slow), "pages": len(sample)}

    def _texts(self) -> Iterator[Row]:
        count = self._asked.texts
        all_of_them, few = self._planted(count, OF_A_KIND), self._planted(min(_FEW, count), OF_A_KIND)
        start, whole = [], []
        for _ in range(self._asked.runs):
            start.append(self._scan(few, "--no-report"))
            whole.append(self._scan(all_of_them, "--no-report"))
        began = statistics.median(took.cpu for took in start)
        speed = _speed(whole, count, count - min(_FEW, count), began)
        yield {"name": "scan", "size": count, "runs": self._asked.runs, **speed}

    def _peers(self) -> Iterator[Row]:
        if self._asked.not_run:
            for name, count in product(self._asked.contenders, self._asked.sizes):
                yield {"name": name, "size": count, "why_not": self._asked.not_run}
            return
        for count in self._asked.sizes:
            texts = self._planted(count, _SHORTER)
            for name in self._asked.contenders:
                contender = CONTENDERS[name]
                row: Row = {"name": name, "size": count, "most_minutes": self._asked.most_minutes}
                try:
                    most = self._asked.most_minutes * 60
                    took, thrown_away = contender.run(self._workshop, texts, self._out(), most)
                except Unavailable as error:
                    yield row | {"why_not": str(error)}
                    continue
                row |= {"wall": took.wall, "cpu": took.cpu, "peak_mib": took.peak_mib, "ended": took.code is not None}
                if took.code is not None:
                    found = score(count, thrown_away)
                    row |= {"recall": {str(share): part for share, part in found.recall.items()}, "false": found.false}
                yield row

    def _large(self) -> Iterator[Row]:
        old, new = self._asked.old, self._asked.new
        state = self._scratch / "old"
        plant(state, old, self._settings)
        texts, few = self._planted(new, _SHORTER), self._planted(min(_FEW, new), _SHORTER)
        against = ("--no-report", "--against", str(state))
        start, whole = self._scan(few, *against), self._scan(texts, *against)
        yield {
            "name": "scan --against",
            "size": new,
            "old": old,
            "wall": whole.wall,
            "cpu": whole.cpu,
            "start": start.wall,
            "peak_mib": whole.peak_mib,
            "state_mb": sum(file.stat().st_size for file in state.iterdir()) / 1e6,
        }

    def _judge(self) -> Iterator[Row]:
        count = self._asked.survivors
        state = self._scratch / "survivors"
        plant(state, count, self._settings)
        pages = [body for _, body in pages_of(self._asked.docs, self._asked.pages)]
        made = PlantedTexts(self._asked.docs, OF_A_KIND)
        texts = [made[number] for number in range(len(pages))]
        with Deduplicator(state, self._settings) as deduplicator:
            for text in texts[:_FEW]:  # dictionaries are loaded, and kernels
                deduplicator.look_up("https://planted.example/first", text=text)
            for name in ("HTML pages", "texts of 3 to 5 kB"):
                taken, computed = [], []
                for number, content in enumerate(pages if name == "HTML pages" else texts):
                    about = {"body": content} if isinstance(content, bytes) else {"text": content}
                    begun, begun_cpu = time.perf_counter(), time.thread_time()
                    deduplicator.judge(f"https://judged.example/{name[:4]}/{number}", **about)
                    taken.append((time.perf_counter() - begun) * 1e6)
                    computed.append((time.thread_time() - begun_cpu) * 1e6)
                row: Row = {"name": name, "size": count, "judged": len(taken)}
                for ending, times in ("", taken), ("_cpu", computed):
                    middle, slowest = np.percentile(times, (50, 99))
                    row |= {f"p50{ending}": float(middle), f"p99{ending}": float(slowest)}
                yield row

    def _scan(self, texts: Path, *more: str) -> ProcessTree:
        return scan(self._workshop, texts, self._out(), _NO_END, *more)

    def _out(self) -> Path:
        self._outs += 1
        return self._scratch / f"out-{self._outs}"

    def _file(self, name: str, pages: Sequence[Page]) -> Path:
        file = self._scratch / f"{name}.jsonl"
        with file.open("wb") as lines:
            for meta, body in pages:
                row = {"url": meta.url, "content_type": meta.content_type, "html": body.decode()}
                lines.write(msgspec.json.encode(row) + b"\n")
        return file

    def _planted(self, count: int, sizes: tuple[int, int]) -> Path:
        """A file of ``count`` texts, made unless it is there."""
        file = self._workshop.folder / f"texts-{count}-of-{sizes[0]}-to-{sizes[1]}.jsonl"
        if not file.exists():
            PlantedTexts(self._asked.docs, sizes).write(file, count)
        return file


def plant(folder: Path, count: int, settings: Settings) -> None:
    """Write a state of ``count`` survivors that come from no page: random fingerprints and sketches, made-up URLs."""
    scheme = parts.scheme(alone(settings), parts.recipe(settings))
    file = StateFile(folder, scheme)
    list(file.blocks())
    chance = np.random.default_rng(1)
    now = time.time_ns() // 1_000_000
    for first in range(0, count, _BLOCK):
        numbers = range(first, min(first + _BLOCK, count))
        prints = chance.integers(0, 1 << 64, (2, len(numbers)), dtype=np.uint64).tolist()
        sketches, bands = chance.bytes(32 * len(numbers)), chance.bytes(32 * len(numbers))
        rows = [
            Survivor(
                (number, 0),
                f"https://www.site{number % 977}.example/articles/{number}/some-title-of-it",
                fingerprint,
                text_hash,
                500,
                now,
                sketches[32 * place : 32 * place + 32],
                bands[32 * place : 32 * place + 32],
            )
            for place, (number, fingerprint, text_hash) in enumerate(zip(numbers, *prints, strict=True))
        ]
        last = numbers[-1]
        header = Header(
            scheme=scheme.id,
            writer=b"planted.",
            shard=0,
            after=first - 1,
            to=last,
            answers_offset=last + 1,
            watermark=now,
            claimed_up_to={0: last},
            floor=-1,
            clocks=tuple((number, now) for number in numbers),
        )
        file.append(pack(Entries.from_rows(rows), header))
    file.close()


def _main_text_and_simhash(pages: Sequence[str]) -> float:
    """Pages a CPU second of trafilatura's text and PyPI simhash's fingerprint of it."""
    extract: Any = importlib.import_module("trafilatura").extract
    simhash: Any = importlib.import_module("simhash").Simhash
    extract(pages[0])
    begun = time.process_time()
    for page in pages:
        text = extract(page) or ""
        with suppress(OverflowError):  # a text that has a feature 256 times is too much for it
            simhash(text)
    return len(pages) / (time.process_time() - begun)


def _speed(runs: Sequence[ProcessTree], count: int, beyond: int, start: float) -> Row:
    """``rate`` is pages a CPU second of all processes, without the start and its few pages; None where too few other
    pages were left to say anything."""
    spent = statistics.median(took.cpu for took in runs)
    return {
        "rate": beyond / (spent - start) if spent > 1.25 * start else None,
        "with_start": statistics.median(count / took.cpu for took in runs),
        "start": start,
        "wall_rate": statistics.median(count / took.wall for took in runs),
        "peak_mib": max(took.peak_mib for took in runs),
    }


def _versions() -> list[str]:
    found = []
    for package in ("trafilatura", "simhash", "datasketch"):
        with suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return [*found, f"{os.cpu_count()} cores used by all that can"]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


def _contenders(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if odd := [name for name in names if name not in CONTENDERS]:
        raise argparse.ArgumentTypeError(f"{odd[0]!r} is none of {', '.join(CONTENDERS)}")
    return names
