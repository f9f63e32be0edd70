"""Topics as the settings say."""

from __future__ import annotations

from worker.compose.topology import specs
from worker.config import load_settings
from worker.topics import INDEX, PAGES


def test_the_topics_are_those_of_the_settings() -> None:
    overrides = ["topics.prefix=mine.", "topics.partitions=3", "topics.shards=5"]
    given = {spec.topic: spec for spec in specs(load_settings(config=None, overrides=overrides, environ={}))}
    assert (given[PAGES].name, given[PAGES].partitions) == ("mine.pages", 3)
    assert (given[INDEX].name, given[INDEX].partitions) == ("mine.index", 5)
