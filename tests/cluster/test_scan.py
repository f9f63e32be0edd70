"""A scan of archives gives the same verdicts as workers on a real broker, and workers can start from its state."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import pytest

from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.page_headers import PageMeta, text_headers
from crawler_plugin.wire.topics import DEAD_LETTERS, VERDICTS, topic_name
from tests.cluster.cluster import Cluster
from tests.cluster.outside import read
from tests.cluster.test_live_changes import command
from tests.scan.archives import write_jsonl, write_parquet, write_warc
from worker.cli import index
from worker.cli.main import main
from worker.local import FetchedPage
from worker.results.rows import read_line
from worker.sizing.pages import Page

pytestmark = [pytest.mark.cluster, pytest.mark.data, pytest.mark.usefixtures("read_here")]

ONE_ORDER: Final = ("topics.partitions=1", "topics.shards=2")
"""All pages in one partition, so that workers judge them in the order of the archive."""


SETTINGS: Final = ("--set", "index.memory_mb=0", "--set", "page.processes=1")


class Said(NamedTuple):
    """The parts of a verdict that scan and workers must agree on."""

    url: str
    verdict: str
    duplicate_of: str | None
    distance: int | None
    similarity: float | None
    fingerprint: str | None


def scanned(archive: Path, out: Path, *more: str) -> list[Said]:
    arguments = ["scan", str(archive), "--out", str(out), "--no-report", *SETTINGS, *more]
    assert main(arguments) == 0
    rows = [read_line(line) for line in (out / "verdicts.jsonl").read_bytes().splitlines()]
    return [
        Said(row.url, row.verdict, row.duplicate_of, row.distance, row.similarity, row.fingerprint)
        for row in rows
        if row.verdict != "dead"
    ]


def judged(cluster: Cluster) -> list[Said]:
    """The verdicts in the order of the pages."""
    topics = cluster.settings.topics
    records = read(cluster.bootstrap, topic_name(topics.prefix, VERDICTS, topics.generation))
    verdicts = sorted((Verdict.decode(record.value) for record in records), key=lambda verdict: verdict.source)
    assert len({verdict.source for verdict in verdicts}) == len(verdicts)
    return [Said(v.url, v.verdict, v.duplicate_of, v.distance, v.similarity, v.fingerprint) for v in verdicts]


def as_published(page: FetchedPage) -> tuple[PageMeta, bytes]:
    assert isinstance(page.body, bytes)
    return PageMeta(url=page.url, content_type=page.content_type), page.body


def test_a_scan_of_any_form_says_what_workers_say_and_they_go_on_from_it(
    broker: str, topic_prefix: str, tmp_path: Path, real_pages: list[Page]
) -> None:
    some = real_pages[:: len(real_pages) // 110][:110]
    pages = [FetchedPage(meta.url, body, content_type="text/html; charset=utf-8") for meta, body in some]
    pages += [FetchedPage(f"{page.url}?again", page.body, content_type=page.content_type) for page in pages[::4]]
    half = len(pages) // 2
    by_form = {
        "warc": scanned(write_warc(pages, tmp_path / "a.warc.gz"), tmp_path / "warc"),
        "jsonl": scanned(write_jsonl(pages, tmp_path / "a.jsonl"), tmp_path / "jsonl"),
        "parquet": scanned(write_parquet(pages, tmp_path / "a.parquet"), tmp_path / "parquet"),
    }
    expected = by_form["warc"]
    assert expected == by_form["jsonl"] == by_form["parquet"]
    assert len({said.verdict for said in expected}) == 2 and len(expected) > 100

    with Cluster(broker, topic_prefix, tmp_path, ONE_ORDER) as cluster:
        cluster.start_worker()
        cluster.publish(map(as_published, pages))
        cluster.wait_until_committed()
        assert cluster.stop() == [0]
        assert judged(cluster) == expected
        assert not [text_headers(record.headers) for record in read(broker, topic_prefix + DEAD_LETTERS)]

    archive, records = write_warc(pages[:half], tmp_path / "first.warc.gz"), tmp_path / "records"
    first = scanned(archive, tmp_path / "first")
    assert main(["fingerprint", str(archive), "--out", str(records), *SETTINGS]) == 0
    with Cluster(broker, f"{topic_prefix}seeded.", tmp_path, ONE_ORDER) as seeded:
        assert command(index, seeded, "seed", str(records)) == 0
        seeded.start_worker()
        seeded.publish(map(as_published, pages[half:]))
        seeded.wait_until_committed()
        assert seeded.stop() == [0]
        assert [*first, *judged(seeded)] == expected
