"""Where a command writes what it prints otherwise."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from worker.errors import UsageError


@contextmanager
def output_to(file: Path | None, read: Path | None = None) -> Iterator[BinaryIO]:
    """The file that ``--out`` names, or standard output; ``read`` is the file that it is made from.

    Raises:
        UsageError: it cannot be written, or it is the file that is read.
    """
    if file is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if read is not None and file.exists() and file.samefile(read):
        raise UsageError(f"--out {file} is what is read, and would be gone: name another file")
    try:
        opened = file.open("wb")
    except OSError as error:
        raise UsageError(f"--out {file} cannot be written ({error.strerror}): name another file") from error
    with opened:
        yield opened
