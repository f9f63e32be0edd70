"""The beginning of a generation whose index is copied while the generation before works."""

from __future__ import annotations

import pytest

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.messages import Batch, encode
from crawler_plugin.wire.page_headers import Headers
from crawler_plugin.wire.topics import FINGERPRINTS
from tests.simulation.memory_log import MemoryLog, World
from worker.stream.inheritance import Inheritance, decoded, encoded
from worker.stream.log import Committed, NotYet
from worker.stream.policy import CONSUMED_HEADER, COPIED, LIVE_HEADER

LIVE = (LIVE_HEADER, b"1")
GIVEN = {0: Committed(7, "1 2 0"), 3: Committed(0, "1 2 0 @5")}
MARKER = encode(Batch(scheme=COPIED, writer=b"copy", count=0))


def world(*headers: Headers) -> World:
    """A new generation with records with these headers."""
    made = World(partitions=4, shards=1)
    for each in headers:
        made.topics[FINGERPRINTS, 0].append(0, b"", MARKER, each, 0)
    return made


def test_what_was_given_is_what_is_read() -> None:
    assert decoded(encoded(GIVEN)) == GIVEN


def test_while_the_copy_goes_on_nobody_begins_and_at_its_end_everybody_does() -> None:
    here = world((LIVE,))
    inherited = Inheritance(MemoryLog(here, "w"))
    for _ in range(2):
        with pytest.raises(NotYet):
            inherited.consumed(0)
    last = [LIVE, (CONSUMED_HEADER, encoded(GIVEN))]
    here.topics[FINGERPRINTS, 0].append(0, b"", MARKER, last, 0)
    assert [inherited.consumed(number) for number in range(4)] == [GIVEN[0], None, None, GIVEN[3]]
    assert Inheritance(MemoryLog(here, "another")).consumed(3) == GIVEN[3]


@pytest.mark.parametrize("headers", [(), ((),), ((), (LIVE,))])
def test_a_generation_of_its_own_or_that_was_copied_at_rest_inherits_nothing(headers: tuple[Headers, ...]) -> None:
    assert Inheritance(MemoryLog(world(*headers), "w")).consumed(0) is None


@pytest.mark.parametrize("header", [b"", b"[]", b"{", b'{"a": [1, "x"]}', b'{"0": 1}', b'{"0": [1]}', b"[" * 9999])
def test_an_end_that_no_copy_has_written_is_refused(header: bytes) -> None:
    here = world([LIVE, (CONSUMED_HEADER, header)])
    with pytest.raises(Refused, match="the last record of a copy on fingerprints cannot be read"):
        Inheritance(MemoryLog(here, "w")).consumed(0)
