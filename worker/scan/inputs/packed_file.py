"""What the readers of files have in common: the file, how it is packed, and how much of it was read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from worker.scan.inputs.opening import Reading, StoredFile
from worker.scan.inputs.unpacking import Compression, UnpackedPiece, pieces


class PackedFile:
    """A file that is an archive, packed or not. The classes made from it say what its content means."""

    kind: str

    def __init__(self, file: StoredFile, compression: Compression | None, most_bytes: int) -> None:
        self.file = file
        self.compression = compression
        self.most_bytes = most_bytes
        self._passed_over: Counter[str] = Counter()
        self._reading: Reading | None = None

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def below(self) -> str:
        return self.file.below

    @property
    def form(self) -> str:
        return f"{self.kind}+{self.compression.name}" if self.compression else self.kind

    @property
    def fields(self) -> Mapping[str, str]:
        return {}

    @property
    def passed_over(self) -> Mapping[str, int]:
        return dict(self._passed_over)

    @property
    def bytes_in_all(self) -> int | None:
        return self.file.size

    @property
    def bytes_read(self) -> int:
        return self._reading.position if self._reading else 0

    def pieces(self) -> Iterator[UnpackedPiece]:
        """What the file holds, unpacked, from the first byte on."""
        self._passed_over = Counter()
        reading = self._reading = self.file.open()
        try:
            yield from pieces(reading, self.compression)
        finally:
            reading.close()

    @contextmanager
    def packed_target(self, target: Path) -> Generator[IO[bytes]]:
        """What is written here is packed as the file is."""
        with target.open("wb") as packed:
            if self.compression is None:
                yield packed
            else:
                with self.compression.writer(packed) as unpacked:
                    yield unpacked


@contextmanager
def renamed_when_whole(target: Path) -> Generator[Path]:
    """A name beside the target to write to; it becomes the target when all of it is on the disk."""
    beside = target.with_name(target.name + ".tmp")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield beside
        with beside.open("rb+") as written:
            os.fsync(written.fileno())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
