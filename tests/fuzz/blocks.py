"""Index blocks: one that contradicts itself is ``UnreadableRecord``; two that contradict each other, ``Refused``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
from atheris import FuzzedDataProvider

from crawler_plugin.wire.errors import Refused, UnreadableRecord
from crawler_plugin.wire.messages import Block
from tests.index.logs import plain_log
from worker.index.blocks import cover, tombstones, unpack

LOG = plain_log(3)
BLOCKS = [msgspec.to_builtins(LOG.block(after, to), builtin_types=(bytes,)) for after, to in ((-1, 0), (-1, 1), (0, 2))]
EDGES = [-1, 0, 1, 2, 3, 2**31, 2**62, 2**63 - 1, -(2**63), 2**64 - 1]


def attack(data: bytes) -> None:
    """Change some fields of good blocks."""
    given = FuzzedDataProvider(data)
    blocks = []
    for fields in BLOCKS:
        changed: list[Any] = list(fields)
        for _ in range(given.ConsumeIntInRange(0, 3)):
            place = given.ConsumeIntInRange(0, len(changed) - 1)
            changed[place] = _another(changed[place], given)
        try:
            blocks.append(msgspec.msgpack.decode(msgspec.msgpack.encode(changed), type=Block))
        except (msgspec.DecodeError, OverflowError):
            continue
    for block in blocks:
        try:
            entries = unpack(block)
            assert entries.ascending
            list(entries.urls)
        except UnreadableRecord:
            continue
    try:
        covered = cover(blocks)
    except Refused:
        return
    assert covered.end >= -1
    tombstones({bytes([number]): block.to for number, block in enumerate(blocks)}, covered.floor)
    with suppress(UnreadableRecord):
        assert covered.entries().ascending


def _another(value: Any, given: FuzzedDataProvider) -> Any:
    if isinstance(value, int):
        return given.PickValueInList(EDGES) if given.ConsumeBool() else given.ConsumeInt(8)
    if isinstance(value, bytes):
        place = given.ConsumeIntInRange(0, len(value))
        more = given.ConsumeBytes(given.ConsumeIntInRange(0, 40))
        return value[:place] + more + value[place + len(more) * given.ConsumeBool() :]
    items = list(value)
    if items and given.ConsumeBool():
        place = given.ConsumeIntInRange(0, len(items) - 1)
        items[place] = _another(items[place], given)
        return items
    return items[:-1] if given.ConsumeBool() else items * 2


def seeds() -> Iterator[bytes]:
    """Inputs that change little and much."""
    yield b""
    yield bytes(range(256))
    yield b"\xff" * 200
