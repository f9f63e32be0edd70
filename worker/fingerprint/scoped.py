"""Which pages are compared at all: those of one scope, such as one site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from worker.fingerprint.near import AccurateNear, Match, SimHashNear, SketchedRecord


class ScopedRecord(SketchedRecord, Protocol):
    """What ``ScopedNear`` reads of a page."""

    @property
    def scope(self) -> int:
        """64 bits that stand for what the page is compared within; 0 for all pages."""


@dataclass(frozen=True)
class ScopedNear:
    """``near`` between pages of one scope; pages of two scopes are never near. Symmetric and pure as ``near`` is."""

    near: SimHashNear | AccurateNear

    def __call__(self, a: ScopedRecord, b: ScopedRecord) -> Match | None:
        """How ``a`` and ``b`` are near, or None."""
        return self.near(a, b) if a.scope == b.scope else None
