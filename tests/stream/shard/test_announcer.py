"""Findings about survivors leave the worker, even where the broker did not take them at first."""

from __future__ import annotations

from crawler_plugin.wire.outcomes import SurvivorFinding
from crawler_plugin.wire.topics import FINDINGS
from tests.simulation.memory_log import MemoryLog, World
from tests.simulation.plain_index import PlainIndex
from tests.stream.script import Listener, policy
from worker.fingerprint.near import SimHashNear
from worker.stream.shard.announcer import Announcer
from worker.stream.shard.live import LiveShard, Standing

FOUND = SurvivorFinding(kind="soft-404", url="http://a.example/", order=(1, 2), copies=9, places=8)


def announcer(world: World) -> tuple[Announcer, Listener]:
    shard = LiveShard(0, policy(shards=1), PlainIndex(SimHashNear(1)), Standing())
    listener = Listener()
    return Announcer(MemoryLog(world, "w"), shard, listener), listener


def test_a_finding_is_sent_under_the_survivors_url_until_it_arrives_and_then_no_more() -> None:
    world = World(partitions=1, shards=1)
    one, listener = announcer(world)
    one.shard.hints.findings.append(FOUND)
    one.step()
    (send,) = world.sends
    world.land(send, lost=True)
    world.limbo.clear()
    one.step()
    for again in list(world.sends):
        world.land(again)
    one.step()
    one.step()
    records = world.topics[FINDINGS, 0].records
    assert [(record.key, SurvivorFinding.decode(record.value).places) for record in records] == [
        (b"http://a.example/", 8)
    ]
    assert SurvivorFinding.decode(records[0].value).scheme == one.shard.policy.scheme.hex()
    assert dict(records[0].headers) == {"kind": b"soft-404"}
    assert listener.told["found"] == [("soft-404",)]
    assert not world.sends


def test_a_suspect_is_told_with_both_urls_besides() -> None:
    one, listener = announcer(World(partitions=1, shards=1))
    suspect = SurvivorFinding(
        kind="suspect", url="http://a.example/1", order=(1, 2), copies=20, page="http://a.example/2"
    )
    one.shard.hints.findings.append(suspect)
    one.step()
    assert listener.told["found"] == [("suspect",)]
    assert listener.told["suspect"] == [(suspect,)]
