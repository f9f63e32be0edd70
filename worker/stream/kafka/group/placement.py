"""Which workers hold which shards, where each shard has two holders: a pure function of what the members say.

A shard has an active holder and a standby, on two workers that no single failure takes away together: on two racks
where there are two, otherwise at least on two workers. The expensive step is to load a shard into a memory that does
not have it; which of the two holders is active can change at any time. So holders are placed first and get their roles
afterwards:

1. A holder of a shard goes on holding it, where that keeps the two holders apart.
2. Missing holders are placed on the members that hold least.
3. Holders move until all members hold the same number, give or take one, as far as racks allow.
4. Slow moves happen one after the other. A new holder gets its part when the one before it has given it up, and the
   last holder that has caught up stays until another has.
5. The active holder is one that has caught up, if there is any, and each member is active as often as the others.

So if the active holder is gone, its standby is promoted at once, where it is. The assignment after a move goes on where
this one had to wait: a member that gives something up joins anew, and so does one that has caught up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from worker.stream.log import Held, Role

HOLDERS: Final = 2
DEAREST: Final = 4
"""The cost of taking a shard from the only holder that has caught up with it; see ``_Plan._cost``."""

Holders: TypeAlias = Mapping[int, Sequence[str]]
"""Ids of members by shard; for shards with an active holder it comes first."""


@dataclass(frozen=True)
class JoiningMember:
    """What a member says when it joins: its worker, its rack, what it owns and as of which generation.

    ``caught_up`` are those of its shards that it could answer at the moment.
    """

    id: str
    worker: str
    rack: str = ""
    owns: frozenset[Held] = frozenset()
    caught_up: frozenset[int] = frozenset()
    generation: int = -1


class Placement(NamedTuple):
    """What each member holds from now on, by its id.

    ``alone`` are the shards for whose second holder there is no worker apart from the first. ``provisional``: once
    members have caught up with what they got, the placement would be different, so they should join anew then.
    """

    held: Mapping[str, frozenset[Held]]
    alone: frozenset[int]
    provisional: bool


def place(members: Collection[JoiningMember], shards: int) -> Placement:
    """The next assignment; at least one member. The result does not depend on the order of the members."""
    now = _place(members, shards)
    later = [
        replace(member, owns=now[member.id], caught_up=frozenset(held.shard for held in now[member.id]), generation=0)
        for member in members
    ]
    counts = [sum(held.shard == shard for owned in now.values() for held in owned) for shard in range(shards)]
    apart = len(set(_groups(members).values())) > 1
    alone = frozenset() if apart else frozenset(shard for shard in range(shards) if counts[shard] < HOLDERS)
    return Placement(now, alone, _place(later, shards) != now)


def _place(members: Collection[JoiningMember], shards: int) -> dict[str, frozenset[Held]]:
    by_id = {member.id: member for member in sorted(members, key=lambda member: member.id)}
    groups = _groups(members)
    owners = {shard: _owners(shard, by_id.values()) for shard in range(shards)}
    plan = _Plan(groups, {shard: _apart(owners[shard], groups) for shard in range(shards)}, owners, by_id)
    plan.fill()
    plan.level()
    holders, eligible = {}, {}
    for shard, wanted in plan.holders.items():
        owned = owners[shard]
        ready = [id_ for id_ in owned if shard in by_id[id_].caught_up]
        holders[shard] = step = _step(owned, wanted, ready, groups)
        eligible[shard] = [id_ for id_ in step if id_ in ready] or [id_ for id_ in step if id_ in owned] or step
    active = _active(eligible, by_id)
    held: dict[str, set[Held]] = {id_: set() for id_ in by_id}
    for shard, ids in holders.items():
        for id_ in ids:
            held[id_].add(Held(shard, Role.ACTIVE if active[shard] == id_ else Role.STANDBY))
    return {id_: frozenset(units) for id_, units in held.items()}


def _groups(members: Iterable[JoiningMember]) -> dict[str, str]:
    """By member id, the group of members that must not hold the same shard: its rack or, without racks, its worker.

    A worker is on one rack, whatever its members say: on that of the first member.
    """
    racks: dict[str, str] = {}
    for member in sorted(members, key=lambda member: member.id):
        racks.setdefault(member.worker, member.rack)
    several = len(set(racks.values())) > 1
    return {member.id: racks[member.worker] if several else member.worker for member in members}


def _owners(shard: int, members: Iterable[JoiningMember]) -> list[str]:
    """Who owns the shard in which role now, the active one first; of two that claim it, the one with the latest
    assignment."""
    found: list[str] = []
    for role in Role.ACTIVE, Role.STANDBY:
        owners = [member for member in members if Held(shard, role) in member.owns]
        newest = max(owners, key=lambda member: member.generation, default=None)
        if newest is not None and newest.id not in found:
            found.append(newest.id)
    return found


def _apart(owned: Sequence[str], groups: Mapping[str, str]) -> list[str]:
    """Members that may hold a shard together: each one that does not conflict with one before it."""
    return [id_ for place, id_ in enumerate(owned) if groups[id_] not in [groups[before] for before in owned[:place]]]


def _step(owned: Sequence[str], wanted: Sequence[str], ready: Sequence[str], groups: Mapping[str, str]) -> list[str]:
    """The next holders of a shard, on the way from its owners to the wanted holders."""
    step = [id_ for id_ in owned if id_ in wanted]
    if not any(id_ in ready for id_ in step):
        # No other member could answer: it stays for as long as that is so.
        step = _apart([id_ for id_ in owned if id_ in ready and id_ not in wanted][:1] + step, groups)
    if all(id_ in step for id_ in owned):
        step = _apart([*step, *(id_ for id_ in wanted if id_ not in owned)], groups)
    return step[:HOLDERS]


class _Move(NamedTuple):
    """A shard, and the member that would take a part of it over."""

    shard: int
    to: str


@dataclass(eq=False)
class _Plan:
    """Which member shall hold which shard in the end, however many steps it takes."""

    groups: Mapping[str, str]
    holders: dict[int, list[str]]
    owners: Mapping[int, Sequence[str]]
    members: Mapping[str, JoiningMember]
    held: dict[str, set[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.held = {id_: {shard for shard, ids in self.holders.items() if id_ in ids} for id_ in self.groups}

    def fill(self) -> None:
        """Place the missing holders, beginning with shards that have none."""
        for shard in sorted(self.holders, key=lambda shard: (len(self.holders[shard]), shard)):
            while len(ids := self.holders[shard]) < HOLDERS and (able := self._able(ids)):
                ids.append(chosen := min(able, key=lambda id_: (len(self.held[id_]), id_)))
                self.held[chosen].add(shard)

    def level(self) -> None:
        """Move holders until no move makes the shares more equal; cheap moves come first."""
        for most in range(DEAREST + 1):
            while chain := _chain({id_: len(shards) for id_, shards in self.held.items()}, partial(self._moves, most)):
                for move, source in chain:
                    self.holders[move.shard][self.holders[move.shard].index(source)] = move.to
                    self.held[source].remove(move.shard)
                    self.held[move.to].add(move.shard)

    def _able(self, beside: Collection[str]) -> list[str]:
        """The members that can hold a shard together with these."""
        taken = {self.groups[id_] for id_ in beside}
        return [id_ for id_ in self.groups if self.groups[id_] not in taken]

    def _moves(self, most: int, source: str) -> Iterator[_Move]:
        """The moves that a member can make, and to whom, at this cost at most, the cheapest first."""
        costs = {shard: cost for shard in self.held[source] if (cost := self._cost(shard, source)) <= most}
        for shard in sorted(costs, key=lambda shard: (costs[shard], shard)):
            beside = [id_ for id_ in self.holders[shard] if id_ != source]
            for id_ in sorted(self._able(beside), key=lambda id_: (len(self.held[id_]), id_)):
                if id_ != source:
                    yield _Move(shard, id_)

    def _cost(self, shard: int, id_: str) -> int:
        """The loss when this member gives this shard up."""
        if id_ not in self.owners[shard]:
            return 0
        ready = [other for other in self.holders[shard] if shard in self.members[other].caught_up]
        if id_ not in ready:
            return 1
        return DEAREST if len(ready) == 1 else 2 + (self.owners[shard][0] == id_)


def _active(eligible: Holders, ids: Iterable[str]) -> dict[int, str]:
    """The active holder of each shard, one of those that are eligible: where shares allow it, the first of them."""
    active = {shard: able[0] for shard, able in eligible.items() if able}

    def moves(source: str) -> Iterator[_Move]:
        for shard, id_ in active.items():
            if id_ == source:
                yield from (_Move(shard, other) for other in eligible[shard] if other != source)

    ids = tuple(ids)
    while chain := _chain({id_: list(active.values()).count(id_) for id_ in ids}, moves):
        active.update({move.shard: move.to for move, _ in chain})
    return active


def _chain(shares: Mapping[str, int], moves: Callable[[str], Iterable[_Move]]) -> list[tuple[_Move, str]]:
    """The shortest chain of moves from a member with much to one with two fewer, with who gives; empty if none.

    Each member in between gives on what it takes. The last move stands first: so each is possible when it is made.
    """
    least = min(shares.values())
    for source in sorted(shares, key=lambda id_: (-shares[id_], id_)):
        if shares[source] - least < 2:
            break
        chains: dict[str, list[tuple[_Move, str]]] = {source: []}
        waiting = deque([source])
        while waiting:
            here = waiting.popleft()
            for move in moves(here):
                if move.to in chains or move.shard in [before.shard for before, _ in chains[here]]:
                    continue
                chains[move.to] = [(move, here), *chains[here]]
                if shares[move.to] <= shares[source] - 2:
                    return chains[move.to]
                waiting.append(move.to)
    return []
