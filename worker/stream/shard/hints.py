"""Hints on pages, computed after their verdicts: they may be late, or left out, and never cost a verdict.

A shard's decided batches wait here until the worker's loop has answered, decided and committed; then the hints look at
a few pages at a time. Pages that come faster are left out, and so is a page at a long address; both are counted. An
exception in a hint leaves out that page for that hint, is counted, and is logged once for each kind.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, Protocol

from crawler_plugin.wire.messages import Order
from crawler_plugin.wire.outcomes import SurvivorFinding
from worker.stream.observer import ContainedErrors, Observer
from worker.verdict.claims import Claims
from worker.verdict.decide import Decisions

LONGEST_URL: Final = 512
"""Longest URL that is looked at, and longest URL of its survivor, in characters: it bounds the cost of a page, and the
memory for it."""
MOST_WAITING: Final = 8192
"""Claims of decided batches that wait; their URLs have 32 MiB at most."""
PAGES_A_STEP: Final = 64
"""Pages in one go: they take a millisecond or two; between two steps the worker looks at the clock."""
_MOST_FINDINGS: Final = 1000
"""Findings that wait to be sent; beyond, the oldest are dropped."""
BEHIND: Final = "behind"
LONG_URL: Final = "long-url"
FAILED: Final = "failed"


class Hint(Protocol):
    """Looks at one page of a shard after the other; its work for one page is bounded whatever the page is like.

    With ``of_site`` it ignores survivors, and copies of survivors of other sites.
    """

    @property
    def of_site(self) -> bool: ...

    def survivor(self, claims: Claims, place: int, order: Order) -> Iterable[SurvivorFinding]:
        """Called for each page that was stored; yields what is now known of survivors because of it."""

    def copy(self, claims: Claims, place: int, order: Order, survivor: str) -> Iterable[SurvivorFinding]:
        """Called for each page that is near to the survivor with this ``order`` and URL; yields what is now known of
        survivors because of it."""


class _Page(NamedTuple):
    """A page by its place; ``survivor`` is None for a page that is a survivor itself."""

    claims: Claims
    place: int
    order: Order
    survivor: str | None


class Hints:
    """The hints of one shard by their names, and the decided batches that they have not seen yet.

    ``findings`` are those that are not sent yet. ``begin`` is called with each batch before its pages, which come in
    their order: survivors first.
    """

    def __init__(
        self,
        hints: Mapping[str, Hint],
        shard: int,
        shards: int,
        observer: Observer | None = None,
        begin: Callable[[Decisions], None] | None = None,
    ) -> None:
        self.findings: Final[deque[SurvivorFinding]] = deque(maxlen=_MOST_FINDINGS)
        self._hints: Final = hints
        self._of_site: Final = all(hint.of_site for hint in hints.values())
        self._begin: Final = begin
        self._shard, self._shards = shard, shards
        self._observer: Final = observer or Observer()
        self._errors: Final = ContainedErrors(self._observer.failed)
        self._waiting: Final[deque[Decisions]] = deque()
        self._begun: Iterator[_Page] = iter(())

    @property
    def waiting(self) -> int:
        """Claims of the batches that no hint has looked at yet."""
        return sum(len(decisions.claims) for decisions in self._waiting)

    def offer(self, decisions: Decisions) -> None:
        """Take a decided batch for later steps; it is left out where too much waits already."""
        if not self._hints:
            return
        coming = len(decisions.claims)
        if self._waiting and self.waiting + coming > MOST_WAITING:
            self._observer.hints_skipped(BEHIND, coming)
        else:
            self._waiting.append(decisions)

    def step(self, pages: int = PAGES_A_STEP) -> bool:
        """Look at this many pages; false if no more wait."""
        for _ in range(pages):
            try:
                page = next(self._begun, None)
                if page is not None:
                    self._look_at(page)
                elif self._waiting:
                    decisions = self._waiting.popleft()
                    self._begun = self._pages(decisions)
                    if self._begin is not None:
                        self._begin(decisions)
                else:
                    return False
            except Exception as error:
                self._note("hints", error)
        return True

    def _pages(self, decisions: Decisions) -> Iterator[_Page]:
        claims = decisions.claims
        if not self._of_site:
            for place in decisions.survivors(self._shard, self._shards).tolist():
                yield _Page(claims, place, (decisions.batch, place), None)
        for place, order, survivor in decisions.copies(self._shard, self._shards, of_site=self._of_site):
            yield _Page(claims, place, order, survivor)

    def _look_at(self, page: _Page) -> None:
        claims, place, order, survivor = page
        if max(len(claims.url(place)), len(survivor or "")) > LONGEST_URL:
            self._observer.hints_skipped(LONG_URL, 1)
            return
        for name, hint in self._hints.items():
            try:
                found = hint.survivor(claims, place, order) if survivor is None else hint.copy(*page[:3], survivor)
                self.findings.extend(found)
            except Exception as error:
                self._note(name, error)

    def _note(self, name: str, error: Exception) -> None:
        self._observer.hints_skipped(FAILED, 1)
        self._errors.note(name, error)
