"""One name, one thing: no two public classes have the same name, and tests are found by the name of their module."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent


def classes(path: Path) -> list[str]:
    """Public classes that a file defines, without imported ones."""
    body = ast.parse(path.read_bytes()).body
    return [node.name for node in body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def test_no_public_class_is_called_like_another_one() -> None:
    homes = defaultdict(set)
    for package in ("worker", "crawler_plugin"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for name in classes(path):
                homes[name].add(".".join(path.relative_to(ROOT).with_suffix("").parts))
    twice = {name: modules for name, modules in homes.items() if len(modules) > 1}
    assert twice == {}


def test_classes_that_are_imported_or_private_are_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("from other import Shared\nclass Own:\n    class Inner: ...\nclass _Private: ...\n")
    assert classes(path) == ["Own"]


@pytest.mark.parametrize(
    "room",
    [
        "page",
        "fingerprint",
        "index",
        "config",
        "verdict",
        "pool",
        "../crawler_plugin/wire",
        "stream",
        "operations",
        "observe",
        "local",
        "scan",
        "serve",
        "results/groups",
        "results/jobs",
        "results/report",
    ],
)
def test_each_module_has_a_test_file_of_its_name(room: str) -> None:
    modules = {path.relative_to(ROOT / "worker" / room) for path in (ROOT / "worker" / room).rglob("*.py")}
    tests = ROOT / "tests" / room.removeprefix("../crawler_plugin/")
    assert modules
    tested = {module for module in modules if (tests / module.parent / f"test_{module.name}").exists()}
    assert {module.as_posix() for module in modules - tested if module.stem != "__init__"} == set()
