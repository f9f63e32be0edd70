"""The plan of a scan, so that an interrupted scan goes on as if nothing had happened."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.files import replaced

FILE: Final = "progress.json"


class ScanPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a scan was asked to do. ``archives`` holds names, forms, bytes; the first ``against`` of them are old pages.

    ``states`` are those that the scan began with. ``clock`` dates pages without a fetch time, in seconds since 1970
    UTC.
    """

    archives: list[tuple[str, str, int | None]]
    against: int
    fields: dict[str, str | None]
    states: list[str]
    keeps: bool
    clock: float

    def write(self, folder: Path) -> None:
        """At every moment the file is the old one or the new one."""
        with replaced(folder / FILE) as beside:
            beside.write_bytes(msgspec.json.format(msgspec.json.encode(self)))

    @classmethod
    def read(cls, folder: Path) -> ScanPlan | None:
        """The plan of the scan that was begun in a folder, or None if none was begun or it has ended.

        Raises:
            Refused: it cannot be read.
        """
        file = folder / FILE
        try:
            return msgspec.json.decode(file.read_bytes(), type=cls)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Refused(f"{file} does not say which scan was begun ({error}): scan into another folder") from error

    @staticmethod
    def remove(folder: Path) -> None:
        """Remove the plan: the scan has ended."""
        (folder / FILE).unlink(missing_ok=True)
