"""Fill the index topic of a broker with survivors as workers would have written them, at the speed of the broker."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.messages import Batch, Block, encode
from crawler_plugin.wire.topics import FINGERPRINTS, INDEX
from worker.compose.worker import kafka_log
from worker.config import Settings
from worker.index.blocks import Header, pack
from worker.index.entries import COLUMNS, Entries, Survivor
from worker.index.urls import pack_urls
from worker.stream.kafka.connection import client_options
from worker.stream.log import Sent, Ticket
from worker.stream.policy import SCHEME_HEADER, Policy

MILLION: Final = 1_000_000
BLOCK: Final = 4096
"""Survivors a block, the default of index.flush_entries."""
_OUTSTANDING: Final = 64
_PATIENCE: Final = 120.0
_MADE_UP: Final = ("fingerprint", "text_hash", "url_hash")


def fill(settings: Settings, rules: Policy, entries: int) -> int:
    """Write ``entries`` survivors over all shards, one block of each shard a batch; returns the number of batches.

    Fingerprints and hashes are random. Each block has the same URLs, of usual length: packing different URLs would
    take longer than all the rest.

    Raises:
        Unavailable: the broker does not take them.
    """
    log = kafka_log(settings, client_options(settings.kafka), rules.writer)
    headers = [(SCHEME_HEADER, rules.scheme_text)]
    batches = -(-entries // (BLOCK * rules.shards))
    empty = encode(Batch(scheme=rules.scheme, writer=rules.writer, count=0))
    sent: deque[Ticket] = deque()
    try:
        for _ in range(batches):
            sent.append(log.append(FINGERPRINTS, 0, None, empty, headers))
        for number in range(rules.shards):
            share = entries // rules.shards + (number < entries % rules.shards)
            for key, block in enumerate(blocks(rules, number, share, batches)):
                _wait(sent, _OUTSTANDING)
                sent.append(log.append(INDEX, number, key.to_bytes(16, "big"), encode(block), headers))
        _wait(sent, 0)
    finally:
        log.close(settings.shutdown.seconds)
    return batches


def blocks(rules: Policy, shard: int, entries: int, batches: int) -> Iterator[Block]:
    """A block a batch, whether it has entries or not: all shards stand at the same batch in the end."""
    random = np.random.default_rng(shard)
    template = pack(
        Entries.from_rows([_survivor(place) for place in range(BLOCK)]),
        Header(
            scheme=rules.scheme,
            writer=rules.writer,
            shard=shard,
            after=-1,
            to=0,
            answers_offset=0,
            watermark=0,
            claimed_up_to={},
            floor=-1,
            clocks=((0, 0),),
        ),
    )
    for batch in range(batches):
        count = min(BLOCK, max(0, entries - batch * BLOCK))
        columns: dict[str, Any] = {
            name: getattr(template, name)[: count * dtype.itemsize] for name, dtype in COLUMNS.items()
        }
        columns |= {name: random.bytes(count * 8) for name in _MADE_UP}
        columns["batch"] = np.full(count, batch, np.int64).tobytes()
        urls = template.urls if count == BLOCK else pack_urls([_url(place) for place in range(count)])
        clocks = ((batch, 0),) if count else ()
        yield msgspec.structs.replace(
            template, after=batch - 1, to=batch, count=count, clocks=clocks, urls=urls, **columns
        )


def _survivor(place: int) -> Survivor:
    return Survivor(order=(0, place), url=_url(place), fingerprint=1, text_hash=1, tokens=200, fetched=1)


def _url(place: int) -> str:
    return f"https://www.example-{place % 97}.com/articles/2026/{place * 2654435761 % 2**40:011x}.html"


def _wait(sent: deque[Ticket], most: int) -> None:
    """Wait until at most ``most`` records are on their way."""
    deadline = time.monotonic() + _PATIENCE
    while len(sent) > most:
        if sent[0].state is Sent.DONE:
            sent.popleft()
        elif sent[0].state is Sent.FAILED or time.monotonic() > deadline:
            raise Unavailable("the broker did not take a record that fills its topics; look at its log, and try again")
        else:
            time.sleep(0.001)
