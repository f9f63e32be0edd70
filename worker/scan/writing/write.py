"""Writes copies of archives with the pages that stay, one archive after the other, each separately.

::

    verdicts ─► staying ─► fates of an archive's pages ─► its copy ─► .written/NAME.json
    archives ──────────────────────────────────────────────┘

A copy gets its name only when it is whole. ``.written`` records for each the decisions that it was begun with, and when
it is whole: a second run with the same decisions goes on after the whole copies, and a run with other decisions is
refused. So any number of processes, on any machines, can each write their part of the archives to one place.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path
from typing import Final, Literal, cast, get_args

import msgspec
import numpy as np

from crawler_plugin.wire.errors import Refused, Unavailable, UsageError
from crawler_plugin.wire.files import HeldFile
from worker.places import Folder
from worker.results.groups.keep import Keep
from worker.results.groups.nearness import Near
from worker.scan.inputs.archive_ref import ArchiveRef, now_at
from worker.scan.inputs.files import PageFiles
from worker.scan.inputs.records import Archive, BrokenRecord, Fate, Fates, ManyPages, Original, RecordPlace
from worker.scan.inputs.tables.parquet_rows import ParquetRows
from worker.scan.writing.copy_paths import PROGRESS, refuse_read_ones, safe, targets
from worker.scan.writing.staying import NOWHERE, Staying, staying, times
from worker.scan.writing.verdict_columns import VerdictColumns
from worker.verdict.decide import DEAD, DUPLICATE, UNIQUE

Duplicates = Literal["drop", "tag", "revisit"]
DUPLICATES: Final = get_args(Duplicates)
_COLUMNS: Final = ("file", "offset", "id", "verdict", "url", "duplicate_of", "duplicate_of_id")
_NO_MARKS: Final = ("arc", "files", "none")
_PIECE: Final = 1024 * 1024
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class JudgedArchive:
    """An archive: its recorded reference, and the object that opens it."""

    ref: ArchiveRef
    open: Callable[[], Archive]


@dataclass(frozen=True, kw_only=True)
class Writing:
    """What to write, and where.

    ``duplicates`` says what happens to pages that do not stay: they are left out, or stay with a mark, or a WARC names
    for them the page that stays. ``removed`` is where they go in their own form. ``part`` is one of several: each
    writes its share of the archives. ``moved`` gives the present beginnings of file names in verdicts.
    """

    out: Folder
    removed: Folder | None = None
    keep: Keep = "first"
    duplicates: Duplicates = "drop"
    part: tuple[int, int] = (1, 1)
    moved: dict[str, str]

    @property
    def with_originals(self) -> bool:
        """Whether anything is written about the page that stays, in addition to its verdict."""
        return self.duplicates == "revisit"


class ArchiveCopy(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of an archive's copy. ``decisions`` stand for everything that it is made of. When it is ``whole``,
    it has ``pages`` of the archive, of which ``stay`` stay; ``lost`` could not be read a second time."""

    decisions: str
    whole: bool = False
    pages: int = 0
    stay: int = 0
    lost: int = 0


@dataclass
class WrittenCopies:
    """The copies that were written. ``archives`` counts them, including those that were whole ``before``, ``split`` the
    groups of which two pages stay."""

    archives: int = 0
    before: int = 0
    pages: int = 0
    stay: int = 0
    lost: int = 0
    split: int = 0


def refuse_unwritable(archives: Sequence[Archive], out: Folder) -> None:
    """Try the steps of ``write_archives``, before hours go into verdicts.

    Raises:
        UsageError: a copy would take the place of an archive, or the archive cannot be copied.
    """
    refs = [ArchiveRef.of(archive) for archive in archives]
    refuse_read_ones(refs, targets(refs), out)
    for archive in archives:
        if isinstance(archive, ParquetRows):
            archive.refuse_unwritable()


def write_archives(
    columns: VerdictColumns,
    sources: Sequence[JudgedArchive],
    writing: Writing,
    near: Near | None = None,
    tell: Callable[[ArchiveRef, ArchiveCopy], None] = lambda ref, copied: None,
) -> WrittenCopies:
    """Read the archives once more and write a copy of each; ``sources`` are all archives that ``columns`` holds
    verdicts on, in order. ``near`` is the argument of ``staying``.

    Raises:
        UsageError: the verdicts are those of other archives, a copy would take the place of an archive, or a form has
            no room for marks or revisits.
        Refused: another run has written there, or another process is writing.
        Unavailable: there is no room, or an archive cannot be read to its end.
    """
    refs = [source.ref for source in sources]
    names = targets(refs)
    for folder in filter(None, (writing.out, writing.removed)):
        refuse_read_ones(refs, names, folder)
    _refuse_forms(refs, writing)
    ends = list(accumulate(ref.pages for ref in refs))
    if (ends[-1] if ends else 0) != columns.rows:
        raise UsageError(
            f"there are verdicts on {columns.rows} pages, but the archives have {ends[-1] if ends else 0}: let the "
            "command that judges them end, then write the pages that stay"
        )
    found = staying(columns, writing.keep, near, with_originals=writing.with_originals)
    written = WrittenCopies(split=found.split)
    number, parts = writing.part
    chosen = [
        _OneArchive(columns, source, name, writing, found, range(end - source.ref.pages, end))
        for source, name, end in list(zip(sources, names, ends, strict=True))[number - 1 :: parts]
        if not source.ref.is_files or source.ref.pages
    ]
    preferred = _Preferred(columns, found, [one.rows for one in chosen], writing)
    for one in chosen:
        copied, is_new = one.write(preferred)
        tell(one.ref, copied)
        written.archives += 1
        written.before += not is_new
        written.pages += copied.pages
        written.stay += copied.stay
        written.lost += copied.lost
    return written


