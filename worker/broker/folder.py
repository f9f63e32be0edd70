"""The broker's data folder: one broker at a time, room to write, a format that this Kafka reads."""

from __future__ import annotations

import errno
import os
import shutil
import time
from pathlib import Path
from typing import Final

from crawler_plugin.wire.errors import Unavailable, UsageError
from crawler_plugin.wire.files import HeldFile, holder_of
from worker.broker.configuration import LOGS
from worker.broker.jars import KAFKA

LOCK: Final = "broker.lock"
WRITTEN_BY: Final = "kafka.version"
MINIMUM_FREE_BYTES: Final = 256 * 1024 * 1024
"""Bytes below which a start is refused: Kafka stops for good at the first write that fails."""
PATIENCE_S: Final = 3.0
"""How long a start waits for a broker that is just ending; a broker killed a moment ago takes milliseconds."""
META: Final = "meta.properties"


def default_data_dir() -> Path:
    """``$XDG_STATE_HOME/crawl-dedup/broker``, by default below ``~/.local/state``.

    Raises:
        UsageError: there is no home folder.
    """
    state = os.environ.get("XDG_STATE_HOME")
    try:
        base = Path(state) if state else Path.home() / ".local" / "state"
    except RuntimeError as error:
        raise UsageError(f"no home folder for the broker's data ({error}): give --data-dir") from error
    return base / "crawl-dedup" / "broker"


class DataFolder:
    """A folder held by this process; the JVM inherits the hold, so that it lasts as long as either lives."""

    def __init__(self, path: Path, lock: HeldFile) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def claim(cls, path: Path, *, minimum_free_bytes: int = MINIMUM_FREE_BYTES, node: int = 1) -> DataFolder:
        """Make the folder if it does not exist, and hold it until ``release``; ``node`` is the number of its broker.

        Raises:
            UsageError: it cannot be written, holds other things, or was written by another Kafka.
            Unavailable: another broker runs on it, or its disk is full.
        """
        path = path.absolute()
        try:
            path.mkdir(parents=True, exist_ok=True)
            _refuse_foreign(path)
            lock = _held(path)
        except OSError as error:
            raise _cannot_write(path, error) from error
        folder = cls(path, lock)
        try:
            folder._check_space(minimum_free_bytes)
            folder._check_format(node)
        except BaseException:
            lock.close()
            raise
        return folder

    @property
    def logs(self) -> Path:
        """Where Kafka keeps the topics."""
        return self.path / LOGS

    @property
    def lock_fd(self) -> int:
        """File descriptor of the lock, for the JVM to inherit."""
        return self._lock.file

    @property
    def is_formatted(self) -> bool:
        """Whether Kafka's storage was set up here before."""
        return (self.logs / META).exists()

    def write_down(self, holder: str) -> None:
        """Write down the holder of the folder and the Kafka version, for later starts to read.

        Raises:
            UsageError: the folder cannot be written.
            Unavailable: its disk is full.
        """
        try:
            self._lock.note(holder)
            (self.path / WRITTEN_BY).write_text(KAFKA + "\n", "ascii")
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def release(self) -> None:
        """Release the folder; a JVM that inherited the lock still holds it."""
        self._lock.close()

    def _check_space(self, minimum: int) -> None:
        free = shutil.disk_usage(self.path).free
        if free < minimum:
            raise full(self.path, f"{free >> 20} MiB are free, a start needs {minimum >> 20}")

    def _check_format(self, node: int) -> None:
        written_by = self.path / WRITTEN_BY
        if written_by.exists():
            version = written_by.read_text("ascii", errors="replace").strip()
            if _minor(version) > _minor(KAFKA):
                raise other_format(self.path, f"Kafka {version} wrote it, this program runs Kafka {KAFKA}")
        if self.is_formatted:
            meta = read_meta(self.path)
            if meta.get("version") != "1" or meta.get("node.id") != str(node) or not meta.get("cluster.id"):
                raise other_format(self.path, f"{LOGS}/{META} is not of this program's making")


def _held(path: Path) -> HeldFile:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return HeldFile(path / LOCK)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"a broker already runs on {path} ({holder_of(path / LOCK) or 'another process'}): use that one, "
                    "stop it, or give another --data-dir"
                ) from None
        time.sleep(0.05)


def read_meta(path: Path) -> dict[str, str]:
    """Kafka's own description of its storage in the data folder ``path``; nothing if it was not set up."""
    try:
        lines = (path / LOGS / META).read_text("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def full(path: Path, detail: str) -> Unavailable:
    """The error for a disk without room."""
    return Unavailable(f"no space for the broker in {path}: {detail}. Free some, or give another --data-dir")


def other_format(path: Path, detail: str) -> UsageError:
    """The error for a folder that this Kafka cannot read."""
    return UsageError(
        f"the broker's folder {path} is of another format: {detail}. "
        "Use the release that wrote it, or give another --data-dir"
    )


def _refuse_foreign(path: Path) -> None:
    """Refuse a folder with other files: someone's documents are no place for a broker's files."""
    if (path / LOCK).exists():
        return
    strangers = (entry for entry in path.iterdir() if entry.name != "lost+found")  # a new disk's own folder
    if (stranger := next(strangers, None)) is not None:
        raise UsageError(f"{path} holds other things ({stranger.name}): give --data-dir a new or empty folder")


def _cannot_write(path: Path, error: OSError) -> UsageError | Unavailable:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return full(path, str(error.strerror))
    return UsageError(f"cannot write the broker's folder {path}: {error.strerror or error}; give another --data-dir")


def _minor(version: str) -> tuple[int, ...]:
    """Major and minor number; a version that cannot be read counts as newer than any."""
    try:
        return tuple(int(part) for part in version.split(".")[:2])
    except ValueError:
        return (2**31,)
