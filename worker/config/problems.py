"""What can be wrong with settings, collected so that all of it is told at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crawler_plugin.wire.errors import UsageError
from worker.config.catalogue import Entry, catalogue


@dataclass(frozen=True)
class Given:
    """A value as somebody gave it, and where: ``config.yaml:12``, ``DEDUP_NEAR__K`` or ``--set near.k``."""

    value: object
    origin: str


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong. ``where`` is an origin as in ``Given``, ``key`` the dotted key or what stood there."""

    key: str
    where: str
    text: str

    def __str__(self) -> str:
        place = f"{self.key} ({self.where})" if self.key and self.where else self.key or self.where
        return f"{place}: {self.text}" if place else self.text


@dataclass(frozen=True)
class Layer:
    """What one source gives, by dotted key, and what is wrong with it."""

    given: dict[str, Given]
    problems: tuple[Problem, ...] = ()


def wrong_value(entry: Entry, given: Given, reason: str = "") -> Problem:
    """A value that its setting does not take; a secret is not shown."""
    because = f" ({reason})" if reason else ""
    return Problem(entry.key, given.origin, f"found {shown(entry.key, given.value)}{because}; allowed: {entry.allowed}")


def shown(key: str, value: object) -> str:
    """A value as an error may show it: short, and never a secret."""
    entry = catalogue().get(key)
    if entry is None or entry.secret:
        return "a value that is not shown"
    if value is None:
        return "nothing (null)"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def refuse(problems: Sequence[Problem]) -> UsageError:
    """The error that lists all problems, with the next move."""
    count = f"{len(problems)} things are" if len(problems) > 1 else "one thing is"
    lines = "\n".join(f"  {problem}" for problem in problems)
    return UsageError(
        f"{count} wrong with the settings:\n{lines}\n"
        "Correct that, then look again with: python -m worker --check-config"
    )
