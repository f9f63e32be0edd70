"""What the copies of a survivor show about it: that another page is preferred, or that it is a soft 404.

Each shard counts for the survivors that it stores, so each group of copies is counted in one place. No verdict depends
on the counts. They are in memory only: a restored shard begins anew with the copies that come then.

- *preferred*: the survivor itself, or a copy of it, names a page that came later as canonical. A page that names itself
says nothing about the others. This is known for as long as the survivor's group is remembered.
- *soft-404*: the same short text, with status 200, at unrelated addresses of the survivor's host. Two addresses are
related if both lie in the same top folder, by its template, or end in the same segment: pages of one template, the
pages of a calendar, a product in many categories, one page in many languages. If more than a few addresses end alike,
the text is a page that can be reached in many ways. Other hosts do not count, and other accounts of the host do not
suffice (``_account``): otherwise anyone who copies a page could make it look like a soft 404.

The counts see each page after its verdict (``worker.stream.shard.hints``), and no page at a very long address: so no
site can fill the memory with what is remembered of its pages.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from crawler_plugin.wire.messages import Order
from crawler_plugin.wire.outcomes import PREFERRED, SOFT_404, SurvivorFinding
from crawler_plugin.wire.url_templates import segment_template
from worker.fingerprint.hashing import hash_bytes, hash_text
from worker.verdict.claims import Claims
from worker.verdict.decide import Decision

NamedBy: TypeAlias = Literal["survivor", "copy"]
OK: Final = 200
_NAMED: Final = 8
_MEMBERS: Final = 16
"""URLs that are remembered of a group, to recognise a page that came before the page that names it."""
_EXAMINED: Final = 256
"""Copies of a group that are looked at; far fewer are enough to show a soft 404."""
_OWN_ENDINGS: Final = 0.8
"""Least share of different endings among the addresses of a soft 404. Real paths seldom end alike (index.html); of a
page that is shown in many places, most addresses end with its name."""
_LANGUAGE: Final = re.compile(r"[a-z]{2}(?:[-_][a-z]{2,4})?", re.IGNORECASE)


@dataclass(frozen=True)
class FindingRules:
    """``soft_404_places``: unrelated addresses at which a text of at most ``soft_404_tokens`` is a soft 404; 0: never.

    ``groups``: groups of copies that are remembered for each shard, those that grew last; 0: neither finding is looked
    for. ``suspect_pages``: copies of a template with which a survivor is suspect (``worker.verdict.suspects``); 0:
    never.
    """

    soft_404_places: int = 9
    soft_404_tokens: int = 250
    groups: int = 4096
    suspect_pages: int = 20


@dataclass(eq=False, slots=True)
class _Group:
    """A survivor and what its copies have shown. ``named`` maps hashes of URLs to the pages that named them;
    ``parts`` are hashes of the folders and of the endings that ``_address`` finds; ``at_home`` says that one copy is of
    the survivor's own account and ends differently."""

    url: str
    url_hash: int
    copies: int = 0
    named: dict[int, NamedBy] = field(default_factory=dict)
    members: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    parts: tuple[set[int], set[int]] | None = None
    places: int = 0
    at_home: bool = False
    examined: int = 0
    no_page: bool = False

    @classmethod
    def of(cls, url: str) -> _Group:
        return cls(url, hash_bytes(url.encode()))


def canonical_of(decision: Decision) -> str | None:
    """Which page a page names as canonical: ``self``, the ``original`` that the verdict names, or an ``other`` page.

    None where it names none, or is dead. The verdict agrees with the page in two cases: a duplicate names its original,
    or a page that is no duplicate names itself.
    """
    claim, original = decision.claim, decision.original
    if not claim.canonical or claim.dead is not None:
        return None
    if claim.canonical == hash_bytes(claim.url.encode()):
        return "self"
    return "original" if original is not None and claim.canonical == hash_bytes(original.url.encode()) else "other"


