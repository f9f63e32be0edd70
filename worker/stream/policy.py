"""The worker's step's settings and limits, as one frozen value."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

from crawler_plugin.wire.errors import Refused, UnreadableRecord
from crawler_plugin.wire.page_headers import Headers
from worker.fingerprint.scheme import Scheme, in_words
from worker.fingerprint.scoped import ScopedNear
from worker.verdict.findings import FindingRules

OutputMode: TypeAlias = Literal["tag", "drop", "verdicts", "count"]
"""The setting ``output.mode``."""
NOTHING: Final = 2**62
"""More than the offset of any page."""
_METADATA: Final = re.compile(
    r"1 (?P<batch>\d{1,19}) (?P<answers_offset>\d{1,19})"
    r"(?: (?:@(?P<written_from>\d{1,19})|(?P<counted>counted)))?(?: >(?P<successor>[A-Za-z0-9._-]*))?",
    re.ASCII,
)

MAX_URL_BYTES: Final = 4096
"""A page with a longer URL becomes a dead letter."""
CLAIM_BYTES: Final = 200
"""What a claim, an answer to it or an entry of a block takes at most, in addition to its URL."""
SCHEME_HEADER: Final = "scheme"
"""Header of each batch and block: the scheme in words, so that a worker with another scheme can say which setting
differs."""
COPIED: Final = b"-copied-"
"""Stands for the scheme in the records that ``worker.operations.copy_index`` puts before a generation's first batch."""
SUCCESSOR_HEADER: Final = "successor"
"""Header of the record of ``fingerprints`` at which a generation ends: the name of the generation that goes on from
there."""
LIVE_HEADER: Final = "live"
"""Header of records of ``COPIED`` where the index is copied while the generation before works."""
CONSUMED_HEADER: Final = "consumed"
"""Header of the last of these records: what the new generation begins with (``worker.stream.inheritance``)."""
BEING_COPIED: Final = 2**62 + 1
"""The answers offset of a copied block that other blocks will follow: a restore that ends there waits for them."""
BRIDGE_HEADER: Final = "bridge"
"""Header of a block that a repair has put in the place of lost ones: the lost blocks' content is not to come back."""


@dataclass(frozen=True)
class Policy:
    """All settings and limits that the step does not decide by itself.

    ``scheme`` is the 8-byte id of all that a verdict depends on and ``scheme_text`` the same in words. ``ttl`` is in
    milliseconds, None for entries that never expire. ``writer`` names this process in the records that it writes.
    """

    scheme: bytes
    scheme_text: bytes
    shards: int
    near: ScopedNear = field(compare=False)
    writer: bytes
    partitions: int = 1 << 31
    """The worker does not claim pages of partitions from this number on. It decides other workers' claims of them like
    all others: no verdict, and no content of a block, depends on this number."""
    generation: str = ""
    """``topics.generation``: where several generations judge the same pages, each has sums of its own."""
    ttl: int | None = None
    replicas: int = 1
    """Holders of each shard: 1, or 2."""
    hedge: float = 0.05
    """Seconds that a standby gives the active holder before it answers itself. No verdict depends on it: the two
    answers are the same. With less, both answer more often; with more, verdicts wait longer when the active holder is
    gone."""
    track_changes: bool = False
    """Whether a page is also compared with the latest survivor of its URL."""
    findings: FindingRules = field(default_factory=FindingRules)
    output: OutputMode = "tag"
    claims_a_batch: int = 1024
    """Each claim is compared with the survivors before it in its batch, so the time grows with the square of their
    number: a quarter of the time that deciding a full batch takes."""
    flush_entries: int = 4096
    flush_bytes: int = 512 * 1024
    """URLs waiting for a flush."""
    held_bytes: int = 64 * 1024 * 1024
    """Pages held for their verdict, with key and headers; above it, the worker pauses page partitions."""
    commit_pages: int = 1000
    commit_bytes: int = 32 * 1024 * 1024


def within(max_message_bytes: int, flush_entries: int) -> dict[str, int]:
    """The limits of a ``Policy`` with which no record of ours can exceed the broker's limit, whatever the URLs.

    A batch or an answer holds a URL for each claim. A block is sealed at the end of the batch in which it reaches a
    limit, so it holds at most the content below the limits, and one batch.
    """
    claims = max(1, max_message_bytes // (2 * (MAX_URL_BYTES + CLAIM_BYTES)))
    return {
        "claims_a_batch": min(Policy.claims_a_batch, claims),
        "flush_entries": min(flush_entries, max(1, max_message_bytes // (4 * CLAIM_BYTES))),
        "flush_bytes": min(Policy.flush_bytes, max_message_bytes // 4),
    }


def other_scheme(policy: Policy, found: bytes, headers: Headers, where: str) -> Refused:
    """The refusal that says which settings differ; ``headers`` are those of the record of scheme ``found``."""
    if found == COPIED:
        return Refused(
            "the index is being copied into this topics.generation, or a copy broke off: wait for it, or delete what "
            "it left behind with `python -m worker topics delete`, and copy again. If workers have run in this "
            "generation before, it has lost blocks: run `python -m worker repair`"
        )
    text = dict(headers).get(SCHEME_HEADER) or b""
    try:
        ours, theirs = Scheme.decode(policy.scheme_text), Scheme.decode(text)
        differs = "; ".join(map(in_words, ours.differences(theirs)))
    except UnreadableRecord:
        differs = f"scheme {found.hex()} instead of {policy.scheme.hex()}"
    return Refused(
        f"the topic {where} was written with other settings: {differs}. Start this worker with the settings of the "
        "others, or give the new settings a topics.generation of their own"
    )


class ReplayPoint(NamedTuple):
    """Where to read both logs from: ``batch`` (b) in ``fingerprints``, ``answers_offset`` in ``answers``.

    No answer to a batch at or after ``batch`` lies before ``answers_offset``.
    """

    batch: int
    answers_offset: int

    def to_metadata(self) -> str:
        return f"1 {self.batch} {self.answers_offset}"


class Note(NamedTuple):
    """The note that is written with the consumed offset of a partition of ``pages``.

    ``written_from``: pages of lower offset are only counted, pages from it on go to the outputs; ``NOTHING`` while all
    are only counted. ``successor`` is the generation that has the outputs from the consumed offset on, None while this
    generation has them; with a successor, all pages are only counted.
    """

    point: ReplayPoint
    written_from: int = 0
    successor: str | None = None

    @property
    def counts(self) -> bool:
        """Whether no page goes to the outputs any more, or yet."""
        return self.written_from == NOTHING or self.successor is not None

    def to_metadata(self) -> str:
        text = self.point.to_metadata()
        if self.written_from:
            text += " counted" if self.written_from == NOTHING else f" @{self.written_from}"
        return text if self.successor is None else f"{text} >{self.successor}"

    @classmethod
    def from_metadata(cls, text: str, where: str) -> Note:
        """Raises ``Refused`` for metadata that this program did not write; ``where`` names the commit for the
        message."""
        found = _METADATA.fullmatch(text)
        if found is None:
            raise Refused(
                f"the consumed offset of {where} carries {text[:80]!r}, which this program did not write. Another "
                "program commits in this group, or its offsets were reset: stop that program and all workers, and run "
                "`python -m worker repair`, which finds the offset again from the outputs"
            )
        written_from = NOTHING if found["counted"] else int(found["written_from"] or 0)
        return cls(ReplayPoint(int(found["batch"]), int(found["answers_offset"])), written_from, found["successor"])
