"""Errors about wrong arguments, which name the argument before anything is judged."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from worker.config import Settings
from worker.config.catalogue import closest_key, did_you_mean

_SETTINGS_WAY: Final = (
    "Give the Deduplicator its settings as a file, Deduplicator(config='config.yaml'), or as a value, "
    "Deduplicator(config=worker.config.Settings.model_validate({'near': {'k': 2}})); docs/reference/settings.md lists "
    "them"
)


def shown(value: object) -> str:
    """A value in the form that an error may show, however large it is."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python refuses to print numbers of thousands of digits
        return "a huge number"


def wrong_type(name: str, value: object, wanted: str) -> TypeError:
    """The error about a value of a type that is not accepted."""
    return TypeError(f"{name} is {shown(value)}, of type {type(value).__name__}: give {wanted}")


def text_or_none(name: str, value: object) -> str | None:
    """Raises ``TypeError`` for anything else."""
    if value is None or isinstance(value, str):
        return value
    raise wrong_type(name, value, "a str, or leave it out")


def path_or_none(name: str, value: object) -> Path | None:
    """A path that ``open`` accepts, but no bytes and no number.

    Raises:
        TypeError, ValueError: it is no path, or no possible name of a file.
    """
    if value is None:
        return None
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str):
        raise wrong_type(name, value, "a path as str or pathlib.Path")
    try:
        is_none = b"\0" in os.fsencode(path)
    except UnicodeEncodeError:
        is_none = True
    if is_none or not path:
        raise ValueError(f"{name} is {shown(path)}, which no file can have as a name: give a path, or None")
    return Path(path)


def config_of(value: object) -> Settings | Path | None:
    """Settings, or a file of them.

    Raises:
        TypeError, ValueError: it is neither.
    """
    if isinstance(value, Settings):
        return value
    if isinstance(value, Mapping):
        raise TypeError(f"config is a {type(value).__name__}: make settings of it first. {_SETTINGS_WAY}")
    return path_or_none("config", value)


def refuse_unknown(unknown: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raises ``TypeError`` for an argument that nothing reads, and says how to pass settings."""
    known = list(known)
    for name in unknown:
        hint = did_you_mean(name, known) or closest_key(name.replace("__", "."))
        raise TypeError(f"there is no argument {name!r}, there are {', '.join(known)}: {hint} {_SETTINGS_WAY}")
