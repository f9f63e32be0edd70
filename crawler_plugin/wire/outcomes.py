"""What others read of what was found: verdicts, marks of jobs and findings as JSON, dead letters by their headers.

``crawler_plugin.wire.messages`` says on which topic each travels, and under which key.
"""

from __future__ import annotations

from typing import ClassVar, Final, Literal, Self

import msgspec

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.messages import Int64, Order


class JsonRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record whose value is one JSON object."""

    called: ClassVar[str]
    """What an error calls it."""

    def encode(self) -> bytes:
        """UTF-8 JSON, one object."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, value: bytes | None) -> Self:
        """What ``encode`` wrote.

        Raises:
            UnreadableRecord: anything else.
        """
        try:
            return msgspec.json.decode(value or b"", type=cls)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise UnreadableRecord(f"not a {cls.called}: {error}") from error


class VerdictRecord(JsonRecord, frozen=True, kw_only=True):
    """A record of ``verdicts``, as JSON. ``fingerprint`` is 16 hex digits; ``scheme`` is 16 hex digits.

    ``similarity`` is the estimated share of pairs of neighbouring words that the page and its original have in common,
    0 to 1; None where nothing tells.

    ``url_as_given``, ``spider``, ``job`` and ``status`` are what the crawler said of the page (``PageMeta``), None
    where it said nothing. ``language`` is a label, empty where it is not known; ``tokens`` counts words of its text.

    ``previous`` says whether the text is that of the latest survivor of this URL, and ``changed`` is the estimated
    share of the page's pairs of neighbouring words that are new, 0 to 1, None where nothing tells. Both are None where
    nobody looks (``near.track_changes``).

    ``suspect`` says of a duplicate that its original was known to take a template whose titles all differ
    (``worker.verdict.suspects``): perhaps it is none. Whoever drops duplicates keeps it.
    """

    called = "verdict record"

    url: str
    verdict: Literal["unique", "duplicate", "refetch"]
    duplicate_of: str | None
    distance: int | None
    similarity: float | None = None
    reason: str
    fingerprint: str | None
    order: Order
    source: tuple[int, int]
    fetched: int | None
    scheme: str
    url_as_given: str | None = None
    spider: str | None = None
    job: str | None = None
    status: Int64 | None = None
    language: str = ""
    tokens: int = 0
    previous: Literal["same", "changed", "none"] | None = None
    changed: float | None = None
    suspect: bool = False

    def crawl_headers(self) -> list[tuple[str, bytes]]:
        """Whose page it is, as on ``pages``: who reads one crawl's verdicts need not decode those of all others."""
        pairs = (("url", self.url_as_given), ("spider", self.spider), ("job", self.job))
        return [(name, value.encode()) for name, value in pairs if value is not None]

    def to_headers(self) -> list[tuple[str, bytes]]:
        """The verdict's headers on ``deduplicated``; a null value has none."""
        pairs = (
            ("dedup-verdict", self.verdict),
            ("dedup-duplicate-of", self.duplicate_of),
            ("dedup-distance", self.distance),
            ("dedup-reason", self.reason),
            ("dedup-suspect", "true" if self.suspect else None),
        )
        return [(name, str(value).encode()) for name, value in pairs if value is not None]


class JobMark(JsonRecord, frozen=True, kw_only=True):
    """A record of ``jobs``, as JSON: how many pages of a job one run has put on ``pages``.

    A run is a process that publishes: a crawl, one that goes on with it, or one that sends a spool. Each has records of
    its own (``key``), and a job has as many pages as its runs together: so nobody has to read what others have written
    before, and of two runs that end at once none is lost. ``pages`` is None from the run's beginning to its end.
    """

    called = "mark of a job"

    job: str
    spider: str | None
    run: str
    pages: int | None

    @property
    def key(self) -> bytes:
        """The later record of the same key counts."""
        return "\n".join((self.job, self.spider or "", self.run)).encode()

    def to_headers(self) -> list[tuple[str, bytes]]:
        """Job and spider under the names that they have on ``pages``."""
        pairs = (("spider", self.spider), ("job", self.job))
        return [(name, value.encode()) for name, value in pairs if value is not None]


PREFERRED: Final = "preferred"
SOFT_404: Final = "soft-404"
SUSPECT: Final = "suspect"
NO_PAGE_HEADER: Final = ("dedup-finding", SOFT_404.encode())
"""On ``deduplicated``, of a page whose original was found to be none."""


class SurvivorFinding(JsonRecord, frozen=True, kw_only=True):
    """A record of ``findings``, as JSON: what the copies of a survivor tell of it (``worker.verdict.findings``).

    ``url`` and ``order`` are the survivor's; ``copies`` were counted so far. Of the kind ``preferred``, ``page`` is the
    URL of the later page that is canonical, and ``named_by`` says who named it: the ``survivor``, or a ``copy``. Of the
    kind ``soft-404``, ``places`` is at how many unrelated addresses of the host the text was found. Of the kind
    ``suspect`` (``worker.verdict.suspects``), ``copies`` are those of one template whose titles differ, and ``page`` is
    the last of them.
    """

    called = "finding"

    kind: Literal["preferred", "soft-404", "suspect"]
    url: str
    order: Order
    copies: int
    page: str | None = None
    named_by: Literal["survivor", "copy"] | None = None
    places: int | None = None
    scheme: str = ""

    def of_scheme(self, scheme: str) -> SurvivorFinding:
        """The same of another scheme, in 16 hex digits."""
        return msgspec.structs.replace(self, scheme=scheme)

    def to_headers(self) -> list[tuple[str, bytes]]:
        """The kind: who waits for one kind need not decode the other."""
        return [("kind", self.kind.encode())]


def dead_letter_headers(reason: str, detail: str, source: tuple[int, int]) -> list[tuple[str, bytes]]:
    """The headers that a dead letter has besides those of its page; ``source`` is (partition, offset) in ``pages``."""
    partition, offset = source
    return [
        ("dedup-reason", reason.encode()),
        ("dedup-detail", detail.encode()),
        ("dedup-source", f"{partition}:{offset}".encode()),
    ]
