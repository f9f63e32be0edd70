"""Where commands write: a path on this machine."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from crawler_plugin.wire.errors import Unavailable, UsageError
from worker.places import Folder

_URL: Final = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)


def name_given(name: str) -> str:
    """The name in an argument.

    Raises:
        ArgumentTypeError: it is empty; as a path it would be the current folder.
    """
    if not name:
        raise argparse.ArgumentTypeError("it is empty: name a file or a folder; the current folder is .")
    return name


def path_here(name: str) -> Path:
    """A file or folder to write to; inputs may be URLs, outputs not.

    Raises:
        ArgumentTypeError: it has no name, or one that is not UTF-8; or it is a URL, which would make a folder called
            ``s3:``.
    """
    if _URL.match(name_given(name)):
        raise argparse.ArgumentTypeError(
            f"{name} is a URL, and results are written to this machine: name a path here, and copy its content to the "
            "URL when the command has ended"
        )
    return Path(_in_utf_8(name))


def place_given(name: str) -> Folder:
    """A folder to write to, here or at a URL.

    Raises:
        ArgumentTypeError: it has no name, or one that is not UTF-8.
    """
    return Folder(_in_utf_8(name_given(name)))


def _in_utf_8(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:  # files in the folder could not be opened by all libraries
        raise argparse.ArgumentTypeError("its bytes are not UTF-8: choose another name") from None
    return name


@contextmanager
def output_to(file: Path | None, read: Path | None = None) -> Iterator[BinaryIO]:
    """The file that ``--out`` names, or standard output; ``read`` is the input file.

    Raises:
        UsageError: it cannot be opened for writing, or it is the input file.
        Unavailable: the disk is full, or fails.
    """
    if file is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if read is not None and file.exists() and file.samefile(read):
        raise UsageError(f"--out {file} is the file that is read, and would be lost: name another file")
    try:
        opened = file.open("wb")
    except OSError as error:
        raise UsageError(f"--out {file} cannot be written ({error.strerror}): name another file") from error
    try:
        with opened:
            yield opened
    except OSError as error:
        if error.filename is not None:  # of another file, which could not be opened
            raise
        raise Unavailable(
            f"--out {file} cannot be written ({error.strerror}): make room there, or name another file"
        ) from error
