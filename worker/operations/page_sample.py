"""Checks records of ``pages`` against their contract, ``docs/reference/pages.asyncapi.yaml``, as workers read them.

It reports what makes a record a dead letter, and also what costs a page only a header: a producer's author would learn
of the second only from a counter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from crawler_plugin.wire.errors import PageError
from crawler_plugin.wire.messages import MOST_STATUS
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.topics import PAGES
from worker.stream.log import Readable, Record, read_to_end
from worker.stream.partition.fingerprint_pool import BAD_HEADERS, BAD_URL, NO_BODY, UNREADABLE, identity, page_of

_VALUE: Final = "value"
_SHOWN: Final = 60
"""Bytes of a header's value."""
_IN_UTF8: Final = "send it in UTF-8"
_FORMS: Final = {
    "status": "send digits, such as 200",
    "fetched": "send milliseconds since 1970 UTC, or ISO 8601",
    "form": "send bytes or text, or leave it out",
}
"""The required content of headers that are more than a label."""
_DEAD: Final = {
    BAD_HEADERS: ("url", "send the page's URL as header url, in UTF-8"),
    BAD_URL: ("url", "send an absolute URL"),
    NO_BODY: (_VALUE, "send the page's bytes as value, an empty one for an empty page"),
    UNREADABLE: (_VALUE, "look at how your client writes and compresses records"),
}
"""The part of a record that keeps it from being a page, and what to do."""
_TOO_LARGE: Final = _VALUE, "send fewer bytes of the page, or raise topics.max_message_bytes"


class PageFault(NamedTuple):
    """What is wrong with a record, where in it (a header's name, or ``value``), and what its producer should do."""

    partition: int
    offset: int
    where: str
    what: str
    move: str

    def __str__(self) -> str:
        header = self.where if self.where == _VALUE else f"header {self.where!r}"
        return f"partition {self.partition}, offset {self.offset}, {header}: {self.what}; {self.move}"


def faults_of(record: Record, most_bytes: int) -> Iterator[PageFault]:
    """Everything that is wrong with a record; for a record that can be no page, why. At most ``most_bytes`` may be
    passed on."""

    def fault(where: str, what: str, move: str) -> PageFault:
        return PageFault(record.partition, record.offset, where, what, move)

    try:
        meta, body = page_of(record, most_bytes)
        identity(meta.url)
    except PageError as error:
        where, move = _DEAD.get(error.reason, _TOO_LARGE)
        yield fault(where, f"not a page but a dead letter ({error.reason}: {error.detail})", move)
        return
    given = dict(record.headers)
    for name in PageMeta.read(record.headers)[1]:
        yield fault(name, f"left out, {given[name][:_SHOWN]!r} cannot be read", _FORMS.get(name, _IN_UTF8))
    if meta.status is not None and not 0 <= meta.status < MOST_STATUS:
        yield fault("status", f"left out, {meta.status} is no HTTP status", _FORMS["status"])
    for name in given:
        meant = name.strip().lower().replace("-", "_")
        if meant in PageMeta.__struct_fields__ and meant not in given:
            yield fault(name, "workers do not read it", f"call it {meant}")
    if meta.form == "text":
        try:
            body.decode()
        except UnicodeDecodeError as error:
            yield fault(_VALUE, f"form is text, but it is not UTF-8 ({error.reason} at byte {error.start})", _IN_UTF8)


def last_records(broker: Readable, partitions: int, count: int) -> Iterator[Record]:
    """About ``count`` records, the last of each partition."""
    of_each = -(-count // partitions)
    for partition in range(partitions):
        begin, end = broker.bounds(PAGES, partition)
        yield from read_to_end(broker.reader(PAGES, partition, max(begin, end - of_each)), end)
