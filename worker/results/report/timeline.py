"""Pages by the time of their fetch, or by their place in the input, in a few dozen steps."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from worker.results.report.tally import UNKNOWN, Named
from worker.results.rows import OUTCOMES

_MOST_STEPS: Final = 48
_MINUTE: Final = 60_000
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_WIDTHS: Final = (
    *(number * _MINUTE for number in (1, 5, 15)),
    *(number * _HOUR for number in (1, 3, 6, 12)),
    *(number * _DAY for number in (1, 2, 7, 30, 90, 365, 3650)),
)
_EDGE: Final = 0.005
"""Share of pages at either end that may not stretch the axis: one page of 1970 would leave no other bar."""


class Timeline(NamedTuple):
    """``steps`` are the pages of each step, named by its beginning. ``by_time`` is False if most pages have no fetch
    time, so that steps are parts of the input. ``unknown`` pages are in no step."""

    steps: tuple[Named, ...]
    by_time: bool
    unknown: int


def timeline(fetched: npt.NDArray[np.int64], kinds: npt.NDArray[np.uint8]) -> Timeline:
    """Steps of equal length over all pages."""
    known = fetched != UNKNOWN
    if 2 * int(known.sum()) <= len(fetched):
        return Timeline(_by_place(kinds), False, 0)
    times, kinds = fetched[known], kinds[known]
    first, last = (int(time) for time in np.quantile(times, [_EDGE, 1 - _EDGE], method="nearest"))
    if int(times.max()) - int(times.min()) <= 3 * (last - first):
        first, last = int(times.min()), int(times.max())
    width = next((width for width in _WIDTHS if (last - first) // width < _MOST_STEPS - 1), _WIDTHS[-1])
    begin = first // width
    steps = np.clip(times // width - begin, 0, last // width - begin)
    pattern = "%Y-%m-%d" if width >= _DAY else "%Y-%m-%d %H:%M"
    names = [_written((begin + step) * width, pattern) for step in range(last // width - begin + 1)]
    return Timeline(_steps(names, steps, kinds), True, int((~known).sum()))


def _by_place(kinds: npt.NDArray[np.uint8]) -> tuple[Named, ...]:
    count = min(_MOST_STEPS, len(kinds))
    places = np.arange(len(kinds))
    names = [f"page {-(-step * len(kinds) // count) + 1:,}" for step in range(count)]
    return _steps(names, places * count // max(1, len(kinds)), kinds)


def _steps(names: list[str], steps: npt.NDArray[np.int64], kinds: npt.NDArray[np.uint8]) -> tuple[Named, ...]:
    width = len(OUTCOMES)
    counts = np.bincount(steps * width + kinds, minlength=width * len(names)).reshape(-1, width)
    return tuple(Named(name, *row) for name, row in zip(names, counts.tolist(), strict=True))


def _written(milliseconds: int, pattern: str) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime(pattern)
