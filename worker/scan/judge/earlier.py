"""The survivors of a further state, as records: judging goes on with one state, and judges those of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crawler_plugin.wire.messages import Block
from worker.fingerprint.scheme import Scheme
from worker.index.blocks import cover
from worker.index.entries import Entries
from worker.local.state_file import StateFile
from worker.scan.judge.texts import IDS, Texts
from worker.scan.records.schema import SCHEMA


def survivors_of(folder: Path, scheme: Scheme) -> Iterator[pa.RecordBatch]:
    """The survivors of a state in their order, as pages that come now: those near to earlier ones drop out.

    Raises:
        UsageError, Refused: as ``StateFile``.
    """
    with closing(StateFile(folder, scheme)) as state:
        blocks = [*state.blocks()]
    with closing(Texts(folder, IDS, _judged_of(blocks))) as ids:
        for piece in cover(blocks).pieces:
            entries = piece.entries()
            numbers = entries.batch + entries.place
            yield records_of_survivors(entries, str(folder), numbers, ids.at(numbers))


def _judged_of(blocks: Sequence[Block]) -> int:
    """The number of judged pages when the last block was sealed."""
    return 1 + max((dict(block.claimed_up_to).get(0, -1) for block in blocks), default=-1)


def records_of_survivors(
    entries: Entries, file: str, numbers: NDArray[np.int64], ids: pa.Array, scheme: str = ""
) -> pa.RecordBatch:
    """The records of n survivors, as far as a survivor keeps their content.

    Args:
        file: where they stand, as in a record.
        numbers: int64 (n,), the number of each survivor there.
        ids: strings (n,), the names of the pages, null for pages without a name.
        scheme: 16 hex digits for all that reading depends on.
    """
    count = len(entries)

    def kept(name: str) -> NDArray[np.int64]:
        return entries.filled(name).astype(np.uint64).view(np.int64)

    columns: dict[str, Any] = {
        "file": [file] * count,
        "offset": numbers,
        "id": ids,
        "url": list(entries.urls),
        "fetched": entries.fetched,
        "language": [""] * count,
        "tokens": entries.tokens.astype(np.int64),
        "fingerprint": pa.array(entries.fingerprint.view(np.int64), mask=entries.bare),
        "text_hash": entries.text_hash.view(np.int64),
        "sketch": [row.tobytes() for row in entries.filled("sketch")],
        "bands": [row.tobytes() for row in entries.filled("bands")],
        "template": np.zeros(count, np.int64),
        "scheme": [scheme] * count,
        **{name: kept(name) for name in ("scope", "site", "title", "title_words", "doubt")},
    }
    arrays = [pa.array(columns.get(field.name, [None] * count), field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
