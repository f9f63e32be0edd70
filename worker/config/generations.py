"""The settings of one generation made from those of another."""

from __future__ import annotations

from pydantic import ValidationError

from crawler_plugin.wire.errors import UsageError
from worker.config.model import Settings, TopicSettings


def in_generation(settings: Settings, generation: str, **topics: object) -> Settings:
    """The same settings with another ``topics.generation``, and with these values of that section.

    Raises:
        UsageError: a value that is not allowed there.
    """
    values = settings.topics.model_dump() | {"generation": generation} | topics
    try:
        changed = TopicSettings(**values)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise UsageError(
            f"{problem['input']!r} cannot be topics.{problem['loc'][0]}: {problem['msg']}; give another"
        ) from error
    return settings.model_copy(update={"topics": changed})
