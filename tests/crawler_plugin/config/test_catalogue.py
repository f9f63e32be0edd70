"""The list of the plugin's settings, compared with the code that reads them."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from scrapy.settings import Settings

from crawler_plugin.config import settings as module
from crawler_plugin.config.catalogue import PREFIX, SETTINGS
from crawler_plugin.config.kinds import OUR_FIELDS
from crawler_plugin.config.settings import PluginSettings
from crawler_plugin.wire.errors import UsageError

READ_BEFORE_ALL_OTHERS = {"DEDUP_ENABLED"}


def test_every_setting_is_named_alike_and_says_what_is_allowed_and_what_it_does() -> None:
    for name, setting in SETTINGS.items():
        assert re.fullmatch(rf"{PREFIX}[A-Z_]+", name)
        assert setting.allowed
        assert setting.meaning.endswith(".")


def test_every_default_is_allowed() -> None:
    told = {name: setting.default for name, setting in SETTINGS.items()}
    assert PluginSettings.read(Settings(told)) == PluginSettings.read(Settings())


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_every_setting_is_read_and_refused_with_what_is_allowed_where_it_is_senseless(name: str) -> None:
    read = module.is_enabled if name in READ_BEFORE_ALL_OTHERS else PluginSettings.read
    with pytest.raises(UsageError) as refused:
        read(Settings({name: 1.5j, "DEDUP_CAPTURE": name.startswith("DEDUP_CAPTURE_")} | {name: 1.5j}))
    assert name in str(refused.value)


def test_our_names_of_an_items_fields_are_those_that_a_project_can_map() -> None:
    mapped = {name: f"my_{name}" for name in OUR_FIELDS}
    assert PluginSettings.read(Settings({"DEDUP_FIELDS": mapped})).fields == mapped
    assert "fields" in {field.name for field in fields(PluginSettings)}
