"""Bars, as SVG that takes the available width; colours come from the page's style."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from worker.results.report.markup import Markup, percent, tag, whole
from worker.results.report.tally import Named

_WIDTH: Final = 380
_HEIGHT: Final = 150
_LEFT: Final = 44
_BOTTOM: Final = 22
_TOP: Final = 8
_PLOT: Final = _HEIGHT - _BOTTOM - _TOP


def shares(steps: Sequence[Named], said: str) -> Markup:
    """A bar for each step, as high as the share of duplicates; a step without pages has none."""
    wide = _wide(len(steps))
    bars = [
        _bar(
            n,
            wide,
            one.duplicates / one.judged,
            f"{one.name}: {percent(one.duplicates, one.judged)} duplicates of {whole(one.judged)} pages",
        )
        for n, one in enumerate(steps)
        if one.judged
    ]
    ends = [steps[0].name, steps[-1].name] if len(steps) > 1 else [one.name for one in steps]
    return _chart(said, bars, ["0", "50 %", "100 %"], ends)


def counts(values: Sequence[tuple[str, int]], ends: Sequence[str], said: str) -> Markup:
    """A bar for each value, the highest as high as the chart."""
    most = max((count for _, count in values), default=0)
    wide = _wide(len(values))
    bars = [
        _bar(n, wide, count / most, f"{name}: {whole(count)} pages") for n, (name, count) in enumerate(values) if count
    ]
    return _chart(said, bars, ["0", whole(most)], ends)


def share_bar(part: int, of: int) -> Markup:
    """A small bar next to a number in a table; the number says the same."""
    filled = tag("rect", class_="bar", width=f"{60 * part / of if of else 0:.1f}", height=8)
    return tag(
        "svg",
        tag("rect", class_="rest", width=60, height=8),
        filled,
        class_="share",
        viewBox="0 0 60 8",
        aria_hidden="true",
    )


def _wide(count: int) -> float:
    return (_WIDTH - _LEFT) / max(1, count)


def _bar(number: int, wide: float, share: float, said: str) -> Markup:
    height = max(1.0, _PLOT * share)
    return tag(
        "rect",
        tag("title", said),
        class_="bar",
        x=f"{_LEFT + number * wide + wide * 0.08:.1f}",
        y=f"{_TOP + _PLOT - height:.1f}",
        width=f"{wide * 0.84:.1f}",
        height=f"{height:.1f}",
    )


def _chart(said: str, bars: Sequence[Markup], levels: Sequence[str], ends: Sequence[str]) -> Markup:
    parts: list[Markup] = []
    for number, level in enumerate(levels):
        y = _TOP + _PLOT - _PLOT * number / max(1, len(levels) - 1)
        parts.append(tag("line", class_="level", x1=_LEFT, x2=_WIDTH, y1=f"{y:.1f}", y2=f"{y:.1f}"))
        parts.append(tag("text", level, x=_LEFT - 5, y=f"{y + 3.5:.1f}", text_anchor="end"))
    for number, end in enumerate(ends):
        last = number == len(ends) - 1 and len(ends) > 1
        x = _LEFT + (_WIDTH - _LEFT) * number / max(1, len(ends) - 1)
        anchor = "end" if last else "start" if number == 0 else "middle"
        parts.append(tag("text", end, x=f"{x:.1f}", y=_HEIGHT - 5, text_anchor=anchor))
    return tag("svg", *parts, *bars, class_="chart", viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=said)
