"""Compresses the records of a batch; ``worker.stream.kafka.decompression`` unpacks them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Final, TypeAlias

ZSTD_LEVEL: Final = 1
"""Level 3, which kafka-python uses, makes batches of pages a tenth smaller for two fifths more time. Level
-5 and lz4 take a fifth less time, and their output is half as large again."""

Pack: TypeAlias = Callable[[memoryview], bytes]
"""Turns the records of a batch into their compressed form. Not for several threads at once."""


def packing(compression: str) -> Pack | None:
    """The packing for ``topics.compression``: ``zstd``, or None for ``none``."""
    if compression == "none":
        return None
    pack: Pack = importlib.import_module("zstandard").ZstdCompressor(level=ZSTD_LEVEL).compress
    return pack
