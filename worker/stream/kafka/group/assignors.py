"""How the members of a group agree on who owns what, in the client's protocol of consumer groups.

With one holder a shard, and for pages, the client's own assignor serves. With two holders, ``TwoHolders`` gives the
member that leads the group what ``worker.stream.kafka.group.placement`` has to know of each member, and gives each
member its result.

Both are cooperative (KIP-429): a member goes on with the partitions that it keeps while others get theirs. A member
that wants two holders names both assignors, so that it can work in one group with members that want one (while
``index.replicas`` is changed, one worker after the other): as long as there is such a member, the broker lets the
client's own assignor decide, which does not keep holders apart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from kafka import TopicPartition
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from worker.stream.kafka.group.placement import JoiningMember, place
from worker.stream.log import Held, Role

WITH_GENERATION_AND_RACK: Final = 3
"""The version of a subscription that says what a member owns, as of which generation, and on which rack it is."""


class Sticky(CooperativeStickyAssignor):  # type: ignore[misc]
    """The client's own assignor; ``heard`` is called with each assignment and its generation, in the client's
    thread.

    ``partitions`` is how many partitions each topic had for the member that made the last assignment. The broker gives
    a member with a name of its own that comes back its old assignment, and does not say that it leads the group
    (KIP-345), so that no one would assign partitions that were added since.
    """

    def __init__(self) -> None:
        super().__init__()
        self.heard: Callable[[frozenset[TopicPartition], int], None] = lambda assigned, generation: None
        self.partitions: dict[str, int] = {}

    def assign(self, cluster: Any, members: Sequence[Any]) -> dict[str, ConsumerProtocolAssignment]:
        """What each member gets; called in the member that leads the group."""
        topics = {topic for member in members for topic in member.metadata.topics}
        partitions = {topic: len(cluster.partitions_for_topic(topic) or ()) for topic in topics}
        assigned: dict[str, ConsumerProtocolAssignment] = super().assign(cluster, members)
        for each in assigned.values():
            each.user_data = json.dumps({"partitions": partitions}).encode()
        return assigned

    def on_assignment(self, assignment: Any, generation: int) -> None:
        super().on_assignment(assignment, generation)
        said = _parsed(assignment.user_data).get("partitions")
        told = said.items() if isinstance(said, dict) else ()
        self.partitions = {topic: count for topic, count in told if isinstance(count, int)}
        self.heard(frozenset(assignment.partitions()), generation)


class TwoHolders(AbstractPartitionAssignor):  # type: ignore[misc]
    """Places an active holder and a standby of each shard on different workers, and racks.

    ``roles`` has the names of the two topics whose partitions stand for the roles of the shards. ``consumer`` is the
    member's own, to be set before it joins. The member sends ``caught_up``, the shards that it could answer for, when
    it joins next. ``alone`` and ``provisional`` came with the last assignment, see ``Placement``. ``sticky`` is the
    assignor that the member names in addition; it has to know of each assignment, whichever assignor made it.
    """

    name = "two-holders"

    def __init__(self, roles: dict[str, Role], shards: int, worker: str, rack: str) -> None:
        self.sticky = Sticky()
        self.consumer: Any = None
        self.caught_up: frozenset[int] = frozenset()
        self.alone: frozenset[int] = frozenset()
        self.provisional = False
        self.roles = roles
        self._shards = shards
        self._worker = worker
        self._rack = rack

    def supported_protocols(self) -> list[RebalanceProtocol]:
        return [RebalanceProtocol.COOPERATIVE]

    def metadata(self, topics: set[str]) -> ConsumerProtocolSubscription:
        """What this member says about itself when it joins."""
        owned = sorted(self.consumer.assignment())
        return ConsumerProtocolSubscription(
            version=WITH_GENERATION_AND_RACK,
            topics=sorted(topics),
            user_data=json.dumps({"worker": self._worker, "caught_up": sorted(self.caught_up)}).encode(),
            owned_partitions=[
                ConsumerProtocolSubscription.TopicPartition(
                    topic=topic, partitions=[here.partition for here in owned if here.topic == topic]
                )
                for topic in sorted({here.topic for here in owned})
            ],
            generation_id=self.consumer.group_metadata().generation_id,
            rack_id=self._rack or None,
        )

    def assign(self, cluster: Any, members: Sequence[Any]) -> dict[str, ConsumerProtocolAssignment]:
        """What each member gets; called in the member that leads the group."""
        placed = place([self._joining(member.member_id, member.metadata) for member in members], self._shards)
        user_data = json.dumps({"alone": sorted(placed.alone), "provisional": placed.provisional}).encode()
        assigned = {}
        for id_, units in placed.held.items():
            by_topic = [
                (topic, sorted(held.shard for held in units if held.role is role))
                for topic, role in sorted(self.roles.items())
            ]
            assigned[id_] = ConsumerProtocolAssignment(1, [entry for entry in by_topic if entry[1]], user_data)
        return assigned

    def _joining(self, id_: str, metadata: Any) -> JoiningMember:
        said = _parsed(metadata.user_data)
        owns = frozenset(
            Held(partition, self.roles[topic.topic])
            for topic in metadata.owned_partitions or ()
            for partition in topic.partitions
            if topic.topic in self.roles and partition < self._shards
        )
        return JoiningMember(
            id_,
            str(said.get("worker", id_)),
            metadata.rack_id or "",
            owns,
            frozenset(said.get("caught_up", ())),
            metadata.generation_id,
        )

    def on_assignment(self, assignment: Any, generation: int) -> None:
        said = _parsed(assignment.user_data)
        self.alone = frozenset(said.get("alone", ()))
        self.provisional = bool(said.get("provisional", False))
        self.sticky.on_assignment(assignment, generation)


def _parsed(user_data: bytes | None) -> dict[str, Any]:
    """The data that a member of this program wrote; nothing for a member of another program."""
    try:
        said = json.loads(bytes(user_data or b"{}"))
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
