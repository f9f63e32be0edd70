"""Faults, with the alert of each and the time until it fires: played with the real rules, and shown in a table of the
handbook.

A play holds the values that Prometheus would have scraped: each series before the fault and after it. Plays whose alert
fires within two minutes run with the scrapes and evaluations of deploy/prometheus/prometheus.yml, every five seconds;
slower plays run in steps of fifteen seconds, and plays that compare with a day or a week ago in steps of twenty
minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

W1: Final = 'instance="w1:9464"'
W2: Final = 'instance="w2:9464"'
SPIDER: Final = 'spider="news", crawl="may"'
GONE: Final = None
"""A missing series."""
STEP: Final = 15
SHORT_STEP: Final = 5
LONG_STEP: Final = 1200
BEGINS: Final = 300
DAY: Final = 24 * 3600

Value = float | None
Wave = Callable[[float], Value]
"""The value of a series by seconds after the fault; negative seconds are before it."""


@dataclass(frozen=True)
class Play:
    """``series`` are waves by name and labels, without ``job``. ``after`` are seconds from the fault to the alert.

    Without ``alert`` no alert fires, from the beginning to the end. ``begins`` and ``ends`` are seconds before and
    after the fault.
    """

    fault: str
    series: Mapping[str, Wave]
    alert: str | None = None
    after: int = 0
    begins: int = BEGINS
    ends: int = 900
    step: int = STEP

    def input_series(self) -> Iterator[dict[str, str]]:
        """The series as ``promtool test rules`` takes them; two workers answer scrapes unless the play says
        otherwise."""
        for name, wave in {**WORKING, **self.series}.items():
            metric, _, labels = name.partition("{")
            inside = ", ".join(['job="dedup-worker"', *([labels.rstrip("}")] if labels else [])])
            times = range(-self.begins, self.ends + 1, self.step)
            yield {"series": f"{metric}{{{inside}}}", "values": " ".join(_written(list(map(wave, times))))}

    def checks(self) -> Iterator[dict[str, Any]]:
        """The alert fires at ``after`` and not one step before; or no alert fires at any step of the last half."""
        if self.alert is None:
            for at in range(0, self.ends + 1, max(self.step, self.ends // 40 // self.step * self.step)):
                yield self._check("ALERTS{alertstate='firing'}", at, fires=False)
            return
        firing = f"ALERTS{{alertname='{self.alert}', alertstate='firing'}}"
        yield self._check(firing, self.after - self.step, fires=False)
        yield self._check(firing, self.after, fires=True)

    def _check(self, expression: str, at: int, *, fires: bool) -> dict[str, Any]:
        samples = [{"labels": "{}", "value": 1}] if fires else []
        return {"expr": f"group({expression})", "eval_time": f"{self.begins + at}s", "exp_samples": samples}


def _written(values: list[Value]) -> Iterator[str]:
    """The values as promtool reads them: a series that ends is stale at once, as after a failed scrape; a series that
    has not begun is missing."""
    there = False
    for value in values:
        yield ("stale" if there else "_") if value is None else f"{value:.10g}"
        there = value is not None


def level(before: Value, after: Value) -> Wave:
    return lambda at: before if at < 0 else after


def count(before: float, after: float | None, begins: int = BEGINS) -> Wave:
    """A counter that goes up by this much per second. ``after`` None: the counter is gone."""
    return lambda at: (at + begins) * before if at < 0 else None if after is None else begins * before + at * after


def growing(before: float, until: float = float("inf")) -> Wave:
    """A number of seconds that grows from the fault on; the series ends where it reaches ``until``."""
    return lambda at: before if at < 0 else before + at if before + at <= until else None


def once(at_fault: float) -> Wave:
    """A counter that goes up once, at the fault."""
    return lambda at: 0 if at < 0 else at_fault


def ratio(duplicates: tuple[float, float], uniques: tuple[float, float], begins: int) -> dict[str, Wave]:
    return {
        'dedup_pages_total{outcome="duplicate"}': count(*duplicates, begins),
        'dedup_pages_total{outcome="unique"}': count(*uniques, begins),
    }


def of_a_day(at: float) -> float:
    """Ten thousand pages each day, from eight in the morning to eight in the evening; the fault is at noon."""
    days, second = divmod(at + DAY // 2, DAY)
    return 10_000 * (days + 8 + min(max(second - DAY // 3, 0.0), DAY // 2) / (DAY // 2))


WORKING: Final = {
    f"up{{{W1}}}": level(1, 1),
    f"up{{{W2}}}": level(1, 1),
    f"dedup_ready{{{W1}}}": level(1, 1),
    f"dedup_ready{{{W2}}}": level(1, 1),
}
OWNED: Final = {
    f"dedup_shards{{{W1}}}": level(2, 2),
    f"dedup_partitions{{{W1}}}": level(2, 2),
    f'dedup_shard_state{{{W1}, shard="0", state="answering"}}': level(1, 1),
    f'dedup_partition_state{{{W1}, partition="0", state="claiming"}}': level(1, 1),
}
SPIDERS: Final = {
    f"dedup_spider_responses_total{{{SPIDER}}}": count(2, 2),
    f"dedup_spider_published_pages_total{{{SPIDER}}}": count(2, 2),
    f"dedup_spider_confirmed_pages_total{{{SPIDER}}}": count(2, 2),
    f"dedup_spider_silence_seconds{{{SPIDER}}}": level(0, 0),
}
PAGES: Final = f'dedup_pages_total{{{W1}, outcome="unique"}}'

TWICE_HELD: Final[dict[str, Wave]] = {
    f"dedup_shard_holders{{{W1}}}": level(2, 2),
    f"dedup_shard_holders{{{W2}}}": level(2, 2),
    **{
        f'{name}{{{worker}, shard="{shard}", {label}}}': level(1, 1)
        for worker, shard, role in ((W1, 0, "active"), (W2, 0, "standby"), (W1, 1, "active"), (W2, 1, "standby"))
        for name, label in (("dedup_shard_role", f'role="{role}"'), ("dedup_shard_state", 'state="answering"'))
    },
}
"""Two shards with two holders each; all holders answer."""

PLAYS: Final = (
    Play(
        "The broker is killed; workers end after `kafka.patience_seconds`",
        {
            f"dedup_broker_silence_seconds{{{W1}}}": growing(2, 60),
            f"dedup_broker_silence_seconds{{{W2}}}": growing(4, 60),
        },
        "DedupBrokerSilent",
        30,
        step=SHORT_STEP,
    ),
    Play(
        "All workers are killed; Prometheus still lists them",
        {
            f"up{{{W1}}}": level(1, 0),
            f"up{{{W2}}}": level(1, 0),
            f"dedup_ready{{{W1}}}": level(1, GONE),
            f"dedup_ready{{{W2}}}": level(1, GONE),
        },
        "DedupNoWorker",
        60,
        step=SHORT_STEP,
    ),
    Play(
        "All pods are deleted, and with them their addresses",
        dict.fromkeys(WORKING, level(1, GONE)),
        "DedupNoWorker",
        60,
        step=SHORT_STEP,
    ),
    Play(
        "One of two workers is killed",
        {f"up{{{W2}}}": level(1, 0), f"dedup_ready{{{W2}}}": level(1, GONE)},
        "DedupWorkerAbsent",
        120,
        step=SHORT_STEP,
    ),
    Play(
        "A shard loses its owner, and no other worker takes it",
        OWNED | {f'dedup_shard_state{{{W2}, shard="1", state="answering"}}': level(1, GONE)},
        "DedupShardWithoutOwner",
        120,
        step=SHORT_STEP,
    ),
    Play(
        "Of two holders of a shard one goes, and nobody takes its place (`index.replicas: 2`)",
        TWICE_HELD
        | {
            f'dedup_shard_role{{{W2}, shard="1", role="standby"}}': level(1, GONE),
            f'dedup_shard_state{{{W2}, shard="1", state="answering"}}': level(1, GONE),
        },
        "DedupShardWithOneHolder",
        600,
    ),
    Play(
        "A partition of `pages` loses its owner",
        OWNED | {f'dedup_partition_state{{{W2}, partition="1", state="claiming"}}': level(1, GONE)},
        "DedupPartitionWithoutOwner",
        120,
        step=SHORT_STEP,
    ),
    Play(
        "`pages` is given more partitions, and workers keep their `topics.partitions`",
        OWNED
        | {
            f'dedup_partition_state{{{W2}, partition="1", state="claiming"}}': level(1, 1),
            f'dedup_partition_state{{{W2}, partition="2", state="unclaimed"}}': level(GONE, 1),
        },
        "DedupPartitionsUnclaimed",
        600,
    ),
    Play(
        "Spiders publish, and workers get none of it: another broker, another `topics.prefix`",
        SPIDERS | {PAGES: count(2, 0)},
        "DedupNothingFlows",
        600,
    ),
    Play(
        "A spider goes on, and its items have no body any more",
        SPIDERS | {PAGES: count(2, 2), f"dedup_spider_confirmed_pages_total{{{SPIDER}}}": count(2, 0)},
        "DedupSpiderPublishesNothing",
        900,
    ),
    Play(
        "Kafka confirms nothing to a spider that has pages for it",
        SPIDERS | {f"dedup_spider_silence_seconds{{{SPIDER}}}": growing(0)},
        "DedupSpiderWaits",
        65,
        step=SHORT_STEP,
    ),
    Play(
        "A crawl that has been going for more than a week at this hour brings no page any more",
        {PAGES: lambda at: of_a_day(min(at, 0))},
        "DedupQuieterThanUsual",
        4800,
        begins=8 * DAY,
        ends=3 * 3600,
        step=LONG_STEP,
    ),
    Play(
        "A shop's products come out as one page, although their titles all differ",
        {f'dedup_findings_total{{{W1}, kind="suspect"}}': once(1)},
        "DedupSuspects",
        0,
    ),
    Play(
        "One host of many brings only copies, one a second",
        {f'dedup_host_pages_total{{{W1}, host="trap.example", outcome="duplicate"}}': count(0, 1)},
        "DedupHostNearlyOnlyDuplicates",
        1110,
    ),
    Play(
        "One crawl of several brings only copies, one a second",
        {f'dedup_crawl_pages_total{{{W1}, {SPIDER}, outcome="duplicate"}}': count(0, 1)},
        "DedupCrawlNearlyOnlyDuplicates",
        1110,
    ),
    Play(
        "Everything is a copy from the first page on, one a second",
        ratio((0, 1), (0, 0), BEGINS),
        "DedupNearlyOnlyDuplicates",
        1110,
    ),
    Play(
        "A quarter of duplicates becomes three quarters",
        ratio((0.25, 0.75), (0.75, 0.25), 30 * 3600),
        "DedupDuplicateRatioJumped",
        4800,
        begins=30 * 3600,
        ends=3 * 3600,
        step=LONG_STEP,
    ),
    Play(
        "Three quarters of duplicates become a quarter",
        ratio((0.75, 0.25), (0.25, 0.75), 30 * 3600),
        "DedupDuplicateRatioFell",
        4800,
        begins=30 * 3600,
        ends=3 * 3600,
        step=LONG_STEP,
    ),
    Play(
        "One page in five becomes a dead letter, at two pages a second",
        {PAGES: count(2, 1.6), f'dedup_pages_total{{{W1}, outcome="dead"}}': count(0, 0.4)},
        "DedupDeadLetters",
        405,
    ),
    Play(
        "A worker with other settings writes to the same topics",
        {f"dedup_foreign_batches_total{{{W1}}}": count(0, 1)},
        "DedupForeignBatches",
        5,
        step=SHORT_STEP,
    ),
    Play(
        "Counting and logging fail on a worker",
        {f'dedup_observer_errors_total{{{W1}, method="sample"}}': count(0, 1)},
        "DedupObserverErrors",
        5,
        step=SHORT_STEP,
    ),
    Play(
        "Pages come, and none gets a verdict",
        {f"dedup_lag_seconds{{{W1}}}": growing(0)},
        "DedupLagging",
        915,
    ),
    Play(
        "A batch takes three seconds where it took a third of one",
        {
            f"dedup_round_seconds_sum{{{W1}}}": count(1, 1),
            f"dedup_round_seconds_count{{{W1}}}": count(3, 1 / 3),
        },
        "DedupSlowRounds",
        885,
    ),
    Play(
        "A shard restores, and does not finish",
        {f'dedup_shard_state{{{W1}, shard="0", state="restoring"}}': level(0, 1)},
        "DedupRestoreTooLong",
        900,
    ),
    Play(
        "A template outweighs the text: 20,000 different pages share most of their fingerprint",
        {
            f'dedup_index_largest_bucket_entries{{{W1}, shard="0"}}': level(900, 20_000),
            f'dedup_index_entries{{{W1}, shard="0"}}': level(1e6, 1e6),
        },
        "DedupHotBlock",
        900,
    ),
    Play(
        "The index grows above 85 % of its memory limit",
        {
            f'dedup_index_bytes{{{W1}, shard="0", part="tables"}}': level(8 << 30, 9 << 30),
            f"dedup_memory_limit_bytes{{{W1}}}": level(10 << 30, 10 << 30),
        },
        "DedupIndexNearMemoryLimit",
        900,
    ),
    Play(
        "Every transaction of a worker fails, one in ten seconds",
        {
            f"dedup_commit_failures_total{{{W1}}}": lambda at: max(0, at // 10),
            f"dedup_resent_claims_total{{{W1}}}": level(0, 0),
            f"dedup_flush_errors_total{{{W1}}}": level(0, 0),
        },
        "DedupProducerErrors",
        180,
    ),
    Play(
        "A partition is not committed, and Kafka has removed most of what lies before its replay point",
        {f'dedup_replay_margin_ratio{{{W1}, log="fingerprints"}}': level(0.5, 0.2)},
        "DedupReplayPointOld",
        900,
    ),
    Play(
        "A crawl ends: spiders with `DEDUP_STATS_PORT` end, no page comes any more",
        {name: count(2, None) for name in SPIDERS if name.endswith(f"total{{{SPIDER}}}")} | {PAGES: count(2, 0)},
    ),
    Play(
        "The same of a crawl that has been going for more than a week",
        {
            PAGES: lambda at: of_a_day(min(at, 0)),
            f"dedup_spider_published_pages_total{{{SPIDER}}}": lambda at: of_a_day(at) if at < 0 else None,
        },
        begins=8 * DAY,
        ends=20 * 3600,
        step=LONG_STEP,
    ),
    Play(
        "One transaction fails, and 70 claims are sent again",
        {
            f"dedup_commit_failures_total{{{W1}}}": once(1),
            f"dedup_resent_claims_total{{{W1}}}": once(70),
            f"dedup_flush_errors_total{{{W1}}}": level(0, 0),
        },
    ),
    Play(
        "A worker is updated: it is away for half a minute",
        {
            f"up{{{W2}}}": lambda at: float(not 0 <= at < 30),
            f"dedup_ready{{{W2}}}": lambda at: None if 0 <= at < 40 else 1,
        },
    ),
    Play(
        "A worker leaves for good (SIGUSR1: fewer replicas, `systemctl disable --now`)",
        {
            f"up{{{W2}}}": level(1, 0),
            f"dedup_ready{{{W2}}}": level(1, GONE),
            f"dedup_leaving{{{W2}}}": lambda at: None if at >= 0 else float(at >= -SHORT_STEP),
        },
        step=SHORT_STEP,
    ),
    Play(
        "The broker is restarted within twenty seconds",
        {f"dedup_broker_silence_seconds{{{W1}}}": lambda at: 2 + at if 0 <= at < 20 else 2},
    ),
)


def table() -> str:
    """The plays as a Markdown table."""
    rows = [f"| {play.fault} | {_alert(play)} | {_duration(play)} |" for play in PLAYS]
    return "\n".join(["| What happens | First alert | After at most |", "|---|---|---|", *rows]) + "\n"


def _alert(play: Play) -> str:
    return "none" if play.alert is None else f"[{play.alert}](runbook.md#{play.alert.lower()})"


def _duration(play: Play) -> str:
    if play.alert is None:
        return ""
    minutes, seconds = divmod(play.after, 60)
    return f"{play.after} s" if play.after <= 120 else f"{minutes} min" + f" {seconds} s" * (seconds > 0)
