"""Programs that throw near-duplicates out of a file of texts: ``scan`` and other packages, each as its own program."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.fingerprint import WORD
from benchmarks.process_tree import ProcessTree, run_command
from crawler_plugin.wire.errors import Unavailable

TEXT_DEDUP: Final = "text-dedup==0.4.0"
DATATROVE: Final = "datatrove[io,processing]==0.10.1 spacy"
DATASKETCH_THRESHOLD: Final = 0.6
"""The least similarity, as in ``near.threshold``."""
_OFFLINE: Final = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

ThrownAway = dict[int, int | None]
"""Numbers of the texts thrown away, each with the number of its original; None if the package names none."""


@dataclass(frozen=True)
class Workshop:
    """The place where contenders run. ``folder`` is for files, ``config`` has the settings of ``scan``; ``text_dedup``
    and ``datatrove`` are the Pythons of environments with these packages, where such environments exist already."""

    folder: Path
    config: Path
    text_dedup: Path | None = None
    datatrove: Path | None = None


@dataclass(frozen=True)
class Contender:
    """``run`` gets a file of texts, a folder for its output, and a limit in seconds."""

    name: str
    settings: str
    run: Callable[[Workshop, Path, Path, float], tuple[ProcessTree, ThrownAway]]


def scan(workshop: Workshop, texts: Path, out: Path, most_seconds: float, *more: str) -> ProcessTree:
    """A scan of ``texts`` into ``out`` with ``more`` options, by this Python.

    Raises:
        Unavailable: it failed.
    """
    command = [sys.executable, "-m", "worker", "scan", str(texts), "--out", str(out), "--config", str(workshop.config)]
    return _ran([*command, *more], workshop.folder / "scan.log", most_seconds)


def _by_scan(workshop: Workshop, texts: Path, out: Path, most_seconds: float) -> tuple[ProcessTree, ThrownAway]:
    took = scan(workshop, texts, out, most_seconds, "--no-report")
    if took.code is None:
        return took, {}
    with (out / "verdicts.jsonl").open("rb") as lines:
        rows = map(msgspec.json.Decoder(dict[str, Any]).decode, lines)
        return took, {
            int(row["id"]): int(row["duplicate_of_id"]) for row in rows if row["verdict"] in ("duplicate", "refetch")
        }


def _by_datasketch(workshop: Workshop, texts: Path, out: Path, most_seconds: float) -> tuple[ProcessTree, ThrownAway]:
    if importlib.util.find_spec("datasketch") is None:
        raise Unavailable("datasketch is not installed: pip install datasketch")
    out.mkdir(parents=True)
    found = out / "copies.jsonl"
    command = [sys.executable, "-m", "benchmarks.scan_peers", str(texts), str(found)]
    took = _ran(command, workshop.folder / "datasketch.log", most_seconds)
    return took, dict(map(json.loads, found.read_text().splitlines())) if took.code is not None else {}


def _by_text_dedup(way: str) -> Callable[[Workshop, Path, Path, float], tuple[ProcessTree, ThrownAway]]:
    def run(workshop: Workshop, texts: Path, out: Path, most_seconds: float) -> tuple[ProcessTree, ThrownAway]:
        loads = "import text_dedup.minhash, text_dedup.simhash"
        python = workshop.text_dedup or _installed(workshop.folder / "text-dedup", TEXT_DEDUP, loads)
        cache = out / "cache"
        command = [str(python), "-m", f"text_dedup.{way}", "--path", "json", "--data_files", str(texts)]
        command += ["--split", "train", "--column", "text", "--output", str(out / "kept"), "--cache_dir", str(cache)]
        out.mkdir(parents=True)
        log = workshop.folder / f"text-dedup-{way}.log"
        took = _ran(command, log, most_seconds, {**_OFFLINE, "HF_HOME": str(cache)})
        if took.code is None:
            return took, {}
        kept = set(_ids_kept(out / "kept"))
        with texts.open("rb") as lines:
            return took, dict.fromkeys(number for number in range(sum(1 for _ in lines)) if number not in kept)

    return run


def _ids_kept(folder: Path) -> Iterator[int]:
    arrow: Any = importlib.import_module("pyarrow")
    for file in sorted(folder.glob("*.arrow")):
        for batch in arrow.ipc.open_stream(arrow.memory_map(str(file))):
            yield from map(int, batch.column("id").to_pylist())


def _by_datatrove(workshop: Workshop, texts: Path, out: Path, most_seconds: float) -> tuple[ProcessTree, ThrownAway]:
    loads = "import datatrove.pipeline.dedup"
    python = workshop.datatrove or _installed(workshop.folder / "datatrove", DATATROVE, loads)
    command = [str(python), str(Path(__file__).with_name("datatrove_minhash.py")), str(texts), str(out)]
    took = _ran(command, workshop.folder / "datatrove.log", most_seconds)
    if took.code is None:
        return took, {}
    return took, dict.fromkeys(map(int, (out / "thrown-away.jsonl").read_text().split()))


def _installed(environment: Path, requirement: str, loads: str) -> Path:
    """The Python of a new environment with a package whose pins conflict with the packages of this project."""
    python = environment / "bin" / "python"
    if (environment / "whole").exists():
        return python
    shutil.rmtree(environment, ignore_errors=True)
    for command in (
        [sys.executable, "-m", "venv", str(environment)],
        [str(python), "-m", "pip", "install", "-q", *requirement.split()],
        [str(python), "-c", loads],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
            raise Unavailable(f"{requirement} cannot be installed and loaded with {sys.version.split()[0]} here: {why}")
    (environment / "whole").touch()
    return python


def _ran(command: list[str], log: Path, most_seconds: float, environ: dict[str, str] | None = None) -> ProcessTree:
    took = run_command(command, log, most_seconds, environ)
    if took.code:
        why = (log.read_text(errors="replace").strip().splitlines() or ["it says nothing"])[-1]
        raise Unavailable(f"{' '.join(command[1:4])} ended with {took.code}: {why}; all it said is in {log}")
    return took


CONTENDERS: Final = {
    "scan": Contender("this, `scan`", "as by default; all cores", _by_scan),
    "datasketch": Contender(
        "datasketch, MinHash LSH",
        f"pairs of neighbouring words (characters), 128 permutations, threshold {DATASKETCH_THRESHOLD}, one process",
        _by_datasketch,
    ),
    "text-dedup-minhash": Contender(
        "text-dedup 0.4.0, MinHash", "its defaults: 5-grams, 250 permutations, threshold 0.7; all cores",
        _by_text_dedup("minhash"),
    ),
    "text-dedup-simhash": Contender(
        "text-dedup 0.4.0, SimHash", "its defaults: 3-grams, 3 bits of 64; all cores", _by_text_dedup("simhash"),
    ),
    "datatrove-minhash": Contender(
        "datatrove 0.10.1, MinHash", "its defaults: 5-grams, 14 buckets of 8 hashes; all cores", _by_datatrove
    ),
}  # fmt: skip


def throw_out_by_datasketch(texts: Path, found: Path) -> None:
    """Take each text in turn: it is a copy of the most similar kept text, or it is kept.

    LSH proposes pairs without comparing them; here pairs that are not similar enough are no copies.
    """
    package: Any = importlib.import_module("datasketch")
    index = package.MinHashLSH(threshold=DATASKETCH_THRESHOLD, num_perm=128)
    kept: dict[int, Any] = {}
    with texts.open("rb") as lines, found.open("w") as copies:
        for row in map(msgspec.json.Decoder(dict[str, str]).decode, lines):
            words = WORD.findall(row["text"].lower())
            sketch = package.MinHash(num_perm=128)
            sketch.update_batch([f"{one} {other}".encode() for one, other in pairwise(words)])
            number = int(row["id"])
            near = max(((sketch.jaccard(kept[other]), -other) for other in index.query(sketch)), default=(0.0, 0))
            if near[0] >= DATASKETCH_THRESHOLD:
                copies.write(json.dumps([number, -near[1]]) + "\n")
            else:
                kept[number] = sketch
                index.insert(number, sketch)


if __name__ == "__main__":
    throw_out_by_datasketch(Path(sys.argv[1]), Path(sys.argv[2]))
    sys.stdout.flush()
    os._exit(0)  # taking a million objects apart is no part of the work
