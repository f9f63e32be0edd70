"""The page of the handbook on the cost of a scan, and a line for each figure for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks import report
from benchmarks.planted_texts import STRENGTHS
from benchmarks.scan_peers import CONTENDERS

_FULL: Final = {"html": 17_688, "texts": 60_000, "peers": 100_000, "large": 1_000_000, "judge": 1_000_000}
"""Sizes from which on a figure counts."""
_HOW: Final = """Written by `python -m benchmarks scan --docs FOLDER --out docs/benchmarks/scan.md`; the figures are
in `scan.json` next to it, which puts together parts that are measured one by one. Scans write to a disk of the same
machine. Everything that a command does counts, its start, its reading and its writing included, unless stated
otherwise. *A core* means a CPU second of all processes together. Memory is the peak of all processes together: shared
memory counts once, and memory that can be read again from a file not at all. On a machine that other programs use look
at CPU seconds and ratios; times by the clock and the slowest of a hundred are then too long."""


def write(out: Path, rows: Sequence[dict[str, Any]], versions: Sequence[str]) -> None:
    """Write the whole page."""
    sections = []
    for part, (heading, text_of) in _SECTIONS.items():
        own = [row for row in rows if row["part"] == part]
        if own:
            text = text_of(own)
            days = sorted({row["day"] for row in own})
            notes = list(dict.fromkeys(row["note"] for row in own if "note" in row))
            if any(row["size"] < _FULL[part] and "note" not in row for row in own):
                notes.append("**Small run**: it shows that the measurement works; look for its sizes in the table.")
            note = " ".join([f"Measured on {' and '.join(days)}.", *notes])
            sections.append((heading, f"{text}\n\n{note}"))
    report.write(out, title="Scans of files", how=_HOW, versions=versions, absent=(), sections=sections)


def line_of(row: dict[str, Any]) -> str:
    """The result as a line for people."""
    shown = {
        name: f"{value:,.1f}" if isinstance(value, float) else value
        for name, value in row.items()
        if name not in ("part", "name", "day", "recall", "note")
    }
    shares = {f"{float(share):.0%}": f"{found:.3f}" for share, found in row.get("recall", {}).items()}
    return f"{row['part']}: {row['name']}: " + ", ".join(f"{name} {value}" for name, value in (shown | shares).items())


def _rate(row: dict[str, Any]) -> str:
    return f"{row['rate']:,.0f}" if row["rate"] else "too few to tell"


def _html(rows: Sequence[dict[str, Any]]) -> str:
    ours = {row["size"]: row["rate"] for row in rows if row["name"] == "scan" and row["rate"]}
    table = report.table(
        ("", "pages", "pages a second and core", "scan is faster by", "CPU s to start", "pages a second", "memory"),
        [
            (
                row["name"],
                f"{row['size']:,}",
                _rate(row),
                f"{ours[row['size']] / row['rate']:.2f}" if row["size"] in ours and row["rate"] else "",
                f"{row['start']:.1f}" if "start" in row else "",
                f"{row['wall_rate']:,.0f}" if "wall_rate" in row else "",
                f"{row['peak_mib']:,.0f} MiB" if "peak_mib" in row else "",
            )
            for row in rows
        ],
    )
    return (
        "The labelled HTML pages as JSON lines, several times over under other URLs, so that all but the first lap are "
        "exact copies for each contender. All take turns; the median of the runs counts. The start of processes is "
        "left out of pages a second and core, for the workers as well, whose broker does not count either. Trafilatura "
        "and PyPI simhash make text and fingerprint of a sample in one process, and compare nothing.\n\n" + table
    )


def _texts(rows: Sequence[dict[str, Any]]) -> str:
    table = report.table(
        ("texts", "a second and core", "with the start", "CPU s to start", "texts a second", "memory"),
        [
            (
                f"{row['size']:,}",
                _rate(row),
                f"{row['with_start']:,.0f}",
                f"{row['start']:.1f}",
                f"{row['wall_rate']:,.0f}",
                f"{row['peak_mib']:,.0f} MiB",
            )
            for row in rows
        ],
    )
    how = "Texts of 3 to 5 kB without markup, made as described below, half of them Chinese, as JSON lines."
    return f"{how}\n\n{table}"


def _peers(rows: Sequence[dict[str, Any]]) -> str:
    order = list(CONTENDERS)
    rows = sorted(rows, key=lambda row: (row["size"], order.index(row["name"])))
    strengths = [str(share) for share in STRENGTHS]
    columns = ("", "texts", "minutes", "CPU minutes", "memory", *(f"{share:.0%}" for share in STRENGTHS), "false")
    lines = []
    for row in rows:
        line = [CONTENDERS[row["name"]].name, f"{row['size']:,}"]
        if "why_not" in row:
            line += [f"not run: {row['why_not']}"] + [""] * (len(columns) - 3)
        else:
            time = f"{row['wall'] / 60:.1f}" if row["ended"] else f"more than {row['most_minutes']:g}"
            line += [time, f"{row['cpu'] / 60:.1f}", f"{row['peak_mib']:,.0f} MiB"]
            recall = row.get("recall", {})
            line += [f"{recall[share]:.1%}" if share in recall else "" for share in strengths]
            line.append(f"{row['false']:,}" if "false" in row else "")
        lines.append(line)
    settings = "; ".join(f"{each.name}: {each.settings}" for each in CONTENDERS.values())
    return (
        "Texts of 1 to 3 kB, half of them Chinese, made from the labelled ones by a fixed seed: pasted together from "
        "pieces of eight words (sixteen characters) from random places. Each fifth is a copy of an earlier one, in "
        "which a share of the words was edited: runs of one to eight were left out, replaced or put in. The columns "
        "with a share say how many of the copies with that share edited were found; *false* counts texts that were "
        "thrown away and are no copy of a text that stayed. Real texts of one site have more in common than "
        f"these.\n\n{settings}.\n\n" + report.table(columns, lines)
    )


def _large(rows: Sequence[dict[str, Any]]) -> str:
    table = report.table(
        ("new texts", "old ones", "minutes", "of them until the first verdicts", "CPU minutes", "memory", "old state"),
        [
            (
                f"{row['size']:,}",
                f"{row['old']:,}",
                f"{row['wall'] / 60:.1f}",
                f"{row['start'] / 60:.1f}",
                f"{row['cpu'] / 60:.1f}",
                f"{row['peak_mib']:,.0f} MiB",
                f"{row['state_mb']:,.0f} MB",
            )
            for row in rows
        ],
    )
    return (
        "`scan NEW --against STATE`. The old ones come from no pages: the state is filled with random fingerprints and "
        "sketches under made-up URLs, since those of real pages would take half an hour to make. Random ones fill the "
        "index more evenly. The new ones are texts as above, through everything that a scan does.\n\n" + table
    )


def _judge(rows: Sequence[dict[str, Any]]) -> str:
    table = report.table(
        ("`Deduplicator.judge`, one by one", "judged", "survivors", "p50", "p99", "CPU time, p50", "p99"),
        [
            (
                row["name"],
                f"{row['judged']:,}",
                f"{row['size']:,}",
                f"{row['p50']:,.0f} µs",
                f"{row['p99']:,.0f} µs",
                f"{row['p50_cpu']:,.0f} µs",
                f"{row['p99_cpu']:,.0f} µs",
            )
            for row in rows
        ],
    )
    return (
        "In one process and one thread, by the clock and by the CPU time of the thread, with a state on disk whose "
        "survivors are random as above. Occasional writes to the disk are included.\n\n" + table
    )


_SECTIONS: Final[dict[str, tuple[str, Callable[[Sequence[dict[str, Any]]], str]]]] = {
    "html": ("HTML pages", _html),
    "texts": ("Texts", _texts),
    "peers": ("Compared with other packages", _peers),
    "large": ("New texts against many old ones", _large),
    "judge": ("Page by page", _judge),
}
