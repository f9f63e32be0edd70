"""How far a scan is, so that one that was interrupted goes on as if nothing had happened.

A checkpoint is made when everything before it is on the disk: the lines, the ids, the state. Whoever resumes cuts all
of them back to it, and reads on behind it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.files import replaced

FILE: Final = "progress.json"


class ScanPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a scan was asked for. ``archives`` holds names, forms, bytes; the first ``against`` of them are old pages.

    ``base`` is the state that the scan began with, and a digest of it. ``clock`` dates pages without a fetch time,
    in seconds since 1970 UTC.
    """

    archives: list[tuple[str, str, int | None]]
    against: int
    fields: dict[str, str | None]
    base: str | None
    base_digest: str
    keeps: bool
    clock: float


class ArchiveEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How many bytes each file that grows had where an archive ended. ``passed_over`` counts the archive's records that
    hold no page, by a word that says why."""

    lengths: dict[str, int]
    passed_over: dict[str, int]


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """So much is done: all of the archives before ``archive``, and ``records`` of that one.

    ``judged`` counts the pages of the state, ``lengths`` are the bytes of each file that grows, ``ends`` belong to the
    archives that are done. All that took so many ``seconds``, without the time between an interruption and going on.
    """

    plan: ScanPlan
    archive: int = 0
    records: int = 0
    judged: int = 0
    lengths: dict[str, int] = {}
    ends: list[ArchiveEnd] = []
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if len(self.ends) != self.archive:
            raise ValueError(f"it tells of {len(self.ends)} archives, and {self.archive} are done")

    def write(self, folder: Path) -> None:
        """At every moment the file is the old one or the new one."""
        with replaced(folder / FILE) as beside:
            beside.write_bytes(msgspec.json.format(msgspec.json.encode(self)))

    @classmethod
    def read(cls, folder: Path) -> Checkpoint | None:
        """The last one of a folder, or None where no scan was begun or it has ended.

        Raises:
            Refused: it cannot be read.
        """
        file = folder / FILE
        try:
            return msgspec.json.decode(file.read_bytes(), type=cls)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as error:
            raise Refused(f"{file} says of no scan how far it is ({error}): scan into another folder") from error

    @staticmethod
    def remove(folder: Path) -> None:
        """The scan has ended."""
        (folder / FILE).unlink(missing_ok=True)
