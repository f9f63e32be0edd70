"""The settings as a list that can be walked: what errors, the handbook's table and ``--print-config`` are made of."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, cast

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from worker.config.model import Settings

ENVIRONMENT_PREFIX: Final = "DEDUP_"
OTHER_NAMES: Final = {
    "DEDUP_CONFIG": "the config file, if --config does not name it",
    "DEDUP_TEST_DATA": "folders of labelled pages for the tests that need them",
}
"""Names of the environment that begin like a setting's and are none."""
_LITERATURE: Final = "remove it; `explain` and `evaluate` have it as the option"
GONE: Final = {
    "page.extractor": "remove it; the built-in extractor is the only one, and `evaluate --extractor` measures others",
    "segment.engine": "remove it; words are always cut in compiled steps, by jieba's dictionary",
    "segment.hmm": "remove it; words are always cut by the dictionary alone",
    "features.units": "remove it; features are always words and pairs of words",
    "features.weights": f"{_LITERATURE} --weights",
    "features.idf_table": f"{_LITERATURE} --idf-table",
    "features.levels_file": f"{_LITERATURE} --levels-file",
    "fingerprint.hash": f"{_LITERATURE} --hash",
}
"""Settings of earlier versions that no worker has any more, and what to do where one is still given."""
PLUGIN_NAMES: Final = (
    "DEDUP_ENABLED",
    "DEDUP_CAPTURE",
    "DEDUP_CAPTURE_TYPES",
    "DEDUP_CAPTURE_STATUS",
    "DEDUP_BOOTSTRAP_SERVERS",
    "DEDUP_TOPIC_PREFIX",
    "DEDUP_FIELDS",
    "DEDUP_JOB",
    "DEDUP_BUFFER_BYTES",
    "DEDUP_ON_FULL",
    "DEDUP_GIVE_UP_SECONDS",
    "DEDUP_REQUIRED",
    "DEDUP_SPOOL",
    "DEDUP_SPOOL_BYTES",
    "DEDUP_MAX_PAGE_BYTES",
    "DEDUP_OVERSIZE",
    "DEDUP_FLUSH_TIMEOUT",
    "DEDUP_COMPRESSION",
    "DEDUP_KAFKA_OPTIONS",
    "DEDUP_MODE",
    "DEDUP_STATE",
    "DEDUP_LOCAL_PYTHON",
    "DEDUP_AWAIT",
    "DEDUP_AWAIT_RESPONSES",
    "DEDUP_DROP",
    "DEDUP_DROP_REFETCHES",
    "DEDUP_DROPPED",
    "DEDUP_DRY_RUN",
    "DEDUP_GENERATION",
    "DEDUP_STATS_PORT",
    "DEDUP_FEEDBACK",
    "DEDUP_FEEDBACK_ACTION",
    "DEDUP_FEEDBACK_BUDGET",
    "DEDUP_FEEDBACK_DRY_RUN",
    "DEDUP_FEEDBACK_EXPLORE",
    "DEDUP_FEEDBACK_FROM",
    "DEDUP_FEEDBACK_MIN",
    "DEDUP_FEEDBACK_SEED",
)
"""Settings of the Scrapy plugin, which spiders that run beside a worker may take from the same environment."""


@dataclass(frozen=True)
class Entry:
    """One setting. ``key`` is dotted; ``allowed`` says in words which values it takes."""

    key: str
    default: Any
    unit: str
    text: str
    example: str
    allowed: str
    optional: bool
    secret: bool
    is_text: bool

    @property
    def section(self) -> str:
        """``near`` of ``near.k``."""
        return self.key.partition(".")[0]

    @property
    def name(self) -> str:
        """``k`` of ``near.k``."""
        return self.key.partition(".")[2]

    @property
    def environment(self) -> str:
        """The name in the environment, for example ``DEDUP_NEAR__K``."""
        return environment_of(self.key)


def environment_of(key: str) -> str:
    """The name in the environment of a dotted key."""
    return ENVIRONMENT_PREFIX + key.replace(".", "__").upper()


@cache
def catalogue() -> dict[str, Entry]:
    """All settings by dotted key, in the order of the sections and of the settings in them."""
    return {
        f"{section}.{name}": _entry(f"{section}.{name}", field)
        for section, model in sections().items()
        for name, field in model.model_fields.items()
    }


