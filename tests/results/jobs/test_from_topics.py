"""One job's rows, from topics on the real broker that hold several jobs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kafka import KafkaProducer
from msgspec.structs import replace

from crawler_plugin.wire.outcomes import JobMark, dead_letter_headers
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.topics import DEAD_LETTERS, JOBS, VERDICTS, topic_specs
from tests.wire.test_outcomes import VERDICT as COPY
from worker.config import KafkaSettings
from worker.results.jobs.account import JobAccount
from worker.results.jobs.from_topics import TOPICS, JobTopics
from worker.stream.kafka.connection import Options, client_options
from worker.stream.kafka.topic_admin import create_topics

pytestmark = pytest.mark.cluster


class Writing:
    """Writes the records that workers and crawls leave."""

    def __init__(self, options: Options, prefix: str) -> None:
        self._producer = KafkaProducer(**options)
        self._prefix = prefix

    def verdict(self, number: int, job: str, spider: str = "news") -> None:
        record = replace(COPY, url=f"http://{job}.example/{number}", job=job, spider=spider, source=(0, number))
        self._send(VERDICTS, record.encode(), record.crawl_headers())

    def dead(self, number: int, job: str) -> None:
        said = PageMeta(url=f"http://{job}.example/{number}", job=job, spider="news").to_headers()
        self._send(DEAD_LETTERS, b"%PDF", [*said, *dead_letter_headers("not-text", "", (0, number))])

    def mark(self, job: str, pages: int | None, spider: str = "news", run: str = "1") -> None:
        mark = JobMark(job=job, spider=spider, run=run, pages=pages)
        self._send(JOBS, mark.encode(), mark.to_headers(), mark.key)

    def of_another_version(self) -> None:
        """A verdict of another job, which must not be decoded: decoding it would end the program."""
        self._send(VERDICTS, b"not JSON", [("job", b"elsewhere")])

    def _send(self, topic: str, value: bytes, headers: list[tuple[str, bytes]], key: bytes | None = None) -> None:
        self._producer.send(self._prefix + topic, value=value, key=key, headers=headers).get(timeout=30)

    def close(self) -> None:
        self._producer.close(timeout=10)


@pytest.fixture
def options(broker: str, topic_prefix: str) -> Options:
    made = client_options(KafkaSettings(bootstrap_servers=broker))
    specs = topic_specs(prefix=topic_prefix, partitions=2, shards=1)
    create_topics(made, [spec for spec in specs if spec.topic in TOPICS], 1)
    return made


@pytest.fixture
def writing(options: Options, topic_prefix: str) -> Iterator[Writing]:
    made = Writing(options, topic_prefix)
    yield made
    made.close()


def test_only_the_job_and_the_spider_that_were_asked_for_are_read(
    options: Options, topic_prefix: str, writing: Writing
) -> None:
    writing.of_another_version()
    for number in range(3):
        writing.verdict(number, "one")
        writing.verdict(number, "two", spider="shop")
    writing.verdict(3, "two")
    writing.dead(4, "two")
    writing.mark("two", None)
    writing.mark("two", 2)
    writing.mark("two", 3, spider="shop")
    for spider, published, urls in (
        (None, 5, [0, 1, 2, 3, 4]),
        ("shop", 3, [0, 1, 2]),
        ("news", 2, [3, 4]),
        ("nobody", None, []),
    ):
        account = JobAccount("job two")
        rows = list(JobTopics(options, topic_prefix, "", "two", spider).verdicts(account, follow=False))
        assert sorted(row.url for row in rows) == [f"http://two.example/{number}" for number in urls]
        assert (account.judged, account.published) == (len(urls), published)
        assert account.complete is (published is not None)


def test_who_follows_waits_for_the_last_verdict_and_the_end_of_the_crawl(
    options: Options, topic_prefix: str, writing: Writing
) -> None:
    writing.mark("one", None)
    writing.verdict(0, "one")
    account = JobAccount("job one")
    found = JobTopics(options, topic_prefix, "", "one").verdicts(account, follow=True)
    assert next(found).source == (0, 0)
    writing.verdict(1, "one")
    assert next(found).source == (0, 1)
    writing.mark("one", 3)
    writing.verdict(2, "one")
    assert next(found).source == (0, 2)
    assert next(found, None) is None, "it ends by itself"
