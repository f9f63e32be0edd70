"""``python -m worker``, and the console script ``crawl-dedup``."""

from __future__ import annotations

import io
import os
import sys

from worker.stopping import AskedToStop


def run() -> int:
    """Run the command line; signals are caught before its modules are imported. Returns the exit code."""
    asked = AskedToStop()
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name of a file may have characters that it cannot encode
    from worker.cli.main import main

    return main(sys.argv[1:], asked)


def _open_closed_streams() -> None:
    """The files that are opened first would otherwise take the numbers of standard streams."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            file = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: that of the stream
            os.set_inheritable(file, True)
            setattr(sys, name, os.fdopen(file, mode))


if __name__ == "__main__":
    sys.exit(run())
