"""The last records of pages on the topic ``pages``."""

from __future__ import annotations

from collections.abc import Callable, Collection

from crawler_plugin.wire.errors import UnreadableRecord, UsageError
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.topics import PAGES, topic_name
from crawler_plugin.wire.urls import canonical_url
from worker.compose.topology import cluster
from worker.config import Settings
from worker.stream.log import Readable, Reader, Record, read_to_end


def newest_pages(
    broker: Readable, partitions: int, urls: Collection[str], last: int, tell: Callable[[int, int], None]
) -> dict[str, Record]:
    """For each of these canonical URLs the record that came last, if it is among the last ones of a partition.

    Of each partition no more than the ``last`` offsets are read. ``tell`` gets now and then how many offsets were
    passed, and how many there are to pass.
    """
    bounds = [broker.bounds(PAGES, partition) for partition in range(partitions)]
    begins = [max(one.begin, one.end - last) for one in bounds]
    whole = sum(one.end - begin for one, begin in zip(bounds, begins, strict=True))
    found: dict[str, Record] = {}
    passed = 0
    for partition, (begin, (_, end)) in enumerate(zip(begins, bounds, strict=True)):
        reader = broker.reader(PAGES, partition, begin)

        def look(reader: Reader = reader, before: int = passed - begin) -> None:
            tell(before + reader.position, whole)

        for record in read_to_end(reader, end, look):
            url = _canonical(record)
            if url in urls and (url not in found or found[url].timestamp <= record.timestamp):
                found[url] = record
        passed += end - begin
    tell(passed, whole)
    return found


def _canonical(record: Record) -> str:
    """The URL of a page in our spelling, whatever spelling its spider uses; empty if it has none."""
    given = dict(record.headers).get("url") or record.key or b""
    try:
        return canonical_url(given.decode())
    except ValueError:
        return ""


def pages_of(
    settings: Settings, urls: tuple[str, str], last: int, tell: Callable[[int, int], None]
) -> list[tuple[bytes, PageMeta]]:
    """The last body and headers of two canonical URLs; ``last`` and ``tell`` as for ``newest_pages``.

    Raises:
        UsageError: one of them is not among the last pages of the topic, or cannot be read.
        Unavailable: no broker answers, or the topic is missing.
    """
    with cluster(settings) as broker:
        found = newest_pages(broker, settings.topics.partitions, urls, last, tell)
    return [_page(url, found.get(url), topic_name(settings.topics.prefix, PAGES), last) for url in urls]


def _page(url: str, record: Record | None, topic: str, last: int) -> tuple[bytes, PageMeta]:
    if record is None:
        raise UsageError(
            f"{url} is not among the last {last:,} records of each partition of {topic}: raise --last, or give a file"
        )
    where = f"{topic}[{record.partition}] at offset {record.offset}"
    try:
        if record.value is None or record.unreadable is not None or record.oversize:
            raise UnreadableRecord(record.unreadable or "it has no body, or is too large")
        return record.value, PageMeta.from_headers(record.headers).at(url)
    except UnreadableRecord as error:
        raise UsageError(f"{url} in {where} is no page: {error}; give a file") from error
