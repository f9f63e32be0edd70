"""What others read of what was found: verdicts, marks of jobs and findings as JSON, dead letters by their headers.

``crawler_plugin.wire.messages`` says on which topic each travels, and under which key.
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


NOWHERE: Final = (-1, -1)
"""The place of a page that stands on no topic."""
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
    """What became of a page. ``encode`` and ``decode`` are those of the topic ``verdicts``, which has ``ON_TOPIC``.

    ``verdict`` is ``unique``, ``duplicate``, ``refetch`` (near to an earlier fetch of the same URL), or ``dead``: the
    page could not be read, and no later page is compared with it. ``url`` is the canonical one; of a dead page the one
    that was given where that is none, and empty where it has none. ``reason`` is the rule that holds, or why the page
    is dead, with a ``detail`` for people.

    ``duplicate_of`` is the URL of the earlier survivor that the page is near to, for a refetch its own. ``distance`` is
    the number of different bits between the two fingerprints, ``similarity`` the estimated share of pairs of
    neighbouring words that the two have in common, 0 to 1; each is None where nothing tells. ``fingerprint`` is 16 hex
    digits, None for a page of too few features. ``language`` is a label, empty where it is not known; ``tokens`` counts
    words of its text.

    ``previous`` says whether the text is that of the latest survivor of this URL, and ``changed`` is the estimated
    share of the page's pairs of neighbouring words that are new, 0 to 1, None where nothing tells. Both are None where
    nobody looks (``near.track_changes``).

    ``suspect`` says of a duplicate that its original was known to take a template whose titles all differ
    (``worker.verdict.suspects``): perhaps it is none. Whoever drops duplicates keeps it.

    ``order`` is the place of its claim among all, ``source`` partition and offset in ``pages``, ``scheme`` 16 hex
    digits for all that verdicts depend on. ``url_as_given``, ``fetched`` (milliseconds since 1970 UTC), ``spider``,
    ``job`` and ``status`` are what the crawler said of the page (``PageMeta``), None where it said nothing.

    What follows is on no topic. ``file`` and ``offset`` say where a page of an archive stands
    (``worker.scan.inputs.records.RecordPlace``). ``id`` is what its owner calls the page, and ``duplicate_of_id`` what
    the survivor was called. ``canonical`` is the URL that the page itself names as that of its content (``<link
    rel="canonical">`` or ``og:url``, absolute), None where it names none or nobody has looked. ``text_hash`` is 16 hex
    digits, ``sketch`` and ``bands`` are 64 each or none: with ``fingerprint`` all that ``worker.fingerprint.near`` asks
    of a page. ``title_hash`` is 8 hex digits for the title without the name of its site, empty where it has none.
    ``number`` is how many pages one process has judged before this one, ``duplicate_of_number`` how many before the
    survivor.
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
        """``verdict``, by the name under which programs that use ``worker.local`` have read it so far."""
        return self.verdict

    def having(self, **fields: Any) -> Self:
        """The same, and these fields."""
        return msgspec.structs.replace(self, **fields)

    def row(self, names: Iterable[str]) -> dict[str, Any]:
        """These fields, in this order."""
        return {name: getattr(self, name) for name in names}

    def encode(self) -> bytes:
        """UTF-8 JSON, one object of the fields ``ON_TOPIC``."""
        return msgspec.json.encode(self.row(ON_TOPIC))

    @classmethod
    def decode(cls, value: bytes | None) -> Self:
        """What ``encode`` wrote.

        Raises:
            UnreadableRecord: anything else, and a verdict that does not say where its page is.
        """
        verdict = super().decode(value)
        if NOWHERE in (verdict.order, verdict.source):
            raise UnreadableRecord(f"not a {cls.called}: it has no order or no source")
        return verdict

    @classmethod
    def of_dead_letter(cls, headers: Mapping[str, str]) -> Self:
        """That of a dead letter with these headers, of which its page brought ``url``, ``spider`` and ``job``.

        Raises:
            KeyError, ValueError: they are not those of a dead letter.
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


SUM: Final = "sum"
"""The header ``kind`` of a record of ``jobs`` that is no mark."""


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


class JobSum(JsonRecord, frozen=True, kw_only=True):
    """A record of ``jobs``, as JSON: what a worker has found of a job's pages, written with the verdicts themselves.

    Each worker has records of its own, whose names are in ``part``; of the same ``key`` the last one counts, and the
    sum over all parts is that of the job, in ``generation``. ``pages`` and ``body_bytes`` (of their bodies as they
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
        """Job and spider as a mark has them, and what tells the sum from one."""
        pairs = (("spider", self.spider), ("job", self.job), ("kind", SUM))
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
