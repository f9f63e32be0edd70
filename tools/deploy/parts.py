"""The parts of dashboards: rows of panels, and the queries that several panels share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

PAGES: Final = "suffix: pages/s"
SHARE: Final = "percentunit"
SECONDS: Final = "s"
BYTES: Final = "bytes"
COUNT: Final = "short"
CORES: Final = "suffix: cores"

CRAWL: Final = 'job="$job"'
"""Spiders are not instances of a worker."""
HERE: Final = 'job="$job", instance=~"$instance"'
RESPONSES: Final = f"dedup_spider_responses_total{{{CRAWL}}}"
PUBLISHED: Final = f"dedup_spider_published_pages_total{{{CRAWL}}}"
BACKLOG: Final = "sum(max by (partition) (dedup_lag_records{@}))"
RATE: Final = "[$__rate_interval]"
PARSERS: Final = "start|extract|segment|fingerprint|pipes"
"""The stages of the parsing processes; all others are steps of the loop."""
HELD: Final = (
    "(dedup_shard_state{@} == 1) * on (instance, shard) group_left (role) (dedup_shard_role{@} == 1) "
    "or on (instance, shard) dedup_shard_state{@} == 1"
)
"""Each held shard by worker and state, and by role, without shards that may still be given back."""

DUPLICATES: Final = ', outcome="duplicate"'
JUDGED: Final = ', outcome!="dead"'
UNIQUE: Final = ', outcome="unique"'


@dataclass(frozen=True)
class Panel:
    """One panel. ``queries`` map legends to expressions; in these, ``@`` stands for the selected job and instances."""

    title: str
    unit: str
    queries: dict[str, str]
    kind: str = "timeseries"
    width: int = 8
    text: str = ""
    stacked: bool = False
    most: float | None = None
    by: str = ""
    """For a table with several queries: the label by which their rows are joined."""

    def expressions(self) -> Iterator[tuple[str, str]]:
        """Legend and PromQL of each query, with Grafana's variables in it."""
        for legend, query in self.queries.items():
            yield legend, query.replace("@", HERE)


@dataclass(frozen=True)
class Row:
    """A line with a name above its panels."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class Dashboard:
    """One dashboard, in a file of its own."""

    uid: str
    title: str
    text: str
    rows: Sequence[Row]
    one_worker: bool = False


def stat(title: str, unit: str, query: str, text: str = "") -> Panel:
    """A single number."""
    return Panel(title, unit, {"": query}, kind="stat", width=4, text=text)


def share(by: str, metric: str, window: str) -> str:
    """The share of duplicates among pages with a verdict, by some labels; 0 where there is no page."""
    return _share(*(f"sum{by} (rate({metric}{{@{which}}}{window}))" for which in (DUPLICATES, JUDGED, "")))


def pages_by(by: str, metric: str, which: str = "") -> str:
    """The pages of the last hour, by some labels."""
    return f"sum by ({by}) ({counted(f'{metric}{{@{which}}}', '1h')})"


def share_by(by: str, metric: str) -> str:
    """The share of duplicates among the pages of the last hour that have a verdict."""
    return _share(*(pages_by(by, metric, which) for which in (DUPLICATES, JUDGED, "")))


def _share(duplicates: str, judged: str, every: str) -> str:
    return f"({duplicates} or 0 * {every}) / {judged}"


def counted(series: str, window: str) -> str:
    """The growth of counters in a window, including counters that began in it with a number other than zero.

    ``increase()`` leaves out the first number of a series and extrapolates at both ends. Here a series counts
    with its whole value if it did not exist when the window began and its worker was scraped before it existed.
    """
    inside, first = f"{series}[{window}]", f"min_over_time({series}[{window}])"
    grown = f"(max_over_time({inside}) - {first} and resets({inside}) == 0 or increase({inside}))"
    later = (
        f"count_over_time({inside}) < on (job, instance) group_left () "
        f"sum by (job, instance) (count_over_time(up[{window}]))"
    )
    return f"({grown} + ({first} and ({later}) unless {series} offset {window}) or {grown})"


def quantile(q: float, metric: str) -> str:
    return f"histogram_quantile({q}, sum by (le) (rate({metric}_bucket{{@}}{RATE})))"
