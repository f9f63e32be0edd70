"""Lines of ``verdicts.jsonl``, what became of a page of an archive, and of ``dead-letters.jsonl``, why of nothing."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from crawler_plugin.wire.errors import UnreadableRecord

VERDICTS: Final = "verdicts.jsonl"
DEAD_LETTERS: Final = "dead-letters.jsonl"
"""What the files are called in the folder that a scan writes to."""


class VerdictRow(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a page.

    ``file`` and ``offset`` say where it stands (``worker.scan.inputs.records.RecordPlace``). ``duplicate_of`` is the
    URL of the earlier survivor that it is near to and ``duplicate_of_id`` that page's id, where it has one.
    ``distance`` is in bits; ``similarity`` the estimated share of neighbouring words in common, 0 to 1. ``reason`` is
    the rule that holds, or why the page is dead, with the ``detail``. ``fetched`` is in milliseconds since 1970 UTC.
    ``fingerprint`` and ``text_hash`` are 16 hex digits, ``sketch`` and ``bands`` 64 each or none: all that ``near``
    asks of a page. ``canonical`` is the URL that the page itself names as that of its content (``<link
    rel="canonical">`` or ``og:url``, absolute), None where it names none or nobody has looked. ``previous``,
    ``changed``, ``suspect`` and ``title_hash`` are those of ``worker.local.Verdict``.
    """

    file: str
    offset: int
    id: str
    url: str
    verdict: Literal["unique", "duplicate", "refetch", "dead"]
    duplicate_of: str | None = None
    duplicate_of_id: str | None = None
    distance: int | None = None
    similarity: float | None = None
    reason: str = ""
    detail: str = ""
    language: str = ""
    tokens: int = 0
    fetched: int | None = None
    spider: str | None = None
    fingerprint: str | None = None
    text_hash: str = ""
    sketch: str = ""
    bands: str = ""
    canonical: str | None = None
    previous: Literal["same", "changed", "none"] | None = None
    changed: float | None = None
    suspect: bool = False
    title_hash: str = ""

    def encode(self) -> bytes:
        """As a line of JSON, with its end."""
        return msgspec.json.encode(self) + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> VerdictRow:
        """What ``encode`` wrote.

        Raises:
            UnreadableRecord: anything else.
        """
        try:
            return msgspec.json.decode(line, type=cls)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UnreadableRecord(f"not a verdict on a page: {error}") from error


class DeadRow(msgspec.Struct, frozen=True, kw_only=True):
    """A page that could not be fingerprinted, or a record that no page could be read from: that has no URL, and an id
    only where it could be read."""

    file: str
    offset: int
    id: str | None = None
    url: str | None = None
    reason: str
    detail: str

    @classmethod
    def of(cls, row: VerdictRow) -> DeadRow:
        """That of a page whose verdict is ``dead``."""
        return cls(file=row.file, offset=row.offset, id=row.id, url=row.url, reason=row.reason, detail=row.detail)

    def encode(self) -> bytes:
        """As a line of JSON, with its end."""
        return msgspec.json.encode(self) + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> DeadRow:
        """What ``encode`` wrote.

        Raises:
            UnreadableRecord: anything else.
        """
        try:
            return msgspec.json.decode(line, type=cls)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UnreadableRecord(f"not a dead letter: {error}") from error
