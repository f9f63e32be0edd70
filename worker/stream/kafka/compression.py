"""Compresses the records of a batch; ``worker.stream.kafka.decompression`` unpacks them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Final, TypeAlias

ZSTD_LEVEL: Final = 1
"""Level 3, which kafka-python takes, makes batches of pages a tenth smaller for two fifths more time. Level -5 and lz4
take a fifth less time, and what they leave is half as large again."""

Pack: TypeAlias = Callable[[memoryview], bytes]
"""Makes of the records of a batch what stands in their place. Not for several threads at once."""


def packing(compression: str) -> Pack | None:
    """That of ``topics.compression``: ``zstd``, or None for ``none``."""
    if compression == "none":
        return None
    pack: Pack = importlib.import_module("zstandard").ZstdCompressor(level=ZSTD_LEVEL).compress
    return pack
