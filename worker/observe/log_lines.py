"""Sends log messages to standard error, as lines of text or as JSON objects."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from typing import Final, Literal

SILENCE_SECONDS: Final = 60.0

_OWN: Final = vars(logging.makeLogRecord({})).keys() | {"message", "asctime", "taskName"}
"""Attributes that every record has; all others are fields that a message was logged with."""
COORDINATOR_MOVED: Final = frozenset(
    {"NotCoordinatorError", "CoordinatorNotAvailableError", "CoordinatorLoadInProgressError"}
)
"""Errors of the Kafka client by which a broker says that the group's coordinator is another one, or not there yet, as
at the first start on a new broker. The client warns of a dead coordinator, and looks for it again by itself."""


class JsonLines(logging.Formatter):
    """One JSON object a message: time (UTC), level, logger, message, what it is about, the traceback if there is one.

    The fields that the message was logged with (``extra``) say what it is about: shard, partition, source and so on.
    """

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields: dict[str, object] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False, default=str)


class Seldom(logging.Filter):
    """Lets each line of the Kafka client's code log once in ``SILENCE_SECONDS``, without its traceback.

    Warnings of what is no trouble (``COORDINATOR_MOVED``) are left out. While a broker is away, every one of a worker's
    clients tells of each attempt: forty messages a second.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._spoke: dict[tuple[str, int], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] != "kafka":
            return True
        record.exc_info = None
        if _tells_of_a_coordinator_that_moved(record):
            return False
        place, now = (record.name, record.lineno), self._clock()
        if now - self._spoke.get(place, float("-inf")) < SILENCE_SECONDS:
            return False
        self._spoke[place] = now
        return True


def _tells_of_a_coordinator_that_moved(record: logging.LogRecord) -> bool:
    given = record.args if isinstance(record.args, tuple) else ()
    about_coordinator = record.name.startswith("kafka.coordinator") and record.levelno <= logging.WARNING
    return about_coordinator and any(type(value).__name__ in COORDINATOR_MOVED for value in given)


def log_to_stderr(level: Literal["debug", "info", "warning", "error"], form: Literal["text", "json"]) -> None:
    """Show messages of ``level`` and above. Takes the place of what was set up before.

    The Kafka client's own messages are shown from ``warning`` on, and seldom; with ``debug`` all of them are.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    if level != "debug":
        handler.addFilter(Seldom())
        logging.getLogger("kafka").setLevel(max(logging.WARNING, logging.getLogger().level))
        # That logger takes the unpacking of a large fetch for a loop that hangs.
        logging.getLogger("kafka.net.selector").setLevel(logging.ERROR)
