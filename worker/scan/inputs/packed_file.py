"""What the readers of files have in common: the file, how it is packed, and how much of it was read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Final, Protocol

from worker.scan.inputs.opening import Reading, StoredFile
from worker.scan.inputs.records import ArchivedPage, BrokenRecord, Fate, Fates
from worker.scan.inputs.transcoding import Transcoder, encoding_of, transcoded
from worker.scan.inputs.unpacking import Compression, UnpackedPiece, pieces

_BEGINNING: Final = 64 * 1024


class SupportsWrite(Protocol):
    """Where bytes can be written to."""

    def write(self, content: bytes, /) -> Any:
        """All of them."""


class PackedFile:
    """A file that is an archive, packed or not. The classes made from it say what its content means."""

    kind: str

    def __init__(
        self, file: StoredFile, compression: Compression | None, most_bytes: int, named: str | None = None
    ) -> None:
        self.file = file
        self.compression = compression
        self.most_bytes = most_bytes
        self._named = named
        self.encoding: str | None = None
        """From which it is transcoded when it is read, and back when it is written; None where its bytes are taken as
        they are. Of files of rows, ``transcode`` says it."""
        self._passed_over: Counter[str] = Counter()
        self._reading: Reading | None = None

    def transcode(self) -> None:
        """From now on, read the file in the encoding that it is in, or that the user named."""
        self.encoding = encoding_of(self.beginning(), self._named)

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
    def stated(self) -> Mapping[str, str]:
        """What the user said of the file besides the names of fields, as ``Fields`` calls it."""
        return {} if self._named is None else {"file_encoding": self._named}

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
        """What the file holds, unpacked and in UTF-8, from the first byte on."""
        self._passed_over = Counter()
        reading = self._reading = self.file.open()
        try:
            unpacked = pieces(reading, self.compression)
            yield from unpacked if self.encoding is None else transcoded(unpacked, self.encoding)
        finally:
            reading.close()

    def beginning(self) -> bytes:
        """The first bytes that can be unpacked, at least so many that lines and columns show in them."""
        found = b""
        for piece in self.pieces():
            found += piece.content
            if len(found) >= _BEGINNING:
                break
        return found

    @contextmanager
    def packed_target(self, target: Path) -> Generator[SupportsWrite]:
        """What is written here is packed, and transcoded, as the file is."""
        with ExitStack() as stack:
            out: IO[bytes] = stack.enter_context(target.open("wb"))
            if self.compression is not None:
                out = stack.enter_context(self.compression.writer(out))
            yield out if self.encoding is None else Transcoder(out, self.encoding)


class RowsOfBytes(PackedFile, ABC):
    """One in which each page is a stretch of bytes, its row: the class made from it says where rows are."""

    def write_parts(self, kept: Path, removed: Path | None, fates: Fates) -> list[BrokenRecord]:
        """As ``ManyPages`` has it."""
        with ExitStack() as stack:
            write = [stack.enter_context(self.rows_target(path)) for path in (kept, removed) if path is not None]
            for row, page in self.rows_of_pages():
                fate = fates.of(page)
                if fate.stays or removed is not None:
                    write[0 if fate.stays else 1](row if fate.verdict is None else self.marked(row, fate))
        return []

    @abstractmethod
    def rows_of_pages(self) -> Iterator[tuple[bytes, ArchivedPage]]:
        """Each page with the bytes that hold it."""

    @abstractmethod
    def rows_target(self, target: Path) -> AbstractContextManager[Callable[[bytes], None]]:
        """What writes rows into a file, with all that goes before and behind them."""

    @abstractmethod
    def marked(self, row: bytes, fate: Fate) -> bytes:
        """The row with the fields ``MARKS``."""
