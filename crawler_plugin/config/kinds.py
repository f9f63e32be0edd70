"""Kinds of settings: which values a setting takes, and how they are read.

Each kind also takes text, as ``scrapy crawl -s NAME=VALUE`` gives it.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from crawler_plugin.config.wanted import media_types, status_ranges
from crawler_plugin.metrics.server import LOCAL, ListenAddress
from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.kafka_client.options import codec_is_installed, option_problems, producer_connection

OUR_FIELDS: Final = (
    *("url", "body", "text", "status", "encoding", "content_type", "fetched"),
    *("dedup", "dedup_scope", "dedup_store", "dedup_pardon"),
)
"""The fields that the plugin reads from an item, by our names; ``DEDUP_FIELDS`` maps them to the item's names."""
_ANY: Final = re.compile(r"[^\ud800-\udfff]+")
"""Python reads a byte that is not UTF-8, as in a file's name, as half of a surrogate pair, which no other program
takes."""
_SERVER: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:,\[\]/]+):([0-9]{1,5})")
_ADDRESS: Final = re.compile(r"(?:(.+):)?([0-9]{1,5})", re.DOTALL)
_NAME: Final = re.compile(r"[A-Za-z0-9._-]*")
_LARGEST_PORT: Final = 65535
_WORDS: Final = {"true": True, "1": True, "false": False, "0": False}
"""Read as Scrapy reads them, so that ``-s NAME=False`` and ``-s NAME=0`` mean no."""


class SettingKind(NamedTuple):
    """``allowed`` says which values are allowed, and ``detail`` says more about it after a wrong value.

    ``read`` turns a value into the form that the plugin uses. It raises ``ValueError``, ``TypeError``, ``LookupError``
    or ``WrongValue`` where it cannot.
    """

    allowed: str
    read: Callable[[Any], Any]
    detail: str = ""

    def but(self, needs: str) -> SettingKind:
        """The same kind with one more requirement on its values."""
        return self._replace(allowed=f"{self.allowed}; {needs}")


class WrongValue(ValueError):
    """A wrong value with more to say than which values are allowed: ``detail`` follows that, ``problems`` replace
    it."""

    def __init__(self, detail: str = "", problems: Sequence[str] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.problems = problems


def whole_number(least: int, most: int, allowed: str = "") -> SettingKind:
    """A whole number from ``least`` to ``most``."""
    told = allowed or f"a whole number from {least} to {most}"
    return SettingKind(told, lambda value: _bounded(int(str(value)), least, most), f" (here at least {least})")


def seconds(most: int) -> SettingKind:
    """Seconds from 0 to ``most``."""
    return SettingKind(f"seconds, a number from 0 to {most}", lambda value: _bounded(float(str(value)), 0, most))


def choice(*choices: str) -> SettingKind:
    """One of these words."""
    return SettingKind(f"{', '.join(choices[:-1])} or {choices[-1]}", lambda value: choices[choices.index(value)])


def name(most: int) -> SettingKind:
    """Part of a topic's name, of at most ``most`` characters; it may be empty."""
    allowed = f"text of letters, digits, dots, hyphens and underscores, at most {most} characters"

    def read(value: Any) -> str:
        _bounded(len(value), 0, most)
        return _found(_NAME.fullmatch(value))[0]

    return SettingKind(allowed, read)


def path(allowed: str) -> SettingKind:
    """The path of a file or folder, or None."""
    return SettingKind(allowed, lambda value: None if value is None else _found(_ANY.fullmatch(os.fspath(value)))[0])


def _bounded(number: float, least: float, most: float) -> float:
    if not least <= number <= most:
        raise ValueError
    return number


def _found(match: re.Match[str] | None) -> re.Match[str]:
    if match is None:
        raise ValueError
    return match


def _port(text: str, least: int) -> int:
    return int(_bounded(int(text), least, _LARGEST_PORT))


def _servers(value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not parts:
        raise ValueError
    servers = tuple(str(part).strip() for part in parts)
    for server in servers:
        _port(_found(_SERVER.fullmatch(server))[2], 1)
    return servers


def _listen_address(value: Any) -> ListenAddress | None:
    if value is None:
        return None
    match = _found(_ADDRESS.fullmatch(str(value)))
    return ListenAddress((match[1] or LOCAL).strip("[]"), _port(match[2], 0))


def _compression(value: Any) -> str | None:
    if value == "none":
        return None
    if not codec_is_installed(value):
        raise WrongValue(
            f", and the package that brings {value} is not installed: pip install 'crawl-dedup-scrapy[compression]'"
        )
    return str(value)


def _explained(parse: Callable[[object], Any], value: object) -> Any:
    try:
        return parse(value)
    except UsageError as error:
        raise WrongValue(f" ({error})") from error


def _fields(value: Any) -> Mapping[str, str]:
    told = _mapping(value, FIELDS)
    for ours, theirs in told.items():
        if ours not in OUR_FIELDS or (theirs is not None and not _found(_ANY.fullmatch(theirs))):
            raise ValueError
    names = dict(zip(OUR_FIELDS, OUR_FIELDS, strict=True)) | told
    if names["url"] is None or names["body"] is names["text"] is None:
        raise WrongValue("; url and one of body and text are needed")
    return MappingProxyType({ours: theirs for ours, theirs in names.items() if theirs is not None})


def _connection(value: Any) -> Mapping[str, Any]:
    options = {key: each for key, each in _mapping(value, CONNECTION).items() if each is not None}
    problems = [*option_problems(options)]
    if problems:
        raise WrongValue(problems=problems)
    try:
        return MappingProxyType(producer_connection(options))
    except UsageError as error:
        raise WrongValue(problems=[str(error)]) from error


def _mapping(value: Any, kind: SettingKind) -> dict[str, Any]:
    """A mapping, or JSON text of one."""
    try:
        return dict(json.loads(value) if isinstance(value, str) else value)
    except (TypeError, ValueError) as error:
        raise WrongValue(problems=[f": write {kind.allowed}"]) from error  # the value may hold a password


YES_OR_NO: Final = SettingKind("True or False", lambda value: _WORDS[str(value).lower()])
SHARE: Final = SettingKind(
    "a number above 0, up to 1", lambda value: _bounded(float(str(value)), math.nextafter(0, 1), 1)
)
JOB: Final = SettingKind("text, or None", lambda value: None if value is None else _found(_ANY.fullmatch(value))[0])
SERVERS: Final = SettingKind("text such as kafka-1:9092,kafka-2:9092, or a list", _servers)
ADDRESS: Final = SettingKind("a port from 0 to 65535 (0: any free one), host:port, or None", _listen_address)
COMPRESSION: Final = SettingKind("zstd, gzip, none, or snappy, lz4 if their packages are installed", _compression)
MEDIA_TYPES: Final = SettingKind(
    "media types in a list or in text with commas; * stands for any letters",
    lambda value: _explained(media_types, value),
)
STATUSES: Final = SettingKind(
    "statuses and ranges of them in a list or in text with commas, as in 200-299, 404",
    lambda value: _explained(status_ranges, value),
)
FIELDS: Final = SettingKind(
    f"a mapping from {', '.join(OUR_FIELDS)} to names of item fields, or None for fields not to be read", _fields
)
CONNECTION: Final = SettingKind(
    "a mapping with keys of kafka-python's KafkaProducer for security, proxy and timeouts", _connection
)
