"""From a pipe only plain values of the declared types and lengths are accepted."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import Refused, Stop, Unavailable, UsageError
from worker.pool.frames import OUTCOME, Complaint, FrameKind, Hindrance, Malformed, head_of, most_bytes, pack, read

MOST = 1000
COMPLAINTS = msgspec.msgpack.Decoder(Complaint)


@given(st.sampled_from(FrameKind), st.integers(0, 2**64 - 1), st.binary(max_size=20), st.integers(0, 40))
def test_a_head_is_read_as_soon_as_it_is_whole_wherever_it_begins(
    kind: FrameKind, number: int, before: bytes, cut: int
) -> None:
    length = most_bytes(kind, MOST)
    received = bytearray(before + OUTCOME.pack(kind, number, length))[: len(before) + cut]
    whole = cut >= OUTCOME.size
    assert head_of(received, len(before), MOST) == ((kind, number, length) if whole else None)


@pytest.mark.parametrize("kind", FrameKind)
def test_a_payload_that_is_longer_than_its_kind_may_have_is_not_waited_for(kind: FrameKind) -> None:
    received = bytearray(OUTCOME.pack(kind, 1, most_bytes(kind, MOST) + 1))
    with pytest.raises(Malformed, match=f"of kind {kind.name} with "):
        head_of(received, 0, MOST)


def test_a_result_may_be_as_long_as_was_asked_for_and_a_child_that_is_ready_says_nothing_else() -> None:
    assert [most_bytes(kind, MOST) for kind in (FrameKind.RESULT, FrameKind.READY, FrameKind.OUT_OF_MEMORY)] == [
        MOST,
        0,
        0,
    ]


def test_an_unknown_kind_is_malformed() -> None:
    with pytest.raises(Malformed, match="kind 77"):
        head_of(bytearray(OUTCOME.pack(77, 1, 0)), 0, MOST)


def test_arrays_go_through_as_their_bytes() -> None:
    column = np.arange(5, dtype="<u8")
    assert msgspec.msgpack.decode(pack([column, memoryview(b"ab")])) == [column.tobytes(), b"ab"]


@pytest.mark.parametrize("value", [object(), [lambda: None], {1: print}])
def test_what_is_no_plain_value_is_not_packed(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot be handed to another process"):
        pack(value)


@pytest.mark.parametrize(
    "payload",
    [b"", b"\xc1", pack(["not a reason!", ""]), pack(["reason"]), pack(["reason", "x" * 501]), pack([b"\xff", ""])],
)
def test_a_payload_of_another_type_is_malformed(payload: bytes) -> None:
    with pytest.raises(Malformed, match="cannot be read"):
        read(payload, COMPLAINTS)


@pytest.mark.parametrize("kind", [UsageError, Unavailable, Refused])
def test_a_stop_in_the_child_is_the_same_stop_in_the_parent(kind: type[Stop]) -> None:
    assert type(Hindrance(kind.__name__, "do this").as_stop()) is kind
    assert str(Hindrance(kind.__name__, "do this").as_stop()) == "do this"


@pytest.mark.parametrize("name", ["Stop", "SystemExit", "PageError", ""])
def test_a_child_names_no_other_class_than_a_stop(name: str) -> None:
    assert type(Hindrance(name, "do this").as_stop()) is Stop
