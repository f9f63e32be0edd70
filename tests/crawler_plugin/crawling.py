"""Helpers for test crawls: a site, a crawl in a process of its own, and readers of the topic."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafka import KafkaConsumer, TopicPartition

from crawler_plugin.stats import STATS
from crawler_plugin.wire.outcomes import JobMark
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.topics import JOBS, OF_CRAWLS, PAGES, topic_specs
from worker.broker.ports import free_port
from worker.stream.kafka.output_reader import read_outputs
from worker.stream.kafka.topic_admin import create_topics

ROOT: Final = Path(__file__).resolve().parents[2]
DEADLINE_S: Final = 120.0
IMPATIENT: Final = {"BLOCK_MS": 2_000}
"""For a crawl whose broker is away: a try to connect ends, and is logged, after this time instead of ten seconds."""


class Answer(NamedTuple):
    """An answer as given, apart from ``Content-Length``."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass
class Site:
    """Pages by path; ``/`` links to all. ``asked`` has the paths in the order of the requests."""

    pages: dict[str, bytes]
    others: dict[str, Answer] = field(default_factory=dict)
    """Answers that are not HTML pages with status 200. ``/`` links to these too."""
    before: Callable[[int], None] = lambda number: None
    """Called before the answer to the request of this number, counted from 1."""
    before_page: dict[str, Callable[[], None]] = field(default_factory=dict)
    """Called before the answer to a request for this path."""
    asked: list[str] = field(default_factory=list)
    address: str = ""

    def url(self, path: str) -> str:
        return f"http://{self.address}{path}"

    @property
    def urls(self) -> set[str]:
        return {self.url(path) for path in self.pages}


def article(number: int, size: int = 0) -> bytes:
    """A page unlike all others, of at least ``size`` bytes."""
    body = f"<html><body><p>Page {number} of the site, 第{number}页</p></body></html>".encode()
    return body + b" " * (size - len(body))


def numbered(count: int, size: int = 0) -> dict[str, bytes]:
    return {f"/page/{number}": article(number, size) for number in range(count)}


@contextmanager
def serve(site: Site) -> Iterator[Site]:
    """The site on a free port of this machine."""
    counting = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with counting:
                site.asked.append(self.path)
                number = len(site.asked)
            site.before(number)
            site.before_page.get(self.path, lambda: None)()
            answer = site.others.get(self.path) or self._page()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def _page(self) -> Answer:
            links = "".join(f'<a href="{path}">{path}</a>' for path in (*site.pages, *site.others))
            body = links.encode() if self.path == "/" else site.pages.get(self.path)
            return Answer(404 if body is None else 200, {"Content-Type": "text/html; charset=utf-8"}, body or b"")

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.address = f"127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Ended(NamedTuple):
    """A crawl that is over; ``stats`` is empty if the crawl did not start."""

    returncode: int
    log: str
    stats: dict[str, Any]

    @property
    def dedup(self) -> dict[str, Any]:
        """The plugin's stats by their names without ``dedup/``, without stats of time."""
        ours = {name.removeprefix("dedup/"): value for name, value in self.stats.items() if name.startswith("dedup/")}
        return {name: value for name, value in ours.items() if not name.startswith(("waited_", "buffered_"))}


