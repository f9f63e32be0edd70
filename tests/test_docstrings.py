"""The examples in docstrings run, and give what they show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

from tools.docs import ROOT

PACKAGES = ("worker", "crawler_plugin")


def module_of(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


WITH_EXAMPLES = sorted(
    module_of(file)
    for package in PACKAGES
    for file in (ROOT / package).rglob("*.py")
    if "    >>> " in file.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_a_module_give_what_they_show(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0


def test_what_others_build_on_has_examples() -> None:
    public = {"worker.local.deduplicator", "worker.local.page", "worker.records", "crawler_plugin.wire.urls"}
    assert public <= set(WITH_EXAMPLES)
