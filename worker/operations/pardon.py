"""Makes a page survive that was wrongly called a duplicate: it goes to ``pages`` once more, with a header that says so.

It is claimed, decided and committed like any page that comes now, so all workers reach the same result, and the order
of the pages says when. Nothing that was judged before changes. A page that is pardoned twice is a refetch the second
time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from crawler_plugin.wire.errors import CheckFailed, Unavailable, UnreadableRecord
from crawler_plugin.wire.outcomes import JobMark, Verdict
from crawler_plugin.wire.page_headers import PARDON_HEADER, Headers, PageMeta
from crawler_plugin.wire.topics import JOBS, PAGES
from crawler_plugin.wire.urls import canonical_url
from worker.operations.repair import Place
from worker.stream.log import Record, read_to_end
from worker.verdict.decide import DUPLICATE

_AGAIN: Final = "fetch it again with dedup_pardon True in the request's meta, or in its item"


def last_duplicate(url: str, verdicts: Iterable[Verdict]) -> Verdict:
    """The last of the verdicts on a URL, by the order of all pages.

    Raises:
        CheckFailed: there is no verdict, or it is not ``duplicate``.
    """
    last = max(verdicts, key=lambda verdict: verdict.order, default=None)
    if last is None:
        raise CheckFailed(
            f"there is no verdict on {url}, or none any more: check the spelling and --spider, or {_AGAIN}"
        )
    if last.verdict != DUPLICATE:
        whose = f" of spider {last.spider}" if last.spider else ""
        raise CheckFailed(
            f"the last verdict on {url}, on page {_place(last)}{whose}, is {last.verdict} ({last.reason}), so there is "
            "nothing to pardon; if another spider's page is meant, name it with --spider"
        )
    return last


def send_again(place: Place, verdict: Verdict, run: str) -> tuple[int, int]:
    """Put the page of a verdict on ``pages`` once more; returns its new partition and offset.

    ``run`` is a name that no other process has, under which the page counts for its job.

    Raises:
        CheckFailed: ``pages`` no longer holds it.
        Unavailable: the broker did not acknowledge it; it may have been written all the same.
    """
    partition, offset = verdict.source
    record = _page_at(place, partition, offset)
    try:
        if record is None or record.value is None or record.unreadable is not None or record.oversize:
            raise UnreadableRecord("it passed the topic's retention")
        meta = PageMeta.from_headers(record.headers)
        if canonical_url(meta.url) != verdict.url:
            raise UnreadableRecord("the topic was made anew")
    except (UnreadableRecord, ValueError) as error:
        raise CheckFailed(f"{PAGES} does not hold page {_place(verdict)} any more ({error}): {_AGAIN}") from error
    _, end = place.bounds(PAGES, partition)
    key, headers = record.key or verdict.url.encode(), pardoning(record.headers)
    place.write([(PAGES, partition, key, record.value, headers)])
    if meta.job is not None:
        mark = JobMark(job=meta.job, spider=meta.spider, run=run, pages=1)
        place.write([(JOBS, 0, mark.key, mark.encode(), mark.to_headers())])
    sent = (key, record.value, headers)
    for one in read_to_end(place.reader(PAGES, partition, end), place.bounds(PAGES, partition).end):
        if (one.key, one.value, list(one.headers)) == sent:
            return partition, one.offset
    raise Unavailable(f"the page is not on {PAGES} though the broker has taken it: find out who removes records there")


def pardoning(headers: Headers) -> list[tuple[str, bytes]]:
    """The headers of a page, with the one that pardons it."""
    return [*((name, value) for name, value in headers if name != PARDON_HEADER), (PARDON_HEADER, b"yes")]


def _page_at(place: Place, partition: int, offset: int) -> Record | None:
    begin, end = place.bounds(PAGES, partition)
    if not begin <= offset < end:
        return None
    return next(iter(read_to_end(place.reader(PAGES, partition, offset), offset + 1)), None)


def _place(verdict: Verdict) -> str:
    partition, offset = verdict.source
    return f"{partition}:{offset}"
