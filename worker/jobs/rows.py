"""What became of a page of a job, as a line or a row."""

from __future__ import annotations

from contextlib import suppress
from typing import Literal, Self

import msgspec

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.outcomes import VerdictRecord
from crawler_plugin.wire.urls import canonical_url, without_userinfo
from worker.jobs.account import DEAD
from worker.stream.kafka.output_reader import DeadLetter


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict without what only workers need, or why a page is a dead letter: ``reason`` and ``detail`` say it.

    ``partition`` and ``offset`` are the page's in ``pages``; the other fields are those of a verdict.
    """

    url: str
    verdict: Literal["unique", "duplicate", "refetch", "dead"]
    duplicate_of: str | None = None
    distance: int | None = None
    similarity: float | None = None
    reason: str
    detail: str = ""
    language: str = ""
    tokens: int = 0
    previous: Literal["same", "changed", "none"] | None = None
    changed: float | None = None
    suspect: bool = False
    status: int | None = None
    fetched: int | None = None
    spider: str | None = None
    job: str | None = None
    url_as_given: str | None = None
    fingerprint: str | None = None
    partition: int
    offset: int

    @classmethod
    def of(cls, output: VerdictRecord | DeadLetter) -> Self:
        """That of a record."""
        partition, offset = output.source
        if isinstance(output, DeadLetter):
            url = given = None if output.url is None else without_userinfo(output.url)
            with suppress(ValueError):
                url = canonical_url(given or "")
            return cls(
                url=url or "",
                verdict=DEAD,
                reason=output.reason,
                detail=output.detail,
                spider=output.spider,
                job=output.job,
                url_as_given=given,
                partition=partition,
                offset=offset,
            )
        same = {name: getattr(output, name) for name in cls.__struct_fields__ if name in output.__struct_fields__}
        return cls(**same, partition=partition, offset=offset)

    def encode(self) -> bytes:
        """As a line of JSON, with its end."""
        return msgspec.json.encode(self) + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> Self:
        """What ``encode`` wrote.

        Raises:
            UnreadableRecord: anything else.
        """
        try:
            return msgspec.json.decode(line, type=cls)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UnreadableRecord(f"not a row of a job: {error}") from error
