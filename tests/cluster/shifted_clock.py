"""A worker whose clock is wrong: ``time.time`` of its process runs ahead or behind, by the offset that a file holds at
the moment.

``python -P shifted_clock.py FILE arguments of python -m worker``. The file holds the offset in seconds and may be
changed at any time, so that the clock jumps while the worker runs. The monotonic clock stays as it is, as on a machine
whose time is set.
"""

from __future__ import annotations

import mmap
import runpy
import struct
import sys
import time
from pathlib import Path
from typing import Final

OFFSET: Final = struct.Struct("<d")
NANOSECONDS: Final = 10**9


class ShiftedClock:
    """The file, for a test: ``shift`` makes the clocks of all workers that use it jump."""

    def __init__(self, file: Path, seconds: float = 0.0) -> None:
        self.file = file
        file.write_bytes(OFFSET.pack(seconds))

    def shift(self, seconds: float) -> None:
        """Set these clocks this many seconds ahead; behind, if negative."""
        with self.file.open("r+b") as opened:  # in place: the workers have the file in their memory
            opened.write(OFFSET.pack(seconds))

    def command(self, *arguments: str) -> list[str]:
        """The command that starts a worker with this clock, in place of ``python -m worker``."""
        return [sys.executable, "-P", str(Path(__file__)), str(self.file), *arguments]


def main(file: str, *arguments: str) -> None:
    """Run the worker in this process, with the clock of the file."""
    with Path(file).open("rb") as opened:
        offset = mmap.mmap(opened.fileno(), OFFSET.size, access=mmap.ACCESS_READ)
    honest, honest_ns = time.time, time.time_ns

    def ahead() -> float:
        seconds: float = OFFSET.unpack_from(offset)[0]
        return seconds

    time.time = lambda: honest() + ahead()
    time.time_ns = lambda: honest_ns() + int(ahead() * NANOSECONDS)
    sys.argv[1:] = arguments
    runpy.run_module("worker", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
