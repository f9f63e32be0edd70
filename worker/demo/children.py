"""The demo's other processes: spider and workers, each with its output in a file, none left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

import worker

LAST_LINES: Final = 15
STOP_SECONDS: Final = 40.0
"""A worker drains for ``shutdown.seconds``, 20 by default, and closes its connections then."""


class DemoProcess:
    """A Python module that runs as a process, without settings of the environment or of a file near by.

    It is of a session of its own, so that Ctrl-C reaches the demo only, which ends it in order. Should the demo be
    killed, the broker goes with it; the spider then finds no site, the workers no broker, and they end by themselves.
    """

    def __init__(self, name: str, module: str, arguments: Sequence[str], folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name.replace(' ', '-')}.log"
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=_environment(),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its process id, valid until ``status`` has told of its end."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The exit status; None while it runs."""
        return self._process.poll()

    def find(self, start: str) -> str | None:
        """The rest of the first line of its output that begins so, once it is there."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return next((line.removeprefix(start) for line in lines if line.startswith(start)), None)

    def last_lines(self) -> str:
        """The end of its output, for people."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(f"  {line}" for line in lines[-LAST_LINES:]) or "  (it said nothing)"

    def stop(self) -> int:
        """Ask it to end, kill it if it does not; the exit status."""
        self._process.terminate()
        try:
            return self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        except BaseException:  # Ctrl-C once more
            self._process.kill()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.status is None:
            self.stop()


def _environment() -> dict[str, str]:
    """Ours without settings for the worker, and with this very program first on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("DEDUP_")}
    here = str(Path(worker.__file__).parents[1])
    paths = [here, *filter(None, [kept.get("PYTHONPATH")])]
    return kept | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}