def _refuse_forms(refs: Sequence[ArchiveRef], writing: Writing) -> None:
    for ref in refs:
        form = ref.form.partition("+")[0]
        if writing.duplicates == "tag" and form in _NO_MARKS and ref.pages:
            raise UsageError(f"{ref.name} is {ref.form}, which has no room for tags: take --duplicates drop")
        if writing.duplicates == "revisit" and form != "warc" and ref.pages:
            raise UsageError(f"{ref.name} is {ref.form}, and only WARC has revisits: take --duplicates drop or tag")


class _Preferred:
    """URL, id and time of pages that stay in place of their group's survivor, by their rows."""

    def __init__(self, columns: VerdictColumns, found: Staying, spans: Sequence[range], writing: Writing) -> None:
        self._found: Final[dict[int, Original]] = {}
        if found.instead is None or writing.keep == "first" or writing.duplicates == "drop":
            return
        wanted: set[int] = set()
        for span in spans:
            wanted.update(np.unique(found.instead[span.start : span.stop]).tolist())
        rows = np.array(sorted(wanted - {NOWHERE}), np.int64)
        for places, batch in columns.places(("url", "id", "fetched"), rows):
            told = (batch.column(0).to_pylist(), batch.column(1).to_pylist(), times(batch.column(2)).tolist())
            for row, url, id_, time in zip(rows[places].tolist(), *told, strict=True):
                self._found[row] = Original(url, id_, _known(time))

    def of(self, row: int) -> Original | None:
        return self._found.get(row)


