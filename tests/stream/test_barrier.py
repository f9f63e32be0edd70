"""A record that no worker wrote stops the crawl before it is decided, and a copy of the index goes on without loss."""

from __future__ import annotations

import pytest

from tests.simulation.place import TwinPlace
from tests.stream.script import FLUSH, SETTLE, Page, Stage, batch, claim, write
from tests.stream.test_repair import everybody_dies
from worker.messages import Claim, encode
from worker.stream.barrier import Barred
from worker.stream.copying import drained
from worker.stream.repair import barrier, plan, survey
from worker.topics import FINGERPRINTS

A, B, C = Page("http://a/", 0b000), Page("http://b/", 0b111), Page("http://c/", 0b111000)


def of_the_future() -> bytes:
    """A batch of a format that this program does not know."""
    value = encode(batch(claim(1)))
    return value[:2] + b"\x09" + value[3:]


FORGED: dict[str, tuple[Claim | None, str]] = {
    "beyond the end of pages": (claim(2**62), f"claims page {2**62} of partition 0, but pages ends there at 3"),
    "at the end of pages": (claim(3), "claims page 3 of partition 0, but pages ends there at 3"),
    "a partition that is not there": (claim(0, partition=5), "claims a page of partition 5, and pages has 1"),
    "a negative partition": (claim(0, partition=-1), "claims a page of partition -1"),
    "a negative offset": (claim(-1), "with values that no worker writes"),
    "a time that no column holds": (claim(1, clock=2**63 - 1), "with values that no worker writes"),
    "of the future": (None, "cannot be read: Batch of format version 9"),
}


@pytest.mark.parametrize("kind", FORGED)
def test_what_lies_before_it_is_decided_and_nothing_from_it_on(kind: str) -> None:
    forged, why = FORGED[kind]
    stage = Stage()
    object.__setattr__(stage.worker.policy, "partitions", 1)
    stage.play(A, SETTLE, B)
    stage.claim()
    stage.publish(C)
    message = of_the_future() if forged is None else batch(forged, writer=b"forger")
    place = write(stage.world, message, FINGERPRINTS)
    with pytest.raises(Barred, match=f"record {place} of fingerprints .*{why}[^$]*index copy --to") as refusal:
        stage.play(SETTLE)
    assert refusal.value.exit_code == 4
    worker = stage.worker
    assert worker.followers[0].place.batch == place
    worker.settle()
    stage.world.settle_down()
    stage.play(FLUSH)
    assert stage.verdicts() == ["http://a/ unique", "http://b/ unique"]

    everybody_dies(stage.world, stage.workers)
    outside = TwinPlace(stage.world)
    surveyed = survey(outside, worker.policy, range(1))
    assert plan(surveyed, worker.policy).empty
    found = barrier(outside, surveyed, worker.policy)
    assert found is not None
    assert found.offset == place
    at_rest = drained(outside, "", worker.policy, range(1))
    assert at_rest.state.knows(0) == 1
    assert at_rest.consumed[0][0].offset == 2


def test_a_log_without_such_a_record_has_no_barrier() -> None:
    stage = Stage().play(A, B, SETTLE)
    outside = TwinPlace(stage.world)
    assert barrier(outside, survey(outside, stage.policy, range(1)), stage.policy) is None
