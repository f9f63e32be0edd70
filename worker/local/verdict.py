"""What became of a page, as the caller is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crawler_plugin.wire.urls import id_of_url, without_userinfo
from worker.verdict.decide import DEAD, Decision
from worker.verdict.suspects import own_title


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a page.

    ``kind`` is ``unique``, ``duplicate``, ``refetch`` (near to an earlier fetch of the same URL), or ``dead``: the page
    could not be read, and no later page is compared with it. ``duplicate_of`` is the URL of the earlier survivor, for a
    refetch the page's own. ``distance`` is the number of different bits between the two fingerprints, ``similarity``
    the estimated share of pairs of neighbouring words that the two have in common, 0 to 1; each is None where it is
    not known. ``reason`` is the rule that holds, or why the page is dead, with a ``detail`` for people. ``url`` is the
    canonical one, ``fingerprint`` 16 hex digits, or None for a page of too few features; ``text_hash`` is 16 hex
    digits, ``sketch`` and ``bands`` are 32 bytes each or none (``worker.fingerprint.near``). ``number`` is how many
    pages were judged before this one, ``duplicate_of_number`` how many before the survivor. ``id`` is what the page was
    called by its owner, and ``duplicate_of_id`` what the survivor was, where that has no URL.

    ``previous`` is ``same`` where the text is that of the last one of this URL that survived, ``changed`` where it is
    another, ``none`` where there was none; ``changed`` is the estimated share of its pairs of neighbouring words that
    are new, 0 to 1. Both are None where nobody looks (``near.track_changes``).

    ``suspect`` says of a duplicate that its survivor takes a whole template of its site whose titles all differ
    (``worker.verdict.suspects``): perhaps it is none, so do not drop it. ``title_hash`` is 8 hex digits that stand for
    the page's title without the name of its site, empty where it has none.
    """

    url: str
    kind: Literal["unique", "duplicate", "refetch", "dead"]
    reason: str
    duplicate_of: str | None = None
    distance: int | None = None
    similarity: float | None = None
    detail: str = ""
    fingerprint: str | None = None
    language: str = ""
    tokens: int = 0
    text_hash: str = ""
    sketch: bytes = b""
    bands: bytes = b""
    number: int = 0
    duplicate_of_number: int | None = None
    previous: Literal["same", "changed", "none"] | None = None
    changed: float | None = None
    suspect: bool = False
    title_hash: str = ""
    id: str | None = None
    duplicate_of_id: str | None = None

    @classmethod
    def of(cls, decision: Decision, url: str, id: str | None = None, *, suspect: bool = False) -> Verdict:
        """The decision on a page of this id; ``url`` is what stands for one that has no canonical URL."""
        claim, original = decision.claim, decision.original
        reason, detail = decision.reason, ""
        if decision.outcome == DEAD:
            reason, _, detail = reason.partition(": ")
        return cls(
            url=claim.url or without_userinfo(url),
            kind=decision.outcome,
            reason=reason,
            duplicate_of=None if original is None else original.url,
            distance=None if original is None else original.distance,
            similarity=decision.similarity,
            detail=detail,
            fingerprint=None if claim.fingerprint is None else f"{claim.fingerprint:016x}",
            language=claim.language,
            tokens=claim.tokens,
            text_hash="" if decision.outcome == DEAD else f"{claim.text_hash:016x}",
            sketch=claim.sketch,
            bands=claim.bands,
            number=claim.offset,
            duplicate_of_number=None if original is None else sum(original.order),
            previous=None if decision.change is None else decision.change.previous,
            changed=decision.changed,
            suspect=suspect,
            title_hash=f"{claim.title:08x}" if own_title(claim.title) else "",
            id=id,
            duplicate_of_id=None if original is None else id_of_url(original.url),
        )
