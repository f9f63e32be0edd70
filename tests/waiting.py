"""Waiting for other processes and threads: checks a condition again and again, until a deadline at most."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE_SECONDS = 240.0


def wait_for(
    condition: Callable[[], object], what: str, seconds: float = DEADLINE_SECONDS, *, pause: float = 0.2
) -> None:
    """Check the condition until it is true, with a pause in seconds in between.

    Raises:
        AssertionError: the deadline has passed.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(pause)
