"""Results of benchmarks as Markdown with a plot: the measurement, the machine, the day and the versions."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from worker.evaluate.circumstances import machine


def short(number: float) -> str:
    """Two or three digits and a unit: 0.021M, 3.4M, 180."""
    if number >= 1e5:
        return f"{number / 1e6:.2f}M" if number < 1e7 else f"{number / 1e6:.1f}M"
    return f"{number / 1e3:.1f}k" if number >= 1e3 else f"{number:.0f}"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """A Markdown table, its first ``texts`` columns aligned to the left and the numbers to the right."""
    lines = [columns, ["---"] * texts + ["---:"] * (len(columns) - texts), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines)


def together(out: Path, results: Sequence[Mapping[str, Any]], key: Sequence[str]) -> list[dict[str, Any]]:
    """Merge results into the JSON file next to ``out``, where the new ones replace old ones of the same key.

    So sizes that take long can be measured one by one. ``key`` names the fields that tell results apart.
    """
    file = out.with_suffix(".json")
    kept: list[dict[str, Any]] = json.loads(file.read_text()) if file.is_file() else []
    by_key = {tuple(each[name] for name in key): dict(each) for each in (*kept, *results)}
    out.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[\n" + ",\n".join(json.dumps(each) for each in by_key.values()) + "\n]\n")
    return list(by_key.values())


def write(
    out: Path,
    *,
    title: str,
    how: str,
    versions: Sequence[str],
    absent: Sequence[str],
    sections: Sequence[tuple[str, str]],
    plot: Path | None = None,
) -> None:
    """Write the whole file; ``sections`` are headings, each with the text below it."""
    parts = [f"# {title}", how, f"Measured on: {machine(versions)}."]
    if absent:
        parts.append("Absent: " + "; ".join(absent) + ".")
    if plot is not None:
        parts.append(f"![{title}]({plot.name})")
    parts += [f"## {heading}\n\n{text}" for heading, text in sections]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def plot(file: Path, lines: Mapping[str, Sequence[tuple[float, float]]], *, x: str, y: str) -> Path | None:
    """Draw lines over two logarithmic axes as SVG; None where matplotlib is not installed."""
    try:
        matplotlib: Any = importlib.import_module("matplotlib")
    except ImportError:
        return None
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "crawl-dedup", "svg.fonttype": "none", "font.size": 11})
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(7.2, 4.2), layout="constrained")
    for number, (name, points) in enumerate(lines.items()):
        places, values = zip(*sorted(points), strict=True)
        axes.plot(places, values, marker="o", label=name, linewidth=3 if number == 0 else 1.5)
    axes.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
    return file
