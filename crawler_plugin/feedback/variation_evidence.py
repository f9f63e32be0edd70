"""What can be said for good of the variations of a site, for rules that others follow too.

A kind of variation becomes a rule where it was compared on ``LEAST_PAGES`` pages and never led to a different page.
Each page counts once, whatever the number of its variations: thousands of addresses of one list say no more than one.
Were the share of pages on which it matters larger than a twentieth, so many pages in a row would all be the same by
chance in less than one case of twenty (0.95 ** 60 = 0.046).

What a site shows speaks for that site alone, host and port. No site has more than ``MOST_OF_SITE`` kinds, and nothing
gives way to what comes later: else a flood of names could make the crawl forget that a kind led to a different page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, NamedTuple

from crawler_plugin.feedback.same_pages import Compared

LEAST_PAGES: Final = 60
MOST_VALUES: Final = 10
"""Of a parameter that are remembered: where it had more, any value is taken to change nothing."""
MOST_EXAMPLES: Final = 3
MOST_OF_SITE: Final = 64
MOST: Final = 2_000
"""Kinds of all sites; 20 MB at the very most."""


class VariationKind(NamedTuple):
    """What is left out, at which site; ``https`` or ``http`` is the same to it."""

    site: str
    name: str
    """As ``Variation.kind`` has it, of one parameter at most."""


@dataclass(slots=True)
class KindEvidence:
    """What was seen of a kind."""

    same: int = 0
    """Comparisons, and in ``different`` those that came out the other way."""
    different: int = 0
    pages: set[str] = field(default_factory=set)
    """Digests of the pages of ``same``, up to ``LEAST_PAGES`` of them."""
    values: set[str] = field(default_factory=set)
    """Those of the parameter that changed nothing, up to one more than ``MOST_VALUES``."""
    examples: list[tuple[str, str]] = field(default_factory=list)
    """URLs and what they are without it."""

    @property
    def is_enough(self) -> bool:
        """Whether it may become a rule."""
        return not self.different and len(self.pages) >= LEAST_PAGES


class VariationEvidence:
    """Of all sites of a crawl."""

    def __init__(self) -> None:
        self._kinds: dict[VariationKind, KindEvidence] = {}
        self._of_sites: dict[str, int] = {}

    def __iter__(self) -> Iterator[tuple[VariationKind, KindEvidence]]:
        return iter(self._kinds.items())

    def put(self, kind: VariationKind, evidence: KindEvidence) -> None:
        """What an earlier run knew."""
        self._kinds[kind] = evidence
        self._of_sites[kind.site] = self._of_sites.get(kind.site, 0) + 1

    def learn(self, compared: Compared) -> None:
        """One more comparison. Of several parameters together only that they change nothing says something of each."""
        variation, url, is_same = compared
        if len(variation.names) > 1 and not is_same:
            return
        for kind in [VariationKind(variation.site, f"?{name}") for name in variation.names] or [
            VariationKind(variation.site, variation.kind)
        ]:
            evidence = self._evidence_of(kind)
            if evidence is None:
                continue
            if not is_same:
                evidence.different += 1
                evidence.examples = [(url, variation.base)]
                continue
            evidence.same += 1
            if len(evidence.pages) < LEAST_PAGES:
                evidence.pages.add(blake2b(variation.base.partition("?")[0].encode(), digest_size=8).hexdigest())
            if len(evidence.values) <= MOST_VALUES:
                evidence.values.update(values_of(url, kind.name))
            if len(evidence.examples) < MOST_EXAMPLES and not evidence.different:
                evidence.examples.append((url, variation.base))

    def _evidence_of(self, kind: VariationKind) -> KindEvidence | None:
        evidence = self._kinds.get(kind)
        if evidence is None and len(self._kinds) < MOST and self._of_sites.get(kind.site, 0) < MOST_OF_SITE:
            evidence = KindEvidence()
            self.put(kind, evidence)
        return evidence


def values_of(url: str, kind: str) -> list[str]:
    """Those of the parameter, as the canonical URL spells them; none where the kind is one of paths."""
    pieces = [piece.partition("=") for piece in url.partition("?")[2].split("&")]
    return [value for name, _, value in pieces if f"?{name}" == kind]
