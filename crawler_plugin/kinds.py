"""Kinds of settings: what may be written for one, and how that is read.

Each kind takes text, too, as ``scrapy crawl -s NAME=VALUE`` gives it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from crawler_plugin.metrics.server import LOCAL, ListenAddress
from crawler_plugin.wanted import media_types, status_ranges
from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.kafka_client.options import (
    codec_is_installed,
    option_problems,
    producer_connection,
)

OUR_FIELDS: Final = ("url", "body", "text", "status", "encoding", "content_type", "fetched", "dedup")
"""What the plugin reads of an item, by our names; ``DEDUP_FIELDS`` maps them to the item's."""
_SERVER: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:,\[\]/]+):([0-9]{1,5})")
_LISTEN: Final = re.compile(r"(?:(.+):)?([0-9]{1,5})", re.DOTALL)
_NAME: Final = re.compile(r"[A-Za-z0-9._-]*")


class WrongValue(Exception):
    """No value of the setting: ``detail`` is said behind what to write, ``problems`` in place of all that."""

    def __init__(self, detail: str = "", problems: Sequence[str] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.problems = problems


class Kind(NamedTuple):
    """``allowed`` says what to write; ``read`` makes of it what the plugin uses, or raises ``WrongValue``."""

    allowed: str
    read: Callable[[Any], Any]

    def but(self, needs: str) -> Kind:
        """The same, with what a value needs besides."""
        return Kind(f"{self.allowed}; {needs}", self.read)


def whole_number(least: int, most: int, allowed: str | None = None) -> Kind:
    """From ``least`` to ``most``."""

    def read(value: Any) -> int:
        number = _number(value, int)
        if number is None or not least <= number <= most:
            raise WrongValue(f" (here at least {least})")
        return int(number)

    return Kind(allowed or f"a whole number from {least} to {most}", read)


def seconds(most: int) -> Kind:
    """From 0 to ``most``."""

    def read(value: Any) -> float:
        number = _number(value, float)
        if number is None or not 0 <= number <= most:
            raise WrongValue
        return number

    return Kind(f"seconds, a number from 0 to {most}", read)


def choice(*choices: str) -> Kind:
    """One of these words."""

    def read(value: Any) -> str:
        if value not in choices:
            raise WrongValue
        return str(value)

    return Kind(f"{', '.join(choices[:-1])} or {choices[-1]}", read)


def name(most: int) -> Kind:
    """Part of a topic's name, of ``most`` characters; it may be empty."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or len(value) > most or not _NAME.fullmatch(value):
            raise WrongValue
        return value

    return Kind(f"text of letters, digits, dots, hyphens and underscores, at most {most} characters", read)


def path(allowed: str) -> Kind:
    """The path of a file or folder, or None."""

    def read(value: Any) -> str | None:
        if value is not None and not (isinstance(value, (str, os.PathLike)) and os.fspath(value)):
            raise WrongValue
        return None if value is None else os.fspath(value)

    return Kind(allowed, read)


def explained(parse: Callable[[object], Any], allowed: str) -> Kind:
    """What ``parse`` makes of it, whose ``UsageError`` says what is wrong."""

    def read(value: Any) -> Any:
        try:
            return parse(value)
        except UsageError as error:
            raise WrongValue(f" ({error})") from error

    return Kind(allowed, read)


def _yes_or_no(value: Any) -> bool:
    """As Scrapy reads it, so that ``-s NAME=False`` and ``-s NAME=0`` are no."""
    match str(value).lower():
        case "true" | "1":
            return True
        case "false" | "0":
            return False
    raise WrongValue


def _share(value: Any) -> float:
    number = _number(value, float)
    if number is None or not 0 < number <= 1:
        raise WrongValue
    return number


def _job(value: Any) -> str | None:
    if value is not None and not (isinstance(value, str) and value):
        raise WrongValue
    return value


def _servers(value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    servers = tuple(str(part).strip() for part in parts) if isinstance(parts, (list, tuple)) else ()
    matches = [_SERVER.fullmatch(server) for server in servers]
    if not servers or any(match is None or not 0 < int(match[2]) < 65536 for match in matches):
        raise WrongValue
    return servers


def _listen_address(value: Any) -> ListenAddress | None:
    if value is None:
        return None
    match = None if isinstance(value, bool) else _LISTEN.fullmatch(str(value))
    if match is None or int(match[2]) > 65535:
        raise WrongValue
    return ListenAddress((match[1] or "").strip("[]") or LOCAL, int(match[2]))


def _compression(value: Any) -> str | None:
    if value not in ("none", "gzip", "snappy", "lz4", "zstd"):
        raise WrongValue
    if value == "none":
        return None
    if not codec_is_installed(value):
        raise WrongValue(
            f", and the package that brings {value} is not installed: pip install 'crawl-dedup-scrapy[compression]'"
        )
    return str(value)


def _fields(value: Any) -> MappingProxyType[str, str]:
    told = _mapping(value, FIELDS.allowed)
    for ours, theirs in told.items():
        if ours not in OUR_FIELDS or not (theirs is None or (isinstance(theirs, str) and theirs)):
            raise WrongValue
    names = dict(zip(OUR_FIELDS, OUR_FIELDS, strict=True)) | told
    if names["url"] is None or names["body"] is names["text"] is None:
        raise WrongValue("; url and one of body and text are needed")
    return MappingProxyType({ours: theirs for ours, theirs in names.items() if theirs is not None})


def _kafka_options(value: Any) -> MappingProxyType[str, Any]:
    told = _mapping(value, CONNECTION.allowed)
    options = {key: each for key, each in told.items() if each is not None}
    problems = [*option_problems(options)]
    if problems:
        raise WrongValue(problems=problems)
    try:
        return MappingProxyType(producer_connection(options))
    except UsageError as error:
        raise WrongValue(problems=[str(error)]) from error


def _mapping(value: Any, allowed: str) -> dict[str, Any]:
    """A mapping, or JSON text of one."""
    try:
        return dict(json.loads(value) if isinstance(value, str) else value)
    except (TypeError, ValueError) as error:
        raise WrongValue(problems=[f": write {allowed}"]) from error  # the value may hold a password


def _number(value: Any, kind: Callable[[str], float]) -> float | None:
    """A number, or text that is one."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return kind(str(value))
    except ValueError:
        return None


YES_OR_NO: Final = Kind("True or False", _yes_or_no)
SHARE: Final = Kind("a number above 0, up to 1", _share)
JOB: Final = Kind("text, or None", _job)
SERVERS: Final = Kind("text such as kafka-1:9092,kafka-2:9092, or a list", _servers)
ADDRESS: Final = Kind("a port from 0 to 65535 (0: any free one), host:port, or None", _listen_address)
COMPRESSION: Final = Kind("none, gzip, or snappy, lz4, zstd if their packages are installed", _compression)
MEDIA_TYPES: Final = explained(media_types, "media types in a list or in text with commas; * stands for any letters")
STATUSES: Final = explained(
    status_ranges, "statuses and ranges of them in a list or in text with commas, as in 200-299, 404"
)
FIELDS: Final = Kind(
    f"a mapping from {', '.join(OUR_FIELDS)} to names of item fields, or None for fields not to be read", _fields
)
CONNECTION: Final = Kind(
    "a mapping with keys of kafka-python's KafkaProducer for security, proxy and timeouts", _kafka_options
)
