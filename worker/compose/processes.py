"""Workers, and other modules, as processes of this machine: each with its output in a file, none left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Self

import worker as package
from crawler_plugin.wire.errors import Unavailable
from worker.observe.scrape import are_shared_out, is_ready, samples, share_of

METRICS: Final = "metrics: "
"""The text that a worker prints before the address of its metrics."""
LAST_LINES: Final = 15
STOP_SECONDS: Final = 40.0
"""A worker drains for ``shutdown.seconds``, 20 by default, and closes its connections then."""
_LOOK_SECONDS: Final = 0.2


class ModuleProcess:
    """A Python module that runs as a process, without settings of the environment or of a nearby file.

    It has a session of its own, so that Ctrl-C reaches only the process that has made it, which ends it in order. If
    that process is killed, its broker goes with it: then a spider finds no site, workers find no broker, and they end
    without help.
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
        """Its process id, valid until ``status`` has returned its exit status."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The exit status; None while it runs."""
        return self._process.poll()

    def find(self, start: str) -> str | None:
        """The rest of the first line of its output with this beginning, once it is there."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return next((line.removeprefix(start) for line in lines if line.startswith(start)), None)

    def last_lines(self) -> str:
        """The end of its output, for people."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(f"  {line}" for line in lines[-LAST_LINES:]) or "  (it said nothing)"

    def stop(self) -> int:
        """Ask it to end, kill it if it does not; returns the exit status."""
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


def wait_until_ready(
    workers: Sequence[ModuleProcess],
    shards: int,
    partitions: int,
    patience: float,
    tell: Callable[[str], None] = lambda how_far: None,
) -> None:
    """Return when the workers have shared pages and index out, so that the following time is work and no start-up.

    The first worker owns all of it for a moment, and is ready; the wait goes on until each worker has its share.

    Args:
        shards: the number of all shards, and ``partitions`` that of pages.
        patience: seconds.
        tell: gets the progress now and then.

    Raises:
        Unavailable: a worker has ended, or they have not come that far after ``patience`` seconds.
    """
    deadline = time.monotonic() + patience
    while not _are_ready(workers, shards, partitions):
        for worker in workers:
            see_that_it_runs(worker)
        tell(f"{len(addresses_of(workers))} of {len(workers)} workers answer")
        if time.monotonic() > deadline:
            ends = "\n".join(f"{worker.name}:\n{worker.last_lines()}" for worker in workers)
            raise Unavailable(
                f"the workers have not shared out pages and index after {patience:g} s; the ends of their outputs:\n"
                f"{ends}\nTry again when the machine is less busy"
            )
        time.sleep(_LOOK_SECONDS)


def addresses_of(workers: Sequence[ModuleProcess]) -> list[str]:
    """The addresses where the workers show their metrics, of workers that have printed one."""
    return [address for worker in workers if (address := worker.find(METRICS)) is not None]


def see_that_it_runs(worker: ModuleProcess) -> None:
    """Raises ``Unavailable`` with the end of its output if it does not run."""
    if worker.status is not None:
        raise Unavailable(
            f"{worker.name} ended with exit status {worker.status}; the end of its output:\n"
            f"{worker.last_lines()}\nCorrect that and try again"
        )


def _are_ready(workers: Sequence[ModuleProcess], shards: int, partitions: int) -> bool:
    addresses = addresses_of(workers)
    return (
        len(addresses) == len(workers)
        and all(map(is_ready, addresses))
        and are_shared_out([share_of(samples(address)) for address in addresses], shards, partitions)
    )


def _environment() -> dict[str, str]:
    """This process's environment without settings for the worker, and with this very program first on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("DEDUP_")}
    here = str(Path(package.__file__).parents[1])
    paths = [here, *filter(None, [kept.get("PYTHONPATH")])]
    return kept | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}
