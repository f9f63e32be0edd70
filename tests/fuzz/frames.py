"""Frames from a parsing process that a page has taken over: every wrong frame is ``Malformed``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from worker.fingerprint.fingerprinted import Fingerprinted
from worker.pool.frames import (
    OUTCOME,
    RESULT_BYTES,
    Complaint,
    FrameKind,
    Hindrance,
    Malformed,
    Spent,
    head_of,
    pack,
    read,
)

DECODERS: dict[FrameKind, msgspec.msgpack.Decoder[Any]] = {
    FrameKind.RESULT: msgspec.msgpack.Decoder(Fingerprinted),
    FrameKind.PAGE_ERROR: msgspec.msgpack.Decoder(Complaint),
    FrameKind.CANNOT_START: msgspec.msgpack.Decoder(Hindrance),
    FrameKind.SPENT: msgspec.msgpack.Decoder(Spent),
}


def attack(data: bytes) -> None:
    """Read the data as a frame, and as the payload of each kind of frame."""
    try:
        head = head_of(bytearray(data), 0, RESULT_BYTES)
        assert head is None or head[2] <= RESULT_BYTES
    except Malformed:
        pass
    for decoder in DECODERS.values():
        try:
            value = read(data, decoder)
        except Malformed:
            continue
        assert read(pack(value), decoder) == value
        if isinstance(value, Hindrance):
            assert str(value.as_stop()) == value.message


def seeds() -> Iterator[bytes]:
    """One frame of each kind."""
    values = (
        Fingerprinted(2**64 - 1, 5, 9, "zh", None, b"s" * 32, b"b" * 32),
        Complaint("not-text", "it is a picture"),
        Hindrance("UsageError", "set it to auto"),
        {"extract": 0.5},
    )
    for value, kind in zip(values, DECODERS, strict=True):
        payload = pack(value)
        yield payload
        yield OUTCOME.pack(kind, 1, len(payload)) + payload
    yield bytes([0x98]) + pack(values[0])[1:] + b"\x91" * 5000
