"""Results for other programs: verdicts, marks of jobs and findings as JSON, dead letters by their headers.

``crawler_plugin.wire.messages`` says on which topic each result is, and under which key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Final, Literal, Self

import msgspec

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.messages import Order
from crawler_plugin.wire.page_headers import Int64
from crawler_plugin.wire.urls import canonical_url, without_userinfo


class JsonRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record whose value is one JSON object."""

    called: ClassVar[str]
    """The record's name in errors."""

    def encode(self) -> bytes:
        """UTF-8 JSON, one object."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, value: bytes | None) -> Self:
        """Read the output of ``encode``.

        Raises:
            UnreadableRecord: anything else.
        """
        try:
            return msgspec.json.decode(value or b"", type=cls)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise UnreadableRecord(f"not a {cls.called}: {error}") from error


NOWHERE: Final = (-1, -1)
"""The place of a page that is not on a topic."""
ON_TOPIC: Final = (
    "url",
    "verdict",
    "duplicate_of",
    "distance",
    "similarity",
    "reason",
    "fingerprint",
    "order",
    "source",
    "fetched",
    "scheme",
    "url_as_given",
    "spider",
    "job",
    "status",
    "language",
    "tokens",
    "previous",
    "changed",
    "suspect",
)
"""Fields of a record of ``verdicts``."""


class Verdict(JsonRecord, frozen=True, kw_only=True):
    """The verdict on a page. ``encode`` and ``decode`` are for the topic ``verdicts``, with the fields ``ON_TOPIC``.

    ``verdict`` is ``unique``, ``duplicate``, ``refetch`` (near to an earlier fetch of the same URL), or ``dead``: the
    page could not be read, and no later page is compared with it. ``url`` is the canonical URL; for a dead page without
    one it is the URL as given, or empty where there is none. ``reason`` is the rule that applies, or why the page is
    dead, with a ``detail`` for a reader.

    ``duplicate_of`` is the URL of the earlier survivor that the page is near to, for a refetch its own. ``distance`` is
    the number of different bits between the two fingerprints, ``similarity`` the estimated share of pairs of
    neighbouring words that both pages have, 0 to 1; each is None where it is not known. ``fingerprint`` is 16 hex
    digits, None for a page of too few features. ``language`` is a label, empty where it is not known; ``tokens`` counts
    words of its text.

    ``previous`` says whether the text equals the text of the latest survivor of this URL, and ``changed`` is the
    estimated share of the page's pairs of neighbouring words that are new, 0 to 1, None where it is not known. Both are
    None while ``near.track_changes`` is off.

    ``suspect`` says of a duplicate that its original was known to take a template whose titles all differ
    (``worker.verdict.suspects``): the page may not be a duplicate. A program that drops duplicates keeps it.

    ``order`` is the place of its claim among all claims, ``source`` partition and offset in ``pages``, ``scheme`` 16
    hex digits for everything that verdicts depend on. ``url_as_given``, ``fetched`` (milliseconds since 1970 UTC),
    ``spider``, ``job`` and ``status`` come from the crawler (``PageMeta``), None where it gave none.

    The following fields are on no topic. ``file`` and ``offset`` are the place of a page in an archive
    (``worker.scan.inputs.records.RecordPlace``). ``id`` is the owner's name for the page, and ``duplicate_of_id`` the
    name of the survivor. ``canonical`` is the URL that the page itself names as the URL of its content (``<link
    rel="canonical">`` or ``og:url``, absolute), None where it names none or was not searched for one. ``text_hash`` is
    16 hex digits, ``sketch`` and ``bands`` are 64 each or none: with ``fingerprint`` they are all that
    ``worker.fingerprint.near`` reads of a page. ``title_hash`` is 8 hex digits for the title without the name of its
    site, empty where the page has no title. ``number`` is how many pages one process has judged before this one,
    ``duplicate_of_number`` how many before the survivor.
    """

    called = "verdict record"

    url: str
    verdict: Literal["unique", "duplicate", "refetch", "dead"]
    duplicate_of: str | None = None
    distance: int | None = None
    similarity: float | None = None
    reason: str = ""
    detail: str = ""
    fingerprint: str | None = None
    order: Order = NOWHERE
    source: tuple[int, int] = NOWHERE
    fetched: int | None = None
    scheme: str = ""
    url_as_given: str | None = None
    spider: str | None = None
    job: str | None = None
    status: Int64 | None = None
    language: str = ""
    tokens: int = 0
    previous: Literal["same", "changed", "none"] | None = None
    changed: float | None = None
    suspect: bool = False
    file: str = ""
    offset: int = 0
    id: str | None = None
    duplicate_of_id: str | None = None
    canonical: str | None = None
    text_hash: str = ""
    sketch: str = ""
    bands: str = ""
    title_hash: str = ""
    number: int | None = None
    duplicate_of_number: int | None = None

    @property
    def kind(self) -> str:
        """``verdict``, under the name that programs that use ``worker.local`` have read so far."""
        return self.verdict

    def having(self, **fields: Any) -> Self:
        """The same verdict with these fields."""
        return msgspec.structs.replace(self, **fields)

    def row(self, names: Iterable[str]) -> dict[str, Any]:
        """These fields, in this order."""
        return {name: getattr(self, name) for name in names}

    def encode(self) -> bytes:
        """UTF-8 JSON, one object of the fields ``ON_TOPIC``."""
        return msgspec.json.encode(self.row(ON_TOPIC))

    @classmethod
    def decode(cls, value: bytes | None) -> Self:
        """Read the output of ``encode``.

        Raises:
            UnreadableRecord: anything else, and a verdict without the place of its page.
        """
        verdict = super().decode(value)
        if NOWHERE in (verdict.order, verdict.source):
            raise UnreadableRecord(f"not a {cls.called}: it has no order or no source")
        return verdict

    @classmethod
    def of_dead_letter(cls, headers: Mapping[str, str]) -> Self:
        """The verdict of a dead letter with these headers, of which ``url``, ``spider`` and ``job`` came with its page.

        Raises:
            KeyError, ValueError: they are not the headers of a dead letter.
        """
        partition, offset = headers["dedup-source"].split(":")
        url = given = without_userinfo(headers["url"]) if "url" in headers else None
        with suppress(ValueError):
            url = canonical_url(given or "")
        return cls(
            url=url or "",
            verdict="dead",
            reason=headers["dedup-reason"],
            detail=headers["dedup-detail"],
            source=(int(partition), int(offset)),
            url_as_given=given,
            spider=headers.get("spider"),
            job=headers.get("job"),
        )

    def crawl_headers(self) -> list[tuple[str, bytes]]:
        """Job and spider of the page, as on ``pages``: a program that reads one crawl's verdicts need not decode all
        others."""
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


SUM: Final = "sum"
"""The header ``kind`` of a record of ``jobs`` that is not a mark."""


class JobMark(JsonRecord, frozen=True, kw_only=True):
    """A record of ``jobs``, as JSON: how many pages of a job one run has put on ``pages``.

    A run is a process that publishes: a crawl, one that goes on with it, or one that sends a spool. Each run has
    records of its own (``key``), and a job has as many pages as its runs together: so a run does not have to read the
    records of others, and when two runs end at the same time neither count is lost. ``pages`` is None from the run's
    beginning to its end.
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


