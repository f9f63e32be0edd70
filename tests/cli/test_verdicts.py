"""``python -m worker verdicts --job``: two crawls into the real broker at the same time, each with its own verdicts."""

from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from crawler_plugin.wire.errors import CheckFailed, UsageError
from tests.cluster.cluster import SMALL, Cluster
from tests.crawler_plugin.crawling import Crawl, Site, article, numbered, serve, to_kafka
from worker.cli import verdicts
from worker.config import Settings
from worker.results.rows import OUTCOMES


def run(load: Callable[[], Settings], *words: str) -> int:
    parser = argparse.ArgumentParser()
    verdicts.configure(parser)
    return verdicts.run(parser.parse_args(words), load)


@pytest.mark.cluster
def test_of_two_crawls_at_once_each_has_its_own_verdicts_and_its_sum(
    broker: str, topic_prefix: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    site = Site(numbered(6) | {"/again": article(0)})
    with serve(site), Cluster(broker, topic_prefix, tmp_path, (*SMALL, "output.mode=verdicts")) as cluster:

        def load() -> Settings:
            return cluster.settings

        crawls = []
        for job in ("one", "two"):
            (tmp_path / job).mkdir()
            told = to_kafka(broker, topic_prefix) | {"DEDUP_JOB": job}
            crawls.append(Crawl(tmp_path / job, "site", site.url("/"), told))
        for each in crawls:
            assert each.end().dedup["confirmed"] == 7
        with pytest.raises(CheckFailed, match="7 of 7 pages of job one have no verdict yet: --follow"):
            run(load, "--job", "one")
        cluster.start_worker()
        found = {}
        for job in ("one", "two"):
            out = tmp_path / f"{job}.jsonl"
            assert run(load, "--job", job, "--follow", "--out", str(out)) == 0
            found[job] = [json.loads(line) for line in out.read_text().splitlines()]
            assert f"job {job}: 7 pages = " in capfd.readouterr().err
        assert all({row["url"] for row in rows} == site.urls for rows in found.values())
        assert [{row["job"] for row in rows} for rows in found.values()] == [{"one"}, {"two"}]
        assert sum(row["verdict"] == "unique" for rows in found.values() for row in rows) == 6

        items = tmp_path / "items.jsonl"
        items.write_text("".join(json.dumps({"page": url}) + "\n" for url in sorted(site.urls)))
        assert run(load, "--job", "two", "--spider", "site", "--join", str(items), "--on", "page") == 0
        shown = capfd.readouterr()
        assert "7 of 7 items have a verdict" in shown.err
        of_rows = {row["url"]: row["verdict"] for row in found["two"]}
        assert {item["page"]: item["dedup"]["verdict"] for item in map(json.loads, shown.out.splitlines())} == of_rows
        assert run(load, "--jobs") == 0
        shown = capfd.readouterr()
        rows = [json.loads(line) for line in shown.out.splitlines()]
        size = sum(len(site.pages[path]) for path in site.pages)
        for row, job in zip(rows, ("one", "two"), strict=True):
            verdicts_of = Counter(each["verdict"] for each in found[job])
            assert (row["job"], row["spider"], row["published"], row["bytes"]) == (job, "site", 7, size)
            assert {outcome: row[outcome] for outcome in OUTCOMES} == {each: verdicts_of[each] for each in OUTCOMES}
            assert row["reasons"] == Counter(f"{each['verdict']}: {each['reason']}" for each in found[job])
            assert f"job {job}, spider site: 7 pages = " in shown.err
        assert sum(row["duplicate_bytes"] for row in rows) > 0
        for form in ("csv", "parquet"):
            assert run(load, "--jobs", "--format", form, "--out", str(tmp_path / f"sums.{form}")) == 0
        table = pq.read_table(tmp_path / "sums.parquet").to_pylist()
        assert [row | {"reasons": json.loads(row["reasons"])} for row in table] == rows
        with (tmp_path / "sums.csv").open(newline="") as lines:
            assert [row["unique"] for row in csv.DictReader(lines)] == [str(row["unique"]) for row in rows]
        with pytest.raises(CheckFailed, match="job two, spider nobody has no mark on the topic jobs"):
            run(load, "--job", "two", "--spider", "nobody")
        assert cluster.stop() == [0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--job", "7", "--format", "parquet"), "name it with --out"),
        (("--job", "7", "--format", "csv", "--join", "items.jsonl"), "leave --format csv out"),
        (("--jobs", "--follow"), "leave --spider, --follow and --join out"),
    ],
)
def test_options_that_do_not_go_together_are_told(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        run(Settings, *words)