class CopyGroups:
    """The groups of copies of one shard's survivors."""

    of_site = False

    def __init__(self, rules: FindingRules) -> None:
        self.rules: Final = rules
        self._groups: OrderedDict[Order, _Group] = OrderedDict()

    def __len__(self) -> int:
        return len(self._groups)

    def is_no_page(self, survivor: Order) -> bool:
        """Whether this survivor was found to be a soft 404."""
        group = self._groups.get(survivor)
        return group is not None and group.no_page

    def survivor(self, claims: Claims, place: int, order: Order) -> Sequence[SurvivorFinding]:
        """Remember a survivor that names another page."""
        canonical = int(claims.canonical[place])
        if canonical:
            group = _Group.of(claims.url(place))
            if canonical != group.url_hash:
                group.named[canonical] = "survivor"
                self._remember(order, group)
        return ()

    def _remember(self, order: Order, group: _Group) -> None:
        self._groups[order] = group
        if len(self._groups) > self.rules.groups:
            self._groups.popitem(last=False)

    def copy(self, claims: Claims, place: int, order: Order, survivor: str) -> Iterator[SurvivorFinding]:
        """Count a copy of a survivor; yields the findings that it brings."""
        url = claims.url(place)
        if url == survivor:
            return
        group = self._groups.get(order)
        if group is None:
            group = _Group.of(survivor)
            self._remember(order, group)
        else:
            self._groups.move_to_end(order)
        group.copies += 1
        for page, named_by in _preferred(group, url, int(claims.canonical[place])):
            yield SurvivorFinding(
                kind=PREFERRED, url=group.url, order=order, copies=group.copies, page=page, named_by=named_by
            )
        least = self.rules.soft_404_places
        assert claims.pages.tokens is not None
        counts = claims.status[place] == OK and claims.pages.tokens[place] <= self.rules.soft_404_tokens
        if least and counts and not group.no_page and group.copies <= _EXAMINED:
            group.no_page = _unrelated(group, url, least) >= least
            if group.no_page:
                yield SurvivorFinding(
                    kind=SOFT_404, url=group.url, order=order, copies=group.copies, places=group.places
                )


def _preferred(group: _Group, url: str, canonical: int) -> Iterator[tuple[str, NamedBy]]:
    """The pages of a group that this copy shows to be its canonical ones, each once, with the page that named it."""
    own = hash_bytes(url.encode())
    if own in group.named and url not in group.members:
        yield url, group.named[own]
    if (len(group.members) < _MEMBERS or own in group.named) and url not in group.members:
        group.members.append(url)
    if canonical in (0, own, group.url_hash) or canonical in group.named or len(group.named) == _NAMED:
        return
    group.named[canonical] = "copy"
    for member in group.members:
        if canonical == hash_bytes(member.encode()):
            yield member, "copy"


def _unrelated(group: _Group, url: str, least: int) -> int:
    """The number of unrelated addresses at which the text was found, including the survivor's.

    0 while they cannot be enough, where too many end alike, or where only the survivor is of its account. Templates are
    made only where the addresses may be enough.
    """
    host = host_of(group.url)
    if host_of(url) != host:
        return 0
    group.waiting.append(url)
    if len(group.waiting) + max(1, group.places) < least:
        return 0
    account, own = _account(group.url), hash_text(_address(group.url)[1])
    folders, endings = group.parts = group.parts or (set(), set())
    for one in [*([] if group.places else [group.url]), *group.waiting]:
        folder, ending = map(hash_text, _address(one))
        group.at_home |= ending != own and _account(one) == account
        if folder not in folders and ending not in endings:
            group.places += 1
        folders.add(folder)
        endings.add(ending)
        group.examined += 1
    group.waiting.clear()
    return group.places if group.at_home and len(endings) >= _OWN_ENDINGS * group.examined else 0


def host_of(url: str) -> str:
    """The part between a URL's scheme and its path."""
    return url.partition("://")[2].partition("/")[0]


def _path(url: str) -> str:
    """The path without its leading slash."""
    return url.partition("://")[2].partition("/")[2].partition("?")[0]


def _account(url: str) -> str:
    """The account that a page belongs to on a host of many users: the top folder, or ``~name`` and ``@name``; empty for
    other pages at the root. Users whose names are hosts, as below a private suffix, are told apart by their hosts.
    """
    first, slash, _ = _path(url).partition("/")
    return first if slash or first.startswith(("~", "@")) else ""


def _address(url: str) -> tuple[str, str]:
    """The template of the top folder, none for a page at the root, and the last segment of the path."""
    path = _path(url)
    first, *others = path.strip("/").lower().split("/")
    if not others:
        return "", first
    return "{language}" if _LANGUAGE.fullmatch(first) else segment_template(first), others[-1]
