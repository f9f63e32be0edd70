"""``python -m worker pardon`` on the real broker: a page that was called a duplicate survives once, and stays so."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import CheckFailed, Unavailable, UsageError
from crawler_plugin.wire.outcomes import JobMark, Verdict
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.topics import DEDUPLICATED, JOBS, VERDICTS
from tests.cluster.cluster import SMALL, Cluster, running
from tests.cluster.outside import read, traces
from tests.guarantees import check_guarantees
from worker.cli import pardon
from worker.compose import parts
from worker.config import Settings

A, B, C = (f"https://{name}.example/" for name in "abc")
TEXT = " ".join(f"word{number}" for number in range(80)).encode()


def run(settings: Settings, *words: str) -> int:
    parser = argparse.ArgumentParser()
    pardon.configure(parser)
    return pardon.run(parser.parse_args(words), lambda: settings)


def page(url: str, spider: str = "news") -> tuple[PageMeta, bytes]:
    return PageMeta(url=url, form="text", fetched=1_700_000_000_000, spider=spider, job="7"), TEXT


@pytest.mark.cluster
def test_a_pardoned_page_survives_once_and_a_restored_index_knows_it(
    broker: str, topic_prefix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Cluster(broker, topic_prefix, tmp_path, (*SMALL, "output.mode=drop", "kafka.instance_id=w")) as cluster:
        worker = running(cluster.start_worker())

        def verdicts(url: str) -> list[str]:
            found = [Verdict.decode(record.value) for record in read(broker, topic_prefix + VERDICTS)]
            mine = sorted((one for one in found if one.url == url), key=lambda one: one.order)
            return [f"{one.verdict} {one.reason} {one.duplicate_of or ''}".strip() for one in mine]

        def publish(*urls: str) -> None:
            for url in urls:
                cluster.publish([page(url)])
                cluster.wait_until_committed()

        publish(A, B)
        assert verdicts(B) == [f"duplicate exact-text {A}"]
        with pytest.raises(CheckFailed, match=f"no verdict on {B}.* --spider"):
            run(cluster.settings, B, "--spider", "shop")

        assert run(cluster.settings, "HTTPS://B.example:443#top", "--spider", "news") == 0
        called, now = capsys.readouterr().out.splitlines()
        assert called == f"{B} was called a duplicate of {A} (exact-text)"
        assert re.fullmatch(rf"{B} is unique \(pardoned\) now, page [01]:\d+", now)
        publish(C)
        assert verdicts(C) == [f"duplicate exact-text {A}"]

        worker.kill()
        with pytest.raises(CheckFailed, match=r"is unique \(pardoned\), so there is nothing to pardon"):
            run(cluster.settings, B)
        with pytest.raises(Unavailable, match=r"no verdict after 0\.5 s: check that workers run"):
            run(cluster.settings, C, "--timeout", "0.5")
        running(cluster.start_worker())
        cluster.wait_until_committed()
        publish(B)
        assert verdicts(B)[-1] == f"duplicate exact-text {A}", "who says nothing is judged as every page"
        assert run(cluster.settings, B) == 0
        assert verdicts(B)[1:] == ["unique pardoned", f"duplicate exact-text {A}", f"refetch same-url {B}"]
        assert verdicts(C)[1:] == ["unique pardoned"]

        passed = sorted(record.key or b"" for record in read(broker, topic_prefix + DEDUPLICATED))
        assert passed == [url.encode() for url in (A, B, B, C)]
        marks = [one for one in read(broker, topic_prefix + JOBS) if "kind" not in dict(one.headers)]
        assert [JobMark.decode(mark.value).pages for mark in marks] == [1, 1, 1], "as many pages more has its job"
        check_guarantees(traces(broker, topic_prefix, near=parts.near(cluster.settings), output="drop"))
        assert cluster.stop() == [0]


def test_a_url_that_is_none_is_told() -> None:
    with pytest.raises(UsageError, match="give the URL of a page"):
        run(Settings(), "b.example")