class JobSum(JsonRecord, frozen=True, kw_only=True):
    """A record of ``jobs``, as JSON: a worker's counts of verdicts on a job's pages, written with the verdicts
    themselves.

    Each worker has records of its own, whose names are in ``part``; of the same ``key`` the last record counts, and the
    job's numbers are the sum over all parts, in ``generation``. ``pages`` and ``body_bytes`` (of their bodies as they
    came) are by verdict, as in ``Verdict``; ``reasons`` are by ``verdict: reason``.
    """

    called = "sum of a job"

    job: str
    spider: str | None
    generation: str
    part: str
    pages: dict[str, int]
    body_bytes: dict[str, int]
    reasons: dict[str, int]

    @property
    def key(self) -> bytes:
        """The later record of the same key counts."""
        return "\n".join((self.job, self.spider or "", SUM, self.part)).encode()

    def to_headers(self) -> list[tuple[str, bytes]]:
        """Job and spider as a mark has them, and the header that tells a sum from a mark."""
        pairs = (("spider", self.spider), ("job", self.job), ("kind", SUM))
        return [(name, value.encode()) for name, value in pairs if value is not None]


PREFERRED: Final = "preferred"
SOFT_404: Final = "soft-404"
SUSPECT: Final = "suspect"
NO_PAGE_HEADER: Final = ("dedup-finding", SOFT_404.encode())
"""On ``deduplicated``, for a page whose original was found not to be a page."""


class SurvivorFinding(JsonRecord, frozen=True, kw_only=True):
    """A record of ``findings``, as JSON: a finding about a survivor from its copies (``worker.verdict.findings``).

    ``url`` and ``order`` are the survivor's; ``copies`` is their number so far. In a finding of the kind ``preferred``,
    ``page`` is the URL of the later page that is canonical, and ``named_by`` says which page named it: the
    ``survivor``, or a ``copy``. In one of the kind ``soft-404``, ``places`` is the number of unrelated addresses of the
    host with this text. In one of the kind ``suspect`` (``worker.verdict.suspects``), ``copies`` counts copies of one
    template whose titles differ, and ``page`` is the last of them.
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
        """The same finding with another scheme, in 16 hex digits."""
        return msgspec.structs.replace(self, scheme=scheme)

    def to_headers(self) -> list[tuple[str, bytes]]:
        """The kind: a program that waits for one kind need not decode the others."""
        return [("kind", self.kind.encode())]


def dead_letter_headers(reason: str, detail: str, source: tuple[int, int]) -> list[tuple[str, bytes]]:
    """The headers that a dead letter has in addition to those of its page; ``source`` is (partition, offset) in
    ``pages``."""
    partition, offset = source
    return [
        ("dedup-reason", reason.encode()),
        ("dedup-detail", detail.encode()),
        ("dedup-source", f"{partition}:{offset}".encode()),
    ]
