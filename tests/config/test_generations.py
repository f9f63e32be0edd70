"""The settings of one generation made from those of another."""

from __future__ import annotations

import pytest

from crawler_plugin.wire.errors import UsageError
from tests.config.giving import loaded
from worker.config import Settings
from worker.config.generations import in_generation


def test_another_generation_has_the_same_settings_but_for_what_is_given() -> None:
    settings = loaded(overrides=["near.k=1", "topics.prefix=a."]).settings
    changed = in_generation(settings, "b", shards=3)
    assert (changed.topics.generation, changed.topics.shards, changed.topics.prefix) == ("b", 3, "a.")
    assert changed.near == settings.near
    assert in_generation(changed, "", shards=8) == settings


def test_what_cannot_be_a_generation_is_refused_by_the_settings_name() -> None:
    with pytest.raises(UsageError, match=r"'b/c' cannot be topics\.generation: .*give another"):
        in_generation(Settings(), "b/c")
    with pytest.raises(UsageError, match=r"0 cannot be topics\.shards"):
        in_generation(Settings(), "b", shards=0)
