"""What pip brings is what the code imports: for the plugin alone, and with the extra ``worker``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.test_imports import ROOT, imports
from worker import DISTRIBUTION

OURS: Final = {"worker", "crawler_plugin"}
SHARED: Final = {
    "errors",
    "kafka_client",
    "media_types",
    "messages",
    "moments",
    "outcomes",
    "topics",
    "url_templates",
    "urls",
}
"""What of ``worker`` the plugin may import."""
COMES_WITH: Final = {"twisted": "scrapy", "llvmlite": "numba", "requests": "jgo"}
"""Packages of which whoever brings them says which versions they may have; they are not asked for a second time."""
OTHER_EXTRAS: Final = {"broker": "demo", "demo": "demo", "evaluate": "evaluate", "scan": "scan"}
"""Rooms of ``worker`` that may need an extra of their own besides, and say so where it is missing."""


def needed(extra: str | None) -> set[str]:
    """Packages that the installed metadata asks for: with no extra, or by this one alone."""
    found: set[str] = set()
    for line in requires(DISTRIBUTION) or ():
        requirement = Requirement(line)
        told = str(requirement.marker or "")
        if (f'extra == "{extra}"' in told) if extra else "extra ==" not in told:
            found.add(canonicalize_name(requirement.name))
    return found


def imported(files: Iterable[Path]) -> set[str]:
    """Packages of others that these files import, by what pip calls them."""
    roots = {name.partition(".")[0] for path in files for name in imports(path)}
    found = set()
    for root in roots - OURS - set(sys.stdlib_module_names):
        names = {canonicalize_name(name) for name in packages_distributions()[root]}
        assert names, root
        found |= {COMES_WITH.get(name, name) for name in names}
    return found


def files_of(*rooms: str) -> list[Path]:
    paths = [ROOT / room for room in rooms]
    return [file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")])]


JUDGES_HERE: Final = ROOT / "crawler_plugin" / "judging" / "local.py"
"""Needs what workers need, and is read only by a crawl that judges its pages itself."""
OF_MSK: Final = ROOT / "worker" / "kafka_client" / "msk.py"
"""Is read only by who logs in to Amazon MSK, and says so where the extra ``msk`` is missing."""
SERVER: Final = "crawler_plugin.wire.http_server"
"""Shows the metrics of workers and of crawls; imports nothing else of the project."""
PLUGIN: Final = files_of("crawler_plugin", SERVER.replace(".", "/"), *(f"worker/{room}" for room in sorted(SHARED)))


def test_the_plugin_imports_of_the_worker_only_what_is_shared_and_that_imports_nothing_else_of_it() -> None:
    for path in PLUGIN:
        if path == JUDGES_HERE:
            continue
        ours = {name for name in imports(path) if name.partition(".")[0] in OURS} - {SERVER}
        of_worker = {name.split(".")[1] for name in ours if name.startswith("worker.")}
        assert of_worker <= SHARED, path


def test_without_an_extra_pip_brings_what_the_plugin_imports_and_nothing_more() -> None:
    assert imported(path for path in PLUGIN if path != OF_MSK) == needed(None)


def test_the_extra_msk_brings_what_its_login_imports() -> None:
    assert imported([OF_MSK]) == needed("msk")


def test_the_extra_worker_brings_the_rest_of_what_workers_import() -> None:
    rooms = [path for path in (ROOT / "worker").iterdir() if path.stem not in {*OTHER_EXTRAS, *SHARED}]
    workers = imported(
        file
        for path in rooms
        for file in (path.rglob("*.py") if path.is_dir() else [path] if path.suffix == ".py" else [])
    )
    optional = needed("fast") | needed("demo") | needed("evaluate") | needed("bench")
    missing = workers - needed(None) - needed("worker")
    assert missing <= optional, "a worker cannot be started"
    assert needed("worker") <= workers, "nobody imports it"


@pytest.mark.parametrize("room", sorted(OTHER_EXTRAS))
def test_rooms_that_are_no_part_of_a_worker_import_what_their_extra_brings_besides(room: str) -> None:
    assert imported(files_of(f"worker/{room}")) <= needed(None) | needed("worker") | needed(OTHER_EXTRAS[room])


@pytest.mark.parametrize("extra", ["demo", "evaluate", "test", "bench"])
def test_extras_that_run_workers_bring_what_they_need(extra: str) -> None:
    assert needed("worker") <= needed(extra)
