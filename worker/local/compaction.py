"""Fewer and fuller blocks in place of many small ones and of expired ones."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import Final

from crawler_plugin.wire.messages import Block
from worker.index.blocks import Header, Piece, cover, pack, suspects_of
from worker.index.entries import Entries
from worker.verdict.titles_of_texts import START, TitlesOfTexts

_FULL: Final = 1 << 14
"""A block with this many entries or more takes no further ones."""
_FEW: Final = 64
"""Number of blocks that is never too many. A block of one page, as ``durable`` verdicts leave them, takes as long to
load as hundreds of pages in one block."""
_MOST_FORGOTTEN: Final = 1 << 25
"""Bytes of evidence on titles in blocks that a later block repeats."""
_FEWEST_ENTRIES: Final = 256
"""Entries of a block on average, below which there are too many blocks."""


def is_crowded(blocks: Sequence[Block]) -> bool:
    """Whether there are too many blocks for their content, half of that has expired, or they hold much evidence on
    titles that a later block repeats."""
    live = sum(piece.block.count for piece in cover(blocks).pieces)
    many = len(blocks) > _FEW + live // _FEWEST_ENTRIES or 2 * live < sum(block.count for block in blocks)
    return many or sum(len(block.evidence) for block in blocks[: last_start(blocks)]) > _MOST_FORGOTTEN


def last_start(blocks: Sequence[Block]) -> int:
    """The number of the last block that holds all evidence on titles, 0 for none."""
    told = (number for number in range(len(blocks) - 1, 0, -1) if blocks[number].evidence.startswith(START))
    return next(told, 0)


def compacted(blocks: Sequence[Block]) -> list[Block]:
    """Blocks with the same content in fewer records: the survivors that have not expired, and the state after the last.

    The last one holds all their evidence on titles that was not forgotten.
    """
    found: list[Block] = []
    titles = TitlesOfTexts(secret=secrets.token_bytes(16))
    for block in blocks[last_start(blocks) :]:
        titles.learn(block.evidence)
    for pieces in _groups(cover(blocks).pieces):
        last = pieces[-1].block
        header = Header(
            scheme=last.scheme,
            writer=last.writer,
            shard=last.shard,
            after=found[-1].to if found else -1,
            to=last.to,
            answers_offset=last.answers_offset,
            watermark=last.watermark,
            claimed_up_to=dict(last.claimed_up_to),
            floor=last.floor,
            clocks=[clock for piece in pieces for clock in piece.clocks],
            suspects=[order for piece in pieces for order in suspects_of(piece.block)],
        )
        found.append(pack(Entries.concatenate([piece.entries() for piece in pieces]), header))
    found[-1:] = [block.with_evidence(titles.evidence()) for block in found[-1:]]
    return found


def _groups(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Neighbours that make a full block together."""
    group: list[Piece] = []
    entries = 0
    for piece in pieces:
        group.append(piece)
        entries += piece.block.count
        if entries >= _FULL:
            yield group
            group, entries = [], 0
    if group:
        yield group
