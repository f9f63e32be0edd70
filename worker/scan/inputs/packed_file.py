"""The common part of the readers of files: the file, its packing, and how much of it was read."""

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
    """An object that bytes can be written to."""

    def write(self, content: bytes, /) -> Any:
        """Write all of them."""


class PackedFile:
    """A file that is an archive, packed or not. Its subclasses say what its content means."""

    kind: str

    def __init__(
        self, file: StoredFile, compression: Compression | None, most_bytes: int, named: str | None = None
    ) -> None:
        self.file = file
        self.compression = compression
        self.most_bytes = most_bytes
        self._named = named
        self.encoding: str | None = None
        """The encoding from which it is transcoded when it is read, and back when it is written; None if its bytes are
        read as they are. For files of rows, ``transcode`` sets it."""
        self._passed_over: Counter[str] = Counter()
        self._reading: Reading | None = None

    def transcode(self) -> None:
        """From now on, read the file in its encoding, or in the encoding that the user named."""
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
        """The user's statements about the file in addition to the names of fields, as ``Fields`` calls them."""
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
        """The content of the file, unpacked and in UTF-8, from the first byte on."""
        self._passed_over = Counter()
        reading = self._reading = self.file.open()
        try:
            unpacked = pieces(reading, self.compression)
            yield from unpacked if self.encoding is None else transcoded(unpacked, self.encoding)
        finally:
            reading.close()

    def beginning(self) -> bytes:
        """The first bytes that can be unpacked, at least as many as show lines and columns."""
        found = b""
        for piece in self.pieces():
            found += piece.content
            if len(found) >= _BEGINNING:
                break
        return found

    @contextmanager
    def packed_target(self, target: Path) -> Generator[SupportsWrite]:
        """A target that packs and transcodes its content in the same way as the file."""
        with ExitStack() as stack:
            out: IO[bytes] = stack.enter_context(target.open("wb"))
            if self.compression is not None:
                out = stack.enter_context(self.compression.writer(out))
            yield out if self.encoding is None else Transcoder(out, self.encoding)


class RowsOfBytes(PackedFile, ABC):
    """A file in which each page is a stretch of bytes, its row: its subclasses say where rows are."""

    def write_parts(self, kept: Path, removed: Path | None, fates: Fates) -> list[BrokenRecord]:
        """As ``ManyPages.write_parts``."""
        with ExitStack() as stack:
            write = [stack.enter_context(self.rows_target(path)) for path in (kept, removed) if path is not None]
            for row, page in self.rows_of_pages():
                if page is None:
                    for write_row in write:
                        write_row(row)
                    continue
                fate = fates.of(page)
                if fate.stays or removed is not None:
                    write[0 if fate.stays else 1](row if fate.verdict is None else self.marked(row, fate))
        return []

    @abstractmethod
    def rows_of_pages(self) -> Iterator[tuple[bytes, ArchivedPage | None]]:
        """Each page with the bytes that hold it; None with bytes that are written whichever pages stay."""

    @abstractmethod
    def rows_target(self, target: Path) -> AbstractContextManager[Callable[[bytes], None]]:
        """A target that writes rows into a file, with everything that goes before and after them."""

    @abstractmethod
    def marked(self, row: bytes, fate: Fate) -> bytes:
        """The row with the fields ``MARKS``."""
