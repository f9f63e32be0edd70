"""Topics as the settings say."""

from __future__ import annotations

import pytest

from crawler_plugin.wire.topics import DEDUPLICATED, INDEX, PAGES, topic_specs
from worker.compose.topology import specs
from worker.config import Settings, load_settings


def test_the_defaults_of_settings_and_topics_are_the_same() -> None:
    assert specs(Settings()) == topic_specs()


def test_the_topics_are_those_of_the_settings() -> None:
    overrides = ["topics.prefix=mine.", "topics.partitions=3", "topics.shards=5"]
    given = {spec.topic: spec for spec in specs(load_settings(config=None, overrides=overrides, environ={}))}
    assert (given[PAGES].name, given[PAGES].partitions) == ("mine.pages", 3)
    assert (given[INDEX].name, given[INDEX].partitions) == ("mine.index", 5)


@pytest.mark.parametrize(("mode", "copies"), [("tag", True), ("drop", True), ("count", True), ("verdicts", False)])
def test_only_workers_that_never_copy_a_page_need_no_topic_for_copies(mode: str, copies: bool) -> None:
    """Workers that only count may be those that write after a switch."""
    given = specs(load_settings(config=None, overrides=[f"output.mode={mode}"], environ={}))
    assert (DEDUPLICATED in {spec.topic for spec in given}) is copies
