"""Curves as SVG. Only this module draws, with matplotlib, which nothing else needs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from worker.evaluate.curves import Curve

NEEDED: Final = "curves need matplotlib: pip install 'crawl-dedup[evaluate]'"

_STYLE: Final[Any] = {
    "svg.hashsalt": "crawl-dedup",  # names inside the file stay the same from run to run
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
}


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw(curve: Curve, field: str, path: Path) -> None:
    """One curve as an SVG file that loads nothing from elsewhere: recall, recall of edited pairs, false positives.

    Raises:
        OSError: the file cannot be written.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        shares: Any = figure.add_subplot()
        values = [point.value for point in curve.points]
        shares.plot(values, [point.recall.value for point in curve.points], color="#1b6ca8", label="recall")
        shares.plot(
            values, [point.edited.value for point in curve.points], color="#1b6ca8", ls="--", label="recall, edited"
        )
        shares.fill_between(
            values, *zip(*(point.recall.interval for point in curve.points), strict=True), color="#1b6ca8", alpha=0.15
        )
        shares.axvline(curve.chosen, color="#777777", lw=0.8)
        shares.set(xlabel=curve.parameter, ylabel="recall", ylim=(0, 1.02))
        false: Any = shares.twinx()
        false.grid(visible=False)
        rates = [point.false_positives.value for point in curve.points]
        false.plot(values, rates, color="#b5382a", ls=":", label="false positives")
        # Linear below one in ten thousand, so that zero has a place as well.
        false.set_yscale("symlog", linthresh=1e-4)
        false.set(ylabel="false positives, rate", ylim=(0, 1))
        handles = [*shares.get_legend_handles_labels()[0], *false.get_legend_handles_labels()[0]]
        figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
        shares.set_title(f"{curve.method}, {field}", loc="left", fontsize=11)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    _describe(path, curve, field)


def _describe(path: Path, curve: Curve, field: str) -> None:
    """A title and description for people who cannot see the picture; and no link to the DTD, which viewers would
    fetch."""
    title = f"<title>{curve.method}: recall and false positives by {curve.parameter}, {field}</title>"
    told = "; ".join(
        f"{curve.parameter} {point.value:g}: recall {point.recall.value:.3f}, {point.false_positives.hits} false"
        for point in curve.points
    )
    _, tag, rest = path.read_text(encoding="utf-8").partition("<svg ")
    attributes, end, body = rest.partition(">")
    path.write_text(f"{tag}{attributes}{end}\n {title}\n <desc>{told}</desc>{body}", encoding="utf-8")
