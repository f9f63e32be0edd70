"""Lasting evidence on the variations of a site, from which rules for other programs are made.

A kind of variation becomes a rule where it was compared on ``LEAST_PAGES`` pages and never led to a different page.
Each page counts once, whatever the number of its variations: thousands of addresses of one list say no more than one
address. If the kind mattered on more than a twentieth of the pages, that many pages in a row would all be the same by
chance in less than one case of twenty (0.95 ** 60 = 0.046).

Evidence from a site holds for that site alone (host and port). No site has more than ``MOST_OF_SITE`` kinds, and a new
kind never displaces an old one: otherwise a flood of names could make the crawl forget that a kind led to a different
page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, NamedTuple

from crawler_plugin.feedback.same_pages import Compared

LEAST_PAGES: Final = 60
MOST_VALUES: Final = 10
"""Values of a parameter that are remembered: where it had more, any value is taken to change nothing."""
MOST_EXAMPLES: Final = 3
MOST_OF_SITE: Final = 64
MOST: Final = 2_000
"""Kinds of all sites together; 20 MB at the very most."""


class VariationKind(NamedTuple):
    """A part of URLs that is left out, and the site; ``https`` and ``http`` are the same here."""

    site: str
    name: str
    """As in ``Variation.kind``, with one parameter at most."""


@dataclass(slots=True)
class KindEvidence:
    """The evidence on one kind."""

    same: int = 0
    """Comparisons in which the pages were the same; ``different`` counts the others."""
    different: int = 0
    pages: set[str] = field(default_factory=set)
    """Digests of the pages of ``same``, up to ``LEAST_PAGES`` of them."""
    values: set[str] = field(default_factory=set)
    """Values of the parameter that changed nothing, up to one more than ``MOST_VALUES``."""
    examples: list[tuple[str, str]] = field(default_factory=list)
    """URLs with the part and without it."""

    @property
    def is_enough(self) -> bool:
        """Whether the kind may become a rule."""
        return not self.different and len(self.pages) >= LEAST_PAGES


class VariationEvidence:
    """The evidence from all sites of a crawl."""

    def __init__(self) -> None:
        self._kinds: dict[VariationKind, KindEvidence] = {}
        self._of_sites: dict[str, int] = {}

    def __iter__(self) -> Iterator[tuple[VariationKind, KindEvidence]]:
        return iter(self._kinds.items())

    def put(self, kind: VariationKind, evidence: KindEvidence) -> None:
        """Put in the evidence of an earlier run."""
        self._kinds[kind] = evidence
        self._of_sites[kind.site] = self._of_sites.get(kind.site, 0) + 1

    def learn(self, compared: Compared) -> None:
        """Take in one more comparison. Several parameters together say something of each one only if they change
        nothing."""
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
    """The parameter's values, as the canonical URL spells them; none where the kind is one of paths."""
    pieces = [piece.partition("=") for piece in url.partition("?")[2].split("&")]
    return [value for name, _, value in pieces if f"?{name}" == kind]
