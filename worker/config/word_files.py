"""Files of words that settings and commands name: one word a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from crawler_plugin.wire.errors import UsageError

Read = TypeVar("Read")


def read_lines(named_by: str, path: Path, read: Callable[[str], Read]) -> Iterator[Read]:
    """Each line of a UTF-8 file that is not blank, and does not begin with # as no word does, read.

    ``named_by`` is the setting or option that names the file.

    Raises:
        UsageError: the file cannot be read, or ``read`` raises ``ValueError``.
    """
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{named_by}: {path} is not UTF-8 at byte {error.start}; save it as UTF-8") from error
    except OSError as error:
        raise UsageError(f"{named_by}: {path} cannot be read ({error.strerror}); name another file") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            yield read(line.strip())
        except ValueError as error:
            raise UsageError(f"{named_by}: {path}, line {number}: {error}; correct the line") from error
