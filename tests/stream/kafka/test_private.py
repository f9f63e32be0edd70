"""Only two files touch parts of kafka-python without a public name, and the installed version has them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

from tests.wire.kafka_client.parts import OF_EVERYBODY, OF_WORKERS, lacking

ROOT: Final = Path(__file__).resolve().parents[3]
FOLDERS: Final = ("worker/stream/kafka", "crawler_plugin")
OF_BOTH: Final = "crawler_plugin/wire/kafka_client/private.py"
OF_OWN_CLASSES: Final = {
    *(
        "_append",
        "_buffer",
        "_cache_next",
        "_client",
        "_maybe_compress",
        "_next_slice",
        "_send_fetches_async",
    ),
}
"""Private names of classes of kafka-python that our classes derive from."""
OF_TUPLES: Final = {"_replace", "_asdict", "_fields"}
OF_SCRAPY: Final = {"_parse"}
"""The method of a spider that Scrapy calls where a request names no callback; a ``CrawlSpider`` has its rules there."""
OF_SYS: Final = {"_current_frames"}
"""Documented as part of the standard library."""


def test_the_installed_kafka_python_has_every_part_that_is_touched() -> None:
    assert lacking(OF_WORKERS) == []


def foreign_privates(path: Path) -> list[str]:
    """Private attributes, of objects of foreign classes, that a file touches."""
    tree = ast.parse(path.read_bytes())
    own = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    } | {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.endswith("__")
        and node.attr not in own | OF_TUPLES | OF_SCRAPY | OF_SYS
    ]


def test_nothing_private_of_kafka_python_is_touched_elsewhere() -> None:
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))):
        assert foreign_privates(path) == [] or path.name == "private.py", path


def test_what_is_touched_elsewhere_would_be_seen() -> None:
    touched = foreign_privates(ROOT / "worker" / "stream" / "kafka" / "private.py")
    private = {part.name for part in OF_WORKERS if part.name.startswith("_")}
    assert private - OF_OWN_CLASSES == {line.rpartition(" ")[2] for line in touched}


def test_whatever_the_plugin_and_workers_touch_is_in_the_list_of_what_must_be_there() -> None:
    touched = foreign_privates(ROOT / OF_BOTH)
    assert {line.rpartition(" ")[2] for line in touched} <= {part.name for part in OF_EVERYBODY}
