"""Sends log messages to standard error, as lines of text or as JSON objects."""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable
from typing import Final, Literal

from worker.terminal import fitted

SILENCE_SECONDS: Final = 60.0
_log: Final = logging.getLogger("worker")

_OWN: Final = vars(logging.makeLogRecord({})).keys() | {"message", "asctime", "taskName"}
"""Attributes that every record has; all others are fields of the message."""
COORDINATOR_MOVED: Final = frozenset(
    {"NotCoordinatorError", "CoordinatorNotAvailableError", "CoordinatorLoadInProgressError"}
)
"""Errors of the Kafka client by which a broker says that the group's coordinator is another one, or not there yet, as
at the first start on a new broker. The client warns of a dead coordinator, and looks for it again without help."""


TIMED_OUT: Final = "%s: Request timed out after %d ms. Closing connection."
ABORTS: Final = "%s: Abort (%s)"
LOST: Final = "%s: Connection lost: %s"
"""kafka-python's messages in a row about a question that was not answered in time; about a connection that was lost for
another reason, only the last two."""
COORDINATOR: Final = "coordinator-"
"""The beginning of the names that it gives to connections over which a member talks to its group."""


class JsonLines(logging.Formatter):
    """One JSON object for each message: time (UTC), level, logger, message, its subject, the traceback if there is one.

    The message's fields (``extra``) name its subject: shard, partition, source and so on. ``worker`` names its author
    in each.
    """

    def __init__(self, worker: str) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields: dict[str, object] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "worker": self._worker,
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False, default=str)


class Seldom(logging.Filter):
    """Lets each line of the Kafka client's code log once in ``SILENCE_SECONDS``, without its traceback.

    Warnings without trouble (``COORDINATOR_MOVED``) are left out. A missing answer is reported once and in words: the
    client says three times that it timed out and that it closes that connection. While a broker is away, every one of a
    worker's clients reports each attempt: forty messages a second.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._spoke: dict[tuple[str, int], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] != "kafka":
            return True
        record.exc_info = None
        if _tells_of_a_coordinator_that_moved(record) or _repeats_why_it_closes(record):
            return False
        _say_what_timed_out(record)
        place, now = (record.name, record.lineno), self._clock()
        if now - self._spoke.get(place, float("-inf")) < SILENCE_SECONDS:
            return False
        self._spoke[place] = now
        return True


def _tells_of_a_coordinator_that_moved(record: logging.LogRecord) -> bool:
    given = record.args if isinstance(record.args, tuple) else ()
    about_coordinator = record.name.startswith("kafka.coordinator") and record.levelno <= logging.WARNING
    return about_coordinator and any(type(value).__name__ in COORDINATOR_MOVED for value in given)


def _repeats_why_it_closes(record: logging.LogRecord) -> bool:
    """For a connection: whether the line before has said why it is closed, or the next line will."""
    if record.msg == ABORTS:
        return True
    given = record.args if isinstance(record.args, tuple) else ()
    return record.msg == LOST and any(type(value).__name__ == "RequestTimedOutError" for value in given)


def _say_what_timed_out(record: logging.LogRecord) -> None:
    if record.msg != TIMED_OUT or not isinstance(record.args, tuple):
        return
    connection, milliseconds = record.args
    node = str(getattr(connection, "node_id", connection))
    seconds = float(str(milliseconds)) / 1000
    if node.startswith(COORDINATOR):
        record.msg = (
            "the coordinator of a group has not answered this member for %g s: it waits for another member, which is "
            "silent, until that member's kafka.session_timeout_seconds are over, or it is away itself. This worker "
            "asks again"
        )
        record.args = (seconds,)
    else:
        record.msg = "broker %s has not answered for %g s: it is asked again, over another connection"
        record.args = (node, seconds)


def log_to_stderr(
    level: Literal["debug", "info", "warning", "error"], form: Literal["text", "json"], worker: str | None = None
) -> None:
    """Show messages of ``level`` and above. Replaces the previous set-up.

    In JSON ``worker`` stands in each message, by default the machine and the process, and warnings of Python are
    messages, too. The Kafka client's own messages are shown from ``warning`` on, and seldom; with ``debug`` all of them
    are.
    """
    handler = logging.StreamHandler(sys.stderr)
    if form == "json":
        handler.setFormatter(JsonLines(worker or f"{socket.gethostname()}:{os.getpid()}"))
        logging.captureWarnings(True)
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    if level != "debug":
        handler.addFilter(Seldom())
        logging.getLogger("kafka").setLevel(max(logging.WARNING, logging.getLogger().level))
        # That logger mistakes the unpacking of a large fetch for a loop that hangs.
        logging.getLogger("kafka.net.selector").setLevel(logging.ERROR)


def are_json() -> bool:
    """Whether all output of this process is to be JSON."""
    return any(isinstance(handler.formatter, JsonLines) for handler in logging.getLogger().handlers)


def announce(line: str) -> None:
    """A line on standard output that the program's starter may wait for; a message if all are JSON."""
    if are_json():
        _log.info("%s", line)
    else:
        print(line, flush=True)


def last_words(told: str, fault: BaseException | None = None) -> None:
    """Why the process ends, on standard error; for a ``fault`` with its traceback, and the reason first and last, since
    people read one of the two."""
    if are_json():
        _log.error("%s", told, exc_info=fault)
        return
    said = f"worker: error: {told}"
    lines = [fitted(said) if sys.stderr.isatty() else said]
    if fault is not None:
        lines = [*lines, "".join(traceback.format_exception(fault)).rstrip(), *lines]
    print(*lines, sep="\n", file=sys.stderr)
