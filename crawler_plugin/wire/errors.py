"""Errors, sorted by who must act.

``PageError`` costs one page: it becomes a dead letter and the stream goes on.
``Stop`` and its kinds end the process; each carries the exit code that the operator's supervisor sees:

====  =====================================================================
code  meaning
====  =====================================================================
0     fine
1     a check was made and its answer is no
2     usage or settings: the command, the file or the environment is wrong
3     a broker, topic or port is not there, or no room to write: try again
4     refused for safety: going on could make a verdict wrong
70    a fault of this program, or memory ran out; its message says which
====  =====================================================================

Every message ends with the reader's next move.
"""

from __future__ import annotations

from typing import Final

UNEXPECTED: Final = 70
"""Exit code after any other exception (``EX_SOFTWARE`` of sysexits.h)."""


class PageError(Exception):
    """One page cannot be fingerprinted; it becomes a dead letter with this ``reason``.

    ``reason`` is a short kebab-case word (a label of ``dedup_dead_letters_total``); ``detail`` is for people.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class UnreadableRecord(Exception):
    """A record on one of our topics that no version of ours wrote, or that is torn."""


class Stop(Exception):
    """Ends the process with ``exit_code``; the message says what to do next."""

    exit_code = 1


class CheckFailed(Stop):
    """A check was asked for and its answer is no."""


class UsageError(Stop):
    """The command line, the settings file or the environment is wrong."""

    exit_code = 2


class Unavailable(Stop):
    """A broker, a topic or a port is not there now; the same call may work later."""

    exit_code = 3


class Refused(Stop):
    """Going on could make a verdict wrong (scheme, gap, memory, corruption)."""

    exit_code = 4
