"""Java as a child process that never outlives its parent."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

SHELL: Final = "/bin/sh"
# The leash reads the JVM's pid, then waits for its input to end. That happens when it is closed on purpose (then the
# JVM is already gone) or when the parent has died, by SIGKILL too: the kernel closes the pipe.
LEASH: Final = 'read -r pid && { read -r end; kill -KILL "$pid"; }'


class Jvm:
    """A running JVM.

    A leash process next to it kills it once this process is gone. Linux's PR_SET_PDEATHSIG would do so without a second
    process, but fires when the *thread* that started the JVM ends, and exists on Linux only.
    """

    def __init__(self, command: Sequence[str | Path], *, folder: Path, output: Path, inherit: Sequence[int]) -> None:
        # Sessions of their own: Ctrl-C in a terminal reaches this process, which then ends the JVM in order.
        self._leash = subprocess.Popen(
            [SHELL, "-c", LEASH],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            with output.open("wb") as log:
                self._process = subprocess.Popen(
                    command,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    pass_fds=inherit,
                    start_new_session=True,
                )
            assert self._leash.stdin is not None
            self._leash.stdin.write(f"{self._process.pid}\n".encode())
            self._leash.stdin.flush()
        except BaseException:
            self._untie()
            raise

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the JVM still runs."""
        return self._process.poll() is None

    def wait(self, timeout_s: float | None = None) -> int | None:
        """The exit status (negative: a signal) once it ends; None if it still runs after ``timeout_s`` seconds."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def terminate(self, timeout_s: float) -> bool:
        """Ask it to shut down in order; kill it after ``timeout_s`` seconds. Returns whether it ended by itself."""
        self._process.terminate()
        in_order = self.wait(timeout_s) is not None
        self.kill()
        return in_order

    def kill(self) -> None:
        """SIGKILL: it ends as in a power cut, except that the system's page cache is kept."""
        self._process.kill()
        self._process.wait()
        self._untie()

    def _untie(self) -> None:
        self._leash.kill()
        self._leash.wait()
        assert self._leash.stdin is not None
        self._leash.stdin.close()