@cache
def sections() -> dict[str, type[BaseModel]]:
    """The sections by name, in order."""
    return {name: cast("type[BaseModel]", field.annotation) for name, field in Settings.model_fields.items()}


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question with the closest known word, or nothing where none is close."""
    lowered = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    return f"did you mean {lowered[close[0]]}?" if close else ""


def closest_key(key: str) -> str:
    """As ``did_you_mean`` for a dotted key; a name that stands in another section is found there. Of a setting that is
    ``GONE`` what to do."""
    if key in GONE:
        return GONE[key]
    name = key.rpartition(".")[2].lower()
    elsewhere = [entry.key for entry in catalogue().values() if entry.name == name]
    if len(elsewhere) == 1:
        return f"did you mean {elsewhere[0]}?"
    return did_you_mean(key, catalogue())


def _entry(key: str, field: FieldInfo) -> Entry:
    extra = field.json_schema_extra
    assert isinstance(extra, dict), f"{key} is not declared with setting()"
    kinds, optional = _kinds(field.annotation)
    return Entry(
        key=key,
        default=field.default,
        unit=str(extra["unit"]),
        text=field.description or "",
        example=str(extra["example"]),
        allowed=", or ".join(_allowed(kind, field, str(extra["example"])) for kind in kinds) + ", or null" * optional,
        optional=optional,
        secret=SecretStr in kinds,
        is_text=bool({str, SecretStr, Path} & set(kinds)),
    )


def _kinds(annotation: Any) -> tuple[list[Any], bool]:
    """The plain types of an annotation, and whether None is one of them."""
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    members = typing.get_args(annotation) if is_union else (annotation,)
    plain = [typing.get_args(member)[0] if _is_annotated(member) else member for member in members]
    return [member for member in plain if member is not types.NoneType], types.NoneType in plain


def _is_annotated(annotation: Any) -> bool:
    return typing.get_origin(annotation) is typing.Annotated


def _allowed(kind: Any, field: FieldInfo, example: str) -> str:
    if typing.get_origin(kind) is Literal:
        choices = [str(choice) for choice in typing.get_args(kind)]
        return choices[0] if len(choices) == 1 else "one of " + ", ".join(choices)
    if kind is bool:
        return "true or false"
    if kind is int or kind is float:
        return ("a whole number" if kind is int else "a number") + _bounds(field)
    if kind is Path:
        return "the path of a file that exists" if _must_exist(field) else "the path of a folder"
    if example:
        return f"text such as {example}"
    return "text" + _text_bounds(field)


def _must_exist(field: FieldInfo) -> bool:
    """Whether it is pydantic's ``FilePath``, which wants a file; a plain ``Path`` is a folder to be made."""
    members = typing.get_args(field.annotation)
    parts = [part for member in members if _is_annotated(member) for part in typing.get_args(member)]
    return any(getattr(part, "path_type", None) == "file" for part in [*parts, *field.metadata])


def _bounds(field: FieldInfo) -> str:
    names = ("ge", "gt", "le")
    parts = [*field.metadata, *(part for inner in _inner_fields(field) for part in inner.metadata)]
    limits = {name: getattr(part, name) for part in parts for name in names if hasattr(part, name)}
    if "ge" in limits and limits["ge"] == limits.get("le"):
        return f", only {limits['ge']}"
    if "ge" in limits and "le" in limits:
        return f" from {limits['ge']} to {limits['le']}"
    words = {"ge": " of at least ", "gt": " above ", "le": " up to "}
    return ",".join(words[name] + str(limit) for name, limit in limits.items())


def _inner_fields(field: FieldInfo) -> list[FieldInfo]:
    """Those of the members of a union that have bounds of their own."""
    members = [member for member in typing.get_args(field.annotation) if _is_annotated(member)]
    return [part for member in members for part in typing.get_args(member) if isinstance(part, FieldInfo)]


def _text_bounds(field: FieldInfo) -> str:
    patterns = [part.pattern for part in field.metadata if getattr(part, "pattern", None)]
    letters = " of letters, digits, dots, hyphens and underscores" if patterns else ""
    longest = [part.max_length for part in field.metadata if getattr(part, "max_length", None)]
    return letters + (f", at most {longest[0]} characters" if longest else "")