class _OneArchive:
    """An archive, its verdicts, and its copy."""

    def __init__(
        self,
        columns: VerdictColumns,
        source: JudgedArchive,
        name: str,
        writing: Writing,
        found: Staying,
        rows: range,
    ) -> None:
        self.ref: Final = source.ref
        self.rows: Final = rows
        self._columns: Final = columns
        self._open: Final = source.open
        self._name: Final = name
        self._writing: Final = writing
        self._found: Final = found
        self._progress: Final = f"{PROGRESS}/{name}.json"
        self._folders: Final = [folder for folder in (writing.out, writing.removed) if folder is not None]

    def write(self, preferred: _Preferred) -> tuple[ArchiveCopy, bool]:
        """The state of its copy now, which is whole, and whether it was not whole before."""
        out = self._writing.out
        decisions = self._decisions()
        with _alone(out, f"{PROGRESS}/{self._name}.lock"):
            content = out.read(self._progress)
            before = None if content is None else self._begun(content)
            if before is not None and before.decisions != decisions:
                raise Refused(
                    f"{out.path(self._name)} was written with other decisions, options or verdicts: name another "
                    f"--out, or remove this copy and {out.path(self._progress)}"
                )
            if before is not None and before.whole:
                return before, False
            if before is None:
                self._refuse_foreign()
                out.write(self._progress, msgspec.json.encode(ArchiveCopy(decisions=decisions)))
            lost = self._copy(preferred, is_begun=before is not None)
            stay = self._found.stays[self.rows.start : self.rows.stop]
            copied = ArchiveCopy(
                decisions=decisions,
                whole=True,
                pages=len(stay),
                stay=len(stay) if self._writing.duplicates == "tag" else int(stay.sum()),
                lost=len(lost),
            )
            out.write(self._progress, msgspec.json.encode(copied))
        return copied, True

    def _begun(self, content: bytes) -> ArchiveCopy:
        """What is said of the copy that was begun; ``Refused`` if that cannot be read."""
        try:
            return msgspec.json.decode(content, type=ArchiveCopy)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            out = self._writing.out
            raise Refused(
                f"{out.path(self._progress)} does not say how far the copy is ({error}): remove it and "
                f"{out.path(self._name)}, then run this again"
            ) from error

    def _decisions(self) -> str:
        """A digest of everything that the copy is made of, except the archive's own bytes."""
        writing, span = self._writing, slice(self.rows.start, self.rows.stop)
        ref = msgspec.structs.replace(self.ref, name="", within=None)
        asked = (ref, self._name, writing.duplicates, str(writing.removed))
        digest = hashlib.blake2b(msgspec.json.encode(asked), digest_size=16)
        digest.update(self._found.stays[span].tobytes())
        if self._found.instead is not None:
            digest.update(self._found.instead[span].tobytes())
        for batch in self._columns.batches(_COLUMNS[3:], self.rows.start, self.rows.stop):
            digest.update(repr(batch.to_pydict()).encode())
        return digest.hexdigest()

    def _refuse_foreign(self) -> None:
        """Raises ``Refused`` if there is a file that this program has not begun."""
        names = (name for _, _, name in self._files()) if self._is_folder else iter((self._name,))
        for name in names:
            for folder in self._folders:
                if folder.size(name) is not None:
                    raise Refused(
                        f"{folder.path(name)} is there already, and this command did not write it: name another --out "
                        "or --removed, or remove it"
                    )

    def _copy(self, preferred: _Preferred, *, is_begun: bool) -> list[BrokenRecord]:
        archive = self._open()
        lost: list[BrokenRecord]
        if isinstance(archive, PageFiles):
            lost = self._copy_files(archive, is_begun=is_begun)
        else:
            pages = ((place, fate) for place, _, fate in self._fates(preferred))
            fates = Fates(archive.name, pages, are_marks=self._writing.duplicates == "tag")
            with ExitStack() as stack:
                paths = [stack.enter_context(folder.replaced(self._name)) for folder in self._folders]
                lost = cast(ManyPages, archive).write_parts(paths[0], paths[1] if paths[1:] else None, fates)
                fates.end()
        for (file, detail), ones in groupby(lost, key=lambda one: (one.place.file, one.detail)):
            offsets = [one.place.offset for one in ones]
            _log.warning(
                "%s, from %d on: %d pages that stay are not written: %s", file, offsets[0], len(offsets), detail
            )
        return lost

    @property
    def _is_folder(self) -> bool:
        return self.ref.is_files and self.ref.is_folder

    def _files(self) -> Iterator[tuple[RecordPlace, bool, str]]:
        """For pages that are files: whether each stays, and the path of its copy."""
        for place, id_, fate in self._fates(None):
            yield place, fate.stays, f"{self._name}/{safe(id_)}" if self._is_folder else self._name

    def _copy_files(self, archive: PageFiles, *, is_begun: bool) -> list[BrokenRecord]:
        """Copies of the stored files; each gets its name only when it is whole."""
        lost = []
        for place, stays, name in self._files():
            if not stays and self._writing.removed is None:
                continue
            folder = self._folders[0 if stays else 1]
            if is_begun and folder.size(name) is not None:
                continue
            try:
                reading = archive.stored(place.file).open()
            except UsageError as error:
                lost.append(BrokenRecord(place, "damaged", str(error)))
                continue
            try:
                with folder.replaced(name) as beside, beside.open("wb") as copy:
                    while piece := reading.read(_PIECE):
                        copy.write(piece)
            finally:
                reading.close()
        return lost

    def _fates(self, preferred: _Preferred | None) -> Iterator[tuple[RecordPlace, str, Fate]]:
        """For each page its place, its id, and what is written of it."""
        row = self.rows.start
        for batch in self._columns.batches(_COLUMNS, self.rows.start, self.rows.stop):
            for file, offset, id_, *told in zip(*(batch.column(at).to_pylist() for at in range(7)), strict=True):
                place = RecordPlace(now_at(file, self._writing.moved), offset)
                yield place, id_, self._fate(row, *told, preferred=preferred)
                row += 1

    def _fate(
        self,
        row: int,
        verdict: str,
        url: str,
        duplicate_of: str | None,
        duplicate_of_id: str | None,
        *,
        preferred: _Preferred | None,
    ) -> Fate:
        stays, how = bool(self._found.stays[row]), self._writing.duplicates
        if how == "drop" or preferred is None or (stays and how == "revisit"):
            return Fate(stays)
        if stays:
            return Fate(True, verdict=UNIQUE)
        original = None
        if verdict != DEAD:
            instead = NOWHERE if self._found.instead is None else int(self._found.instead[row])
            original = preferred.of(instead)
            if original is None:
                original = Original(duplicate_of or url, duplicate_of_id, self._fetched(instead))
        if how == "revisit":
            return Fate(False, original=original, revisited=True)
        return Fate(True, verdict=DUPLICATE if verdict == UNIQUE else verdict, original=original)

    def _fetched(self, row: int) -> int | None:
        fetched = self._found.fetched
        return None if fetched is None or row == NOWHERE else _known(int(fetched[row]))


def _known(milliseconds: int) -> int | None:
    """None for the number of an unknown time."""
    return None if milliseconds == NOWHERE else milliseconds


@contextmanager
def _alone(out: Folder, name: str) -> Generator[None]:
    """While no other process on this machine, or one that shares its disk, writes the same copy. At a URL two processes
    that do write equal bytes."""
    if not out.is_here:
        yield
        return
    path = Path(out.path(name))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = HeldFile(path)
    except BlockingIOError as error:
        raise Refused(
            f"{path} is held by another process, which writes the same copy: let it end, or give each its own --part"
        ) from error
    except OSError as error:
        raise Unavailable(
            f"{path} cannot be written ({error.strerror}): make room there, then run the same command again"
        ) from error
    with lock:
        yield
        path.unlink()
