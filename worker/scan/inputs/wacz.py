"""Finds the WARCs in a WACZ, a ZIP of them with their indexes. Each is an archive of its own, read from the ZIP."""

from __future__ import annotations

import errno
import zipfile
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Final, cast

from crawler_plugin.wire.errors import Unavailable
from worker.scan.inputs.opening import DamagedFile, Reading, StoredFile, failing, printable

ZIP_STARTS: Final = (b"PK\x03\x04", b"PK\x05\x06")
_FOLDER: Final = "archive/"
_NAMES: Final = (".warc", ".arc", ".wet", ".wat", ".wacz")
_MOST_DIRECTORY: Final = 8 * 1024 * 1024
"""Bytes of the ZIP's list of members, which is held in memory; room for a hundred thousand."""
_MOST_NAME: Final = 60
"""Characters of a copy's name."""
_MOST_RATIO: Final = 10
"""A packed WARC does not become smaller in a ZIP: one that does is made to unpack to anything."""
_READ: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@dataclass(frozen=True, slots=True)
class WaczMember(StoredFile):
    """A file in a WACZ. Its size is that of the unpacked file."""

    container: _Container
    info: zipfile.ZipInfo

    def open(self) -> Reading:
        """The file from its first byte on.

        Raises:
            DamagedFile: its content in the ZIP does not match the ZIP's description.
            UsageError: the ZIP is gone, or may not be read.
        """
        return Reading(self.name, self.container.member(self.info, self.name))

    @property
    def within(self) -> str:
        """The name of the WACZ."""
        return self.container.name

    @property
    def is_shrunk(self) -> bool:
        """Whether the ZIP makes it many times smaller."""
        return self.info.file_size > _MOST_RATIO * max(self.info.compress_size, 1024)


def wacz_members(file: StoredFile) -> list[WaczMember]:
    """The members that should be WARCs: all in the folder ``archive``, and files with such a name; in the ZIP's order.

    Raises:
        DamagedFile: it is no whole ZIP, or its list of members is too large.
        UsageError: it cannot be opened.
        Unavailable: it cannot be read.
    """
    container = _Container(file)
    return [
        WaczMember(
            where=f"{file.where}/{info.filename}",
            below=f"{file.below}/{_base_name(info.filename)}",
            size=info.file_size,
            container=container,
            info=info,
        )
        for info in container.members()
        if not info.filename.endswith("/") and (info.filename.startswith(_FOLDER) or _is_called_warc(info.filename))
    ]


def _is_called_warc(name: str) -> bool:
    return any(suffix.lower() in _NAMES for suffix in PurePosixPath(name).suffixes)


def _base_name(name: str) -> str:
    """Names in a ZIP may lead anywhere, also to the folder above."""
    last = printable(PurePosixPath(name).name)[-_MOST_NAME:]
    return "member" if last in ("", ".", "..") else last


class _Container:
    """The ZIP. The file object for ``zipfile`` is open only while a member is."""

    def __init__(self, file: StoredFile) -> None:
        self._file: Final = file
        self._stream: BinaryIO | None = None
        self._open = 0
        try:
            self._zip: Final = zipfile.ZipFile(cast(BinaryIO, self))
        except Exception as error:
            raise self.failed(file.name, error) from error
        finally:
            self._release()

    @property
    def name(self) -> str:
        return self._file.name

    def members(self) -> list[zipfile.ZipInfo]:
        return self._zip.infolist()

    def member(self, info: zipfile.ZipInfo, name: str) -> BinaryIO:
        """Its content, which can be read once, from the beginning on."""
        if info.compress_type not in _READ:
            raise DamagedFile(
                f"{name} is packed in a way that a WACZ does not know: unpack it, and name it as an input"
            )
        try:
            inner = self._zip.open(info)
        except Exception as error:
            if not self._open:
                self._release()
            raise self.failed(name, error) from error
        self._open += 1
        return cast(BinaryIO, _Unpacked(self, inner, name))

    def let_go(self) -> None:
        """One member is no longer read."""
        self._open -= 1
        if not self._open:
            self._release()

    def read(self, size: int = -1) -> bytes:
        if size > _MOST_DIRECTORY:
            raise zipfile.BadZipFile(f"its list of members has {size} bytes")
        return self._opened().read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._opened().seek(offset, whence)

    def tell(self) -> int:
        return self._opened().tell()

    def seekable(self) -> bool:
        return True

    def _opened(self) -> BinaryIO:
        if self._stream is None:
            self._stream = self._file.open().stream
        return self._stream

    def _release(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def failed(self, name: str, error: Exception) -> Exception:
        """The error to raise: a ZIP made for it can raise almost anything, and a failing disk always raises the
        same."""
        if isinstance(error, DamagedFile | Unavailable):
            return error
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            return failing(self._file.name, error)
        return DamagedFile(f"{name} cannot be read out of its ZIP ({type(error).__name__}: {error}): copy it anew")


class _Unpacked:
    """A member, read once. Going back in it is impossible: that would unpack it from its beginning, again and again."""

    def __init__(self, container: _Container, inner: Any, name: str) -> None:
        self._container: Final = container
        self._inner: Final = inner
        self._name: Final = name
        self._is_open = True

    def read(self, size: int) -> bytes:
        try:
            return bytes(self._inner.read(size))
        except Exception as error:
            raise self._container.failed(self._name, error) from error

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._inner.close()
            self._container.let_go()
