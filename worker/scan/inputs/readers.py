"""Readers of files that other distributions bring: ``FormReader`` objects under the entry point group ``GROUP``."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final, Protocol

from crawler_plugin.wire.errors import Stop, UsageError
from worker.local.page import FetchedPage
from worker.scan.inputs.opening import StoredFile
from worker.scan.inputs.packed_file import PackedFile, RowsOfBytes
from worker.scan.inputs.records import ArchivedPage, BrokenRecord, Fate, RecordPlace
from worker.scan.inputs.unpacking import Compression

GROUP: Final = "crawl_dedup.readers"


class FormReader(Protocol):
    """What reads files of one form. The name of its entry point is the name of the form.

    A file reaches it unpacked, and survivors are packed again, so it need not know of compression.
    """

    def begins(self, beginning: bytes) -> bool:
        """Whether a file that begins so, with 64 KiB or all of it, is of this form."""

    def pages(self, pieces: Iterable[bytes]) -> Iterable[tuple[bytes, FetchedPage | None]]:
        """Each page with the stretch of the file that holds it, in order.

        All stretches joined are the file: what separates pages belongs to one of them. A stretch with None is of no
        page, such as the head of the file, and is written whichever pages stay. ``pieces`` are the file, cut anywhere.
        Each call has to give the same, and hold no more than a page or two.

        Raises:
            ValueError: nothing can be read from here on. The rest of the file is one dead letter.
        """


@cache
def readers() -> tuple[tuple[str, FormReader], ...]:
    """All that are installed, by the names of their forms.

    Raises:
        UsageError: one cannot be loaded.
    """
    found = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            reader: Any = entry.load()
        except Exception as error:
            raise UsageError(
                f"the reader {entry.name} ({entry.value}) cannot be loaded ({type(error).__name__}: {error}): mend or "
                "uninstall the distribution that brings it"
            ) from error
        found.append((entry.name, reader() if isinstance(reader, type) else reader))
    return tuple(found)


def read_by_others(file: StoredFile, compression: Compression | None, most_bytes: int) -> ExtraFile | None:
    """The file as the first reader takes it that says it is of its form; None where none does."""
    if not readers():
        return None
    beginning = PackedFile(file, compression, most_bytes).beginning()
    for name, reader in readers():
        if reader.begins(beginning):
            return ExtraFile(file, compression, most_bytes, name, reader)
    return None


class ExtraFile(RowsOfBytes):
    """A file of a form that a ``FormReader`` knows."""

    def __init__(
        self, file: StoredFile, compression: Compression | None, most_bytes: int, name: str, reader: FormReader
    ) -> None:
        super().__init__(file, compression, most_bytes)
        self.kind = name
        self._reader: Final = reader

    def records(self) -> Iterator[ArchivedPage | BrokenRecord]:
        """As ``Archive`` has it."""
        for _, record in self._stretches():
            if record is not None:
                yield record

    def rows_of_pages(self) -> Iterator[tuple[bytes, ArchivedPage | None]]:
        for stretch, record in self._stretches():
            if not isinstance(record, BrokenRecord):
                yield stretch, record

    @contextmanager
    def rows_target(self, target: Path) -> Generator[Callable[[bytes], None]]:
        with self.packed_target(target) as out:
            yield out.write

    def marked(self, row: bytes, fate: Fate) -> bytes:
        raise UsageError(
            f"{self.name} is {self.kind}, whose pages have no room for a mark: write without --duplicates tag"
        )

    def _stretches(self) -> Iterator[tuple[bytes, ArchivedPage | BrokenRecord | None]]:
        offset = 0
        try:
            for stretch, page in self._reader.pages(self._contents()):
                place = RecordPlace(self.name, offset)
                offset += len(stretch)
                if page is None:
                    yield stretch, None
                elif len(stretch) > self.most_bytes:
                    detail = f"{len(stretch)} bytes, at most {self.most_bytes} are read"
                    yield stretch, BrokenRecord(place, "too-large", detail)
                else:
                    yield stretch, ArchivedPage(place, str(page.id or page.url), page)
        except ValueError as error:
            yield b"", BrokenRecord(RecordPlace(self.name, offset), "damaged", str(error))
        except Stop:
            raise
        except Exception as error:
            raise UsageError(
                f"the reader {self.kind} failed on {self.name}, from byte {offset} on ({type(error).__name__}: {error})"
                ": mend or uninstall the distribution that brings it"
            ) from error

    def _contents(self) -> Iterator[bytes]:
        for piece in self.pieces():
            if piece.damage:
                raise ValueError(f"{piece.damage} (byte {piece.begins} of the file as it is stored)")
            yield piece.content
