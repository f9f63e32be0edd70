"""Each outside library is imported where it is at home, and each home imports it."""

from __future__ import annotations

import pytest
from grimp import ImportGraph

from tools.import_homes import not_at_home


def graph() -> ImportGraph:
    found = ImportGraph()
    for module in ("worker.a", "worker.a.b", "worker.ab", "crawler_plugin.c", "tests.d"):
        found.add_module(module)
    found.add_module("kafka", is_squashed=True)
    for importer in ("worker.a.b", "crawler_plugin.c", "tests.d"):
        found.add_import(importer=importer, imported="kafka")
    return found


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("kafka: worker.a.** crawler_plugin.c", []),
        ("kafka: worker.a.b crawler_plugin.c", []),
        ("yaml:", []),
        ("kafka: worker.a.**", ["crawler_plugin.c imports kafka: its homes are worker.a.**"]),
        (
            "kafka:",
            [
                "crawler_plugin.c imports kafka: its homes are none",
                "worker.a.b imports kafka: its homes are none",
            ],
        ),
        (
            "kafka: worker.a crawler_plugin.c",
            [
                "worker.a.b imports kafka: its homes are worker.a, crawler_plugin.c",
                "worker.a is a home of kafka and does not import it: strike it out",
            ],
        ),
        (
            "kafka: worker.a.** worker.ab.** crawler_plugin.c",
            ["worker.ab.** is a home of kafka and does not import it: strike it out"],
        ),
    ],
)
def test_a_library_is_imported_in_its_homes_and_in_each_of_them(line: str, wrong: list[str]) -> None:
    assert not_at_home(graph(), [line]) == wrong