class Crawl:
    """A running spider. Its log can be read while it runs."""

    def __init__(self, folder: Path, spider: str, start: str, settings: Mapping[str, Any], cwd: Path = ROOT) -> None:
        self._log = folder / "crawl.log"
        self._stats = folder / "stats.json"
        plugin = {} if {"ADDONS", "ITEM_PIPELINES"} & set(settings) else {"ADDONS": {"crawler_plugin.Addon": 500}}
        ours = {"TELNETCONSOLE_ENABLED": False, "LOG_LEVEL": "DEBUG", "DEDUP_SPOOL": str(folder / "pages.spool")}
        told = {"START": start, **ours, **plugin, **settings}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.crawler_plugin.spiders", spider, json.dumps(told), str(self._stats)],
                cwd=cwd,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def wait_for_log(self, pattern: str) -> None:
        """Wait until the log has a match."""
        deadline = time.monotonic() + DEADLINE_S
        while not re.search(pattern, self.log):
            assert self._process.poll() is None, f"the crawl ended without {pattern!r}:\n{self.log}"
            assert time.monotonic() < deadline, f"no {pattern!r} in {DEADLINE_S} s:\n{self.log}"
            time.sleep(0.05)

    @property
    def pid(self) -> int:
        return self._process.pid

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self, within_s: float = DEADLINE_S) -> Ended:
        """Wait for the end of the crawl."""
        try:
            returncode = self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise AssertionError(f"the crawl does not end:\n{self.log}") from None
        stats = json.loads(self._stats.read_text(encoding="utf-8")) if self._stats.exists() else {}
        kinds = {"unread": "FIELD", "dropped": "REASON", "would_drop": "REASON", "feedback_by": "TEMPLATE"}
        ours = {
            re.sub(
                "^dedup/(unread|dropped|would_drop|feedback_by)/.*",
                lambda found: f"dedup/{found[1]}/{kinds[found[1]]}",
                name,
            )
            for name in stats
            if name.startswith("dedup/")
        }
        assert ours <= set(STATS), "a stat that is not documented"
        return Ended(returncode, self.log, stats)


def crawl(folder: Path, site: Site, spider: str = "site", /, **settings: Any) -> Ended:
    """Crawl the site from its start page to the end."""
    return Crawl(folder, spider, site.url("/"), settings).end()


def to_kafka(broker: str, prefix: str) -> dict[str, Any]:
    """The settings that a crawl needs to reach the broker."""
    return {"DEDUP_BOOTSTRAP_SERVERS": broker, "DEDUP_TOPIC_PREFIX": prefix}


def to_nobody(prefix: str) -> dict[str, Any]:
    """The same for a broker that does not exist."""
    return to_kafka(f"127.0.0.1:{free_port()}", prefix) | IMPATIENT


def make_topic(broker: str, prefix: str, *, partitions: int = 4, max_message_bytes: int = 8 * 1024 * 1024) -> None:
    specs = topic_specs(prefix=prefix, partitions=partitions, max_message_bytes=max_message_bytes)
    create_topics({"bootstrap_servers": [broker]}, [spec for spec in specs if spec.topic in OF_CRAWLS], 1)


class Record(NamedTuple):
    partition: int
    key: str
    value: bytes
    meta: PageMeta
    headers: dict[str, bytes]


def records(broker: str, prefix: str) -> list[Record]:
    """All records on the topic ``pages``."""
    consumer = KafkaConsumer(bootstrap_servers=[broker], enable_auto_commit=False, fetch_max_bytes=64 * 1024 * 1024)
    try:
        partitions = [TopicPartition(prefix + PAGES, p) for p in consumer.partitions_for_topic(prefix + PAGES)]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        consumer.seek_to_beginning(*partitions)
        found: list[Record] = []
        deadline = time.monotonic() + DEADLINE_S
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            assert time.monotonic() < deadline
            for batch in consumer.poll(timeout_ms=500).values():
                found += [
                    Record(r.partition, r.key.decode(), r.value, PageMeta.from_headers(r.headers), dict(r.headers))
                    for r in batch
                ]
        return found
    finally:
        consumer.close()


def marks(broker: str, prefix: str) -> dict[tuple[str, str | None], list[int | None]]:
    """The marks on the topic ``jobs``: how many pages each run has published, by job and spider, in ascending order."""
    outputs = read_outputs({"bootstrap_servers": [broker]}, prefix, [JOBS])
    last = {output.key: output for output in outputs if isinstance(output, JobMark)}
    found: dict[tuple[str, str | None], list[int | None]] = {}
    for mark in sorted(last.values(), key=lambda mark: mark.pages or 0):
        found.setdefault((mark.job, mark.spider), []).append(mark.pages)
    return found


def published(broker: str, prefix: str, site: Site) -> Counter[str]:
    """How often each path is on the topic."""
    return Counter(record.meta.url.removeprefix(site.url("")) for record in records(broker, prefix))
