"""The settings of one generation made from those of another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import ValidationError

from crawler_plugin.wire.errors import UsageError
from worker.config.model import NearSettings, Settings, TopicSettings

AnySection = TypeVar("AnySection", TopicSettings, NearSettings)


def in_generation(settings: Settings, generation: str, **topics: object) -> Settings:
    """The same settings with another ``topics.generation``, and with these values of that section.

    Raises:
        UsageError: a value that is not allowed there.
    """
    changed = _with("topics", settings.topics, {"generation": generation} | topics)
    return settings.model_copy(update={"topics": changed})


def with_near(settings: Settings, given: Mapping[str, str]) -> Settings:
    """The same settings with these values of the section ``near``.

    Raises:
        UsageError: a name or a value that is not allowed there.
    """
    return settings.model_copy(update={"near": _with("near", settings.near, given)})


def _with(name: str, section: AnySection, values: Mapping[str, object]) -> AnySection:
    try:
        return type(section)(**section.model_dump() | dict(values))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise UsageError(
            f"{problem['input']!r} cannot be {name}.{problem['loc'][0]}: {problem['msg']}; give another"
        ) from error
