"""The settings as a list: each has a reason, and a name in the file, the environment and the flags."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from crawler_plugin.config.catalogue import SETTINGS
from tests.config.giving import loaded, written
from worker.config import Settings
from worker.config.catalogue import PLUGIN_NAMES, Entry, catalogue, sections


@pytest.mark.parametrize("entry", catalogue().values(), ids=lambda entry: entry.key)
def test_every_setting_has_a_reason_and_can_be_given_in_each_way(entry: Entry, tmp_path: Path) -> None:
    assert re.search(r"(^|[.:] )(Set|Change|Leave) it[ ,:][^.]*( MiB)?\.$", entry.text), (
        "the last sentence says who changes it"
    )
    for value in (entry.default, None):
        if value is None and not entry.optional:
            continue
        text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        file = written(tmp_path, yaml.safe_dump({entry.section: {entry.name: value}}))
        assert loaded(file).settings == Settings()
        assert loaded(overrides=[f"{entry.key}={text}"]).settings == Settings()
        assert loaded(environ={entry.environment: text}).settings == Settings()


def test_every_section_says_what_it_is_for() -> None:
    assert all(model.__doc__ for model in sections().values())


def test_names_that_checks_from_outside_rely_on_stand() -> None:
    defaults = {
        "kafka.bootstrap_servers": "127.0.0.1:9092",
        "topics.prefix": "dedup.",
        "topics.partitions": 8,
        "topics.shards": 8,
        "near.predicate": "accurate",
        "near.scope": "global",
        "near.k": 3,
        "metrics.host": "127.0.0.1",
        "metrics.port": 9464,
        "output.mode": "tag",
    }
    assert {key: catalogue()[key].default for key in defaults} == defaults
    assert catalogue()["kafka.bootstrap_servers"].environment == "DEDUP_KAFKA__BOOTSTRAP_SERVERS"


def test_the_scrapy_plugins_settings_may_stand_in_the_same_environment() -> None:
    theirs = set(SETTINGS) - {"DEDUP_CONFIG"}  # names the same file in both
    assert loaded(environ=dict.fromkeys(theirs, "anything")).settings == Settings()
    assert set(PLUGIN_NAMES) == theirs
