"""The guarantees, checked on the records on the topics, of a simulated world or of a real broker.

J1 (G1) no two live survivors with different URLs are near, unless the later one was pardoned; a forgotten survivor does
not count. J2 (G2) a duplicate names an earlier live survivor that it is near to. J3 (G3, G5) a page's verdict is a
function of the log, whichever worker committed it and when: it follows from J5. J4 (G4) every page is accounted for
once. J5 verdicts equal the oracle's.
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Final

from crawler_plugin.wire.forgetting import Forget
from crawler_plugin.wire.messages import NOT_STORED, PARDONED, Batch, Order
from crawler_plugin.wire.outcomes import Verdict
from tests.columns import claims_of
from tests.oracle import Expected, Known, Near, forgets_of, is_forgotten, verdicts

Source = tuple[int, int]

COPIED: Final[dict[str, tuple[str, ...]]] = {
    "tag": ("unique", "refetch", "duplicate"),
    "drop": ("unique", "refetch"),
    "verdicts": (),
}
"""The verdicts whose pages are passed on, by ``output.mode``."""


class Violation(AssertionError):
    """The protocol broke a promise."""


@dataclass(frozen=True)
class Traces:
    """Everything on the topics. ``passed`` counts the records of ``deduplicated`` by (partition, key).

    ``output`` is the workers' ``output.mode``. For a generation that began with a copied index, ``known`` is the copied
    content. Pages that were only ``counted`` have a verdict, unless they could not be read, and are in no output.
    """

    log: list[tuple[int, Batch | Forget]]
    pages: set[Source]
    verdicts: list[Verdict]
    dead: list[Source]
    passed: Counter[tuple[int, bytes | None]]
    scheme: bytes
    near: Near
    ttl: int | None = None
    output: str = "tag"
    known: Known = field(default_factory=Known)
    counted: frozenset[Source] = frozenset()


def check_guarantees(traces: Traces) -> dict[Source, Verdict | None]:
    """The verdict of each page by its source, None for a dead letter.

    Raises:
        Violation: for the first broken promise.
    """
    expected = verdicts(traces.log, traces.near, scheme=traces.scheme, ttl=traces.ttl, known=deepcopy(traces.known))
    unread = frozenset(source for source in traces.counted if source in expected and expected[source].outcome == "dead")
    committed = check_accounts(traces, unread)
    check_verdicts(committed, expected)
    check_survivors(traces, committed)
    return committed


def check_accounts(traces: Traces, unread: frozenset[Source] = frozenset()) -> dict[Source, Verdict | None]:
    """J4: pages in = unique + duplicate + refetch + dead letter, each once; ``unread`` pages leave nothing."""
    committed: dict[Source, Verdict | None] = {record.source: record for record in traces.verdicts}
    committed |= dict.fromkeys(traces.dead)
    times = Counter(record.source for record in traces.verdicts) + Counter(traces.dead)
    if twice := [source for source, count in times.items() if count > 1]:
        raise Violation(f"J4: committed more than once: {twice}")
    if traces.pages - unread != set(times):
        raise Violation(f"J4: not accounted for: {(traces.pages - unread) ^ set(times)}")
    due: Counter[tuple[int, bytes | None]] = Counter(
        (source[0], record.url.encode())
        for source, record in committed.items()
        if record is not None and source not in traces.counted and record.verdict in COPIED[traces.output]
    )
    if traces.passed != due:
        raise Violation(f"J4: deduplicated holds {traces.passed - due} too much, {due - traces.passed} too little")
    return committed


def check_verdicts(committed: dict[Source, Verdict | None], expected: dict[Source, Expected]) -> None:
    """J5: the committed verdicts are those of the oracle."""
    for source, record in committed.items():
        wanted = expected.get(source)
        if wanted is None:
            raise Violation(f"J5: {source} was committed without a first claim in the log")
        if record is None:
            found = Expected(wanted.order, "dead", wanted.reason)
        else:
            found = Expected(
                record.order, record.verdict, record.reason, record.duplicate_of, record.distance, wanted.original,
                wanted.previous if record.previous is None else record.previous,
            )  # fmt: skip
        if found != wanted:
            raise Violation(f"J5: {source} was committed as {found}, the oracle says {wanted}")


def check_survivors(traces: Traces, committed: dict[Source, Verdict | None]) -> None:
    """J1 and J2, from the committed verdicts and the claims alone."""
    watermark = traces.known.watermark
    before: dict[int, int] = {}
    after = dict(traces.known.watermark_after)
    forgets = forgets_of(traces.log, traces.scheme)
    for offset, batch in traces.log:
        if batch.scheme != traces.scheme or isinstance(batch, Forget):
            continue
        before[offset] = watermark
        watermark = max(watermark, *(claim.clock for claim in claims_of(batch)))
        after[offset] = watermark
    claims = {(offset, place): claim for offset, batch in traces.log for place, claim in enumerate(claims_of(batch))}

    def live(earlier: Order, later: Order) -> bool:
        return traces.ttl is None or after[earlier[0]] >= before[later[0]] - traces.ttl

    rows = sorted((r.order, r) for r in committed.values() if r is not None)
    survivors = list(traces.known.survivors)
    for order, record in rows:
        while forgets and forgets[0][0] < order[0]:
            _, condition = forgets.pop(0)
            survivors = [one for one in survivors if not is_forgotten(condition, one[1])]
        claim = claims[order]
        near = [(o, c) for o, c in survivors if live(o, order) and traces.near(c, claim)]
        if record.verdict == "unique":
            is_pardoned = bool(claim.flags & PARDONED)
            if clash := [c.url for _, c in near if (c.url == claim.url) == is_pardoned]:
                raise Violation(f"J1: {claim.url} {order} survives beside {clash}")
            if not claim.flags & NOT_STORED:
                survivors.append((order, claim))
        elif record.duplicate_of not in [c.url for _, c in near]:
            raise Violation(f"J2: {claim.url} {order} names {record.duplicate_of}, near are {near}")
        if record.verdict == "duplicate" and record.duplicate_of == claim.url:
            raise Violation(f"J2: {claim.url} {order} is a duplicate of itself")
