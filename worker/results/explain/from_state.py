"""What a state has kept of a page: the record of a survivor, which holds no text."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import closing
from pathlib import Path

import numpy as np

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.messages import Block
from crawler_plugin.wire.urls import id_or_url
from worker.compose.parts import scheme
from worker.config import Settings
from worker.evaluate.literature.explained import Explained
from worker.fingerprint.fingerprinter import Recipe
from worker.fingerprint.hashing import WORD_BITS, hash_bytes
from worker.index.blocks import cover
from worker.index.entries import Survivor
from worker.local.deduplicator import alone
from worker.local.state_file import BLOCKS, StateFile


def survivors_of(folder: Path, settings: Settings, made: Recipe, urls: tuple[str, str]) -> tuple[Survivor, Survivor]:
    """The records that a state has kept of two canonical URLs.

    Raises:
        UsageError: there is no state, or it has kept nothing of one of them.
        Refused: the state is open, damaged or of other settings.
    """
    if not (folder / BLOCKS).is_file():
        raise UsageError(f"{folder} holds no state: name a folder that scan --state or worker.local has written")
    with closing(StateFile(folder, scheme(alone(settings), made))) as state:
        found = newest_survivors(list(state.blocks()), urls)
    for url in urls:
        if url not in found:
            raise UsageError(
                f"{folder} has kept nothing of {id_or_url(url)}: it was never judged, was near to an earlier page, or "
                "has expired. Give the URL, with its scheme, that its verdict names as duplicate_of, or duplicate_of_id"
            )
    return found[urls[0]], found[urls[1]]


def newest_survivors(blocks: Iterable[Block], urls: Collection[str]) -> dict[str, Survivor]:
    """For each of these canonical URLs the survivor that was stored last, if there is one."""
    wanted = np.array([hash_bytes(url.encode()) for url in urls], np.uint64)
    found: dict[str, Survivor] = {}
    for piece in cover(blocks).pieces:
        entries = piece.entries()
        for row in np.flatnonzero(np.isin(entries.url_hash, wanted)).tolist():
            (survivor,) = entries[row : row + 1]
            if survivor.url in urls:
                found[survivor.url] = survivor
    return found


def as_explained(survivor: Survivor) -> Explained:
    """Everything that is known of it. Words, features and votes are not."""
    return Explained(
        bits=WORD_BITS,
        fingerprint=survivor.fingerprint,
        text_hash=survivor.text_hash,
        language="",
        reason="too few features" if survivor.fingerprint is None else None,
        words=(),
        tokens=survivor.tokens,
        features=(),
        sums=(),
        ordinary={},
        sketch=survivor.sketch,
        bands=survivor.bands,
        site=survivor.site,
        title=survivor.title,
        title_words=survivor.title_words,
        doubt=survivor.doubt,
    )
