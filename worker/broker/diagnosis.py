"""Why a broker ended: from the last words of Kafka and its JVM to an error that names the next move."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Final

from crawler_plugin.wire.errors import Stop, Unavailable, UsageError
from worker.broker.configuration import BROKER_LOG, JVM_OUTPUT
from worker.broker.folder import full, other_format

TAIL_LINES: Final = 12
TAIL_BYTES: Final = 64 * 1024

_NO_SPACE: Final = re.compile("No space left on device|Disk quota exceeded")
_PORT_TAKEN: Final = re.compile("Address already in use|java.net.BindException")
_FOLDER_TAKEN: Final = re.compile("Failed to acquire lock on file")
_NO_MEMORY: Final = re.compile("OutOfMemoryError|Cannot allocate memory|insufficient memory")
_NO_SUCH_HEAP: Final = re.compile("Could not reserve enough space|Invalid maximum heap size")
_OTHER_FORMAT: Final = re.compile(
    "UnsupportedVersionException|No MetadataVersion|Unknown metadata.version|Unsupported apiKey|UnsupportedFeature"
    "|InconsistentClusterIdException|Unable to read the broker epoch|Only version 1 of meta.properties"
)
_FRAME: Final = re.compile(r"^\s+(at |\.\.\. \d+ more)|^WARNING: |^SLF4J: ")


class PortTaken(Exception):
    """Another program took the port between the check that it is free and Kafka's own attempt."""


def why_it_ended(folder: Path, status: int | None, *, since: int = 0) -> Stop:
    """The error for a JVM that ended with ``status`` (as in subprocess; None: it hung and was killed).

    Only text in the broker's log after byte ``since`` counts.

    Raises:
        PortTaken: in place of an error, since another port may work.
    """
    return diagnose(_words(folder, since), folder, status)


def diagnose(words: str, folder: Path, status: int | None) -> Stop:
    """As ``why_it_ended``, from the ``words`` that Kafka and its JVM wrote."""
    if _NO_SPACE.search(words):
        return full(folder, "Kafka could not write")
    if _FOLDER_TAKEN.search(words):
        return Unavailable(f"another Kafka runs on {folder}: stop it, or give another --data-dir")
    if _NO_MEMORY.search(words):
        return Unavailable(
            f"the broker's JVM was out of memory; its last lines:\n{_end(words)}\n"
            "Give it more (--heap-mb), or free some on this machine, and start again"
        )
    if _NO_SUCH_HEAP.search(words):
        return UsageError(f"no such heap on this machine: {_end(words, 1)}; give a smaller --heap-mb")
    if _OTHER_FORMAT.search(words):
        return other_format(folder, _end(words, 1))
    if _PORT_TAKEN.search(words):
        raise PortTaken
    return Unavailable(
        f"the broker ended by itself ({_how(status)}); its last lines:\n{_end(words)}\n"
        f"The whole log is {folder / BROKER_LOG}; start it again"
    )


def last_lines(folder: Path) -> str:
    """The end of both logs, without Java's stack frames."""
    return _end(_words(folder, 0))


def _words(folder: Path, since: int) -> str:
    """The JVM's output, then Kafka's log from byte ``since`` on."""
    return _tail(folder / JVM_OUTPUT, 0) + _tail(folder / BROKER_LOG, since)


def _tail(path: Path, since: int) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            if since > size:  # rolled over since
                since = 0
            file.seek(max(since, size - TAIL_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _end(words: str, count: int = TAIL_LINES) -> str:
    lines = [line for line in words.splitlines() if line.strip() and not _FRAME.match(line)]
    return "\n".join(lines[-count:]) or "(it wrote nothing)"


def _how(status: int | None) -> str:
    if status is None:
        return "it hung"
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"
