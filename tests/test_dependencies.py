"""Two distributions: pip installs exactly the packages that the code of each imports."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.test_imports import ROOT, imports
from worker import DISTRIBUTION

PLUGIN: Final = "crawl-dedup-scrapy"
WORKFLOWS: Final = ROOT / ".github" / "workflows"
OURS: Final = {"worker", "crawler_plugin"}
PROJECTS: Final = {
    name: tomllib.loads((ROOT / folder / "pyproject.toml").read_text())
    for name, folder in ((DISTRIBUTION, "."), (PLUGIN, "crawler_plugin"))
}
COMES_WITH: Final = {"twisted": "scrapy", "pydispatcher": "scrapy", "llvmlite": "numba", "requests": "jgo"}
"""Packages whose versions another dependency bounds; they are not listed again."""
OTHER_EXTRAS: Final = {
    "broker": {"demo"},
    "demo": {"demo"},
    "evaluate": {"evaluate"},
    "places.py": {"scan"},
    "records.py": {"scan"},
    "results": {"scan"},
    "scan": {"scan"},
    "serve": {"serve"},
}
"""Packages of ``worker`` that may need an extra of their own, and say so where it is missing."""
OF_MSK: Final = ROOT / "crawler_plugin" / "wire" / "kafka_client" / "msk.py"
"""Imported only for logins to Amazon MSK; says so where the extra ``msk`` is missing."""
OF_POET: Final = ROOT / "crawler_plugin" / "poet.py"
"""Imported only by projects that name it in SCRAPY_POET_PROVIDERS."""
WIRE: Final = ROOT / "crawler_plugin" / "wire"


def needed(distribution: str, extra: str | None = None) -> set[str]:
    """Packages that the installed metadata requires: without an extra, or for this extra alone."""
    found: set[str] = set()
    for line in requires(distribution) or ():
        requirement = Requirement(line)
        told = str(requirement.marker or "")
        if (f'extra == "{extra}"' in told) if extra else "extra ==" not in told:
            found.add(canonicalize_name(requirement.name))
    return found


def imported(files: Iterable[Path]) -> set[str]:
    """Foreign packages that these files import, by their names in pip."""
    roots = {name.partition(".")[0] for path in files for name in imports(path)}
    found = set()
    for root in roots - OURS - set(sys.stdlib_module_names):
        names = {canonicalize_name(name) for name in packages_distributions()[root]}
        assert names, root
        found |= {COMES_WITH.get(name, name) for name in names}
    return found


def files_of(*rooms: str) -> list[Path]:
    paths = [ROOT / room for room in rooms]
    found = [file for path in paths for file in (path.rglob("*") if path.is_dir() else [path])]
    return [file for file in found if file.suffix == ".py"]


def test_without_an_extra_pip_brings_what_is_on_the_wire_needs_and_nothing_more() -> None:
    assert imported(path for path in files_of("crawler_plugin/wire") if path != OF_MSK) == needed(PLUGIN)


def test_the_extra_scrapy_brings_what_else_the_plugin_imports() -> None:
    plugin = [path for path in files_of("crawler_plugin") if not path.is_relative_to(WIRE) and path != OF_POET]
    assert imported(plugin) - needed(PLUGIN) == needed(PLUGIN, "scrapy")


def test_the_extra_poet_brings_what_its_provider_imports() -> None:
    assert imported([OF_POET]) - needed(PLUGIN, "scrapy") == needed(PLUGIN, "poet")


def test_the_extra_msk_brings_what_its_login_imports() -> None:
    assert imported([OF_MSK]) == needed(PLUGIN, "msk")


def test_pip_brings_the_plugin_for_workers_and_the_rest_of_what_they_import() -> None:
    rooms = [path.name for path in (ROOT / "worker").iterdir() if path.name not in OTHER_EXTRAS]
    workers = imported(files_of(*(f"worker/{room}" for room in rooms)))
    brought = needed(DISTRIBUTION) | needed(PLUGIN)
    optional = needed(DISTRIBUTION, "demo") | needed(DISTRIBUTION, "evaluate")
    assert workers - brought <= optional, "a worker cannot be started"
    assert needed(DISTRIBUTION) - {PLUGIN} <= workers, "nobody imports it"
    assert PLUGIN in needed(DISTRIBUTION)


@pytest.mark.parametrize("room", sorted(OTHER_EXTRAS))
def test_rooms_that_are_no_part_of_a_worker_import_what_their_extra_brings_besides(room: str) -> None:
    brought = needed(DISTRIBUTION) | needed(PLUGIN) | needed(PLUGIN, "scrapy")
    for extra in OTHER_EXTRAS[room]:
        brought |= needed(DISTRIBUTION, extra)
    assert imported(files_of(f"worker/{room}")) <= brought


def test_both_distributions_have_one_version_and_one_requirement_of_python() -> None:
    for name in ("version", "requires-python", "license"):
        assert PROJECTS[DISTRIBUTION]["project"][name] == PROJECTS[PLUGIN]["project"][name]
    assert (ROOT / "crawler_plugin" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_every_folder_of_the_plugin_is_a_package_of_its_distribution() -> None:
    folders = {path.parent.relative_to(ROOT) for path in (ROOT / "crawler_plugin").rglob("*.py")}
    packages = PROJECTS[PLUGIN]["tool"]["setuptools"]["packages"]
    assert sorted(packages) == packages == sorted(".".join(folder.parts) for folder in folders)


def test_extras_of_the_same_name_bring_the_same() -> None:
    """A release names the plugin's version where a checkout names its folder."""
    project = PROJECTS[DISTRIBUTION]["project"]
    every = project["dependencies"] + [each for extra in project["optional-dependencies"].values() for each in extra]
    asked = [line for line in every if line.startswith(PLUGIN)]
    assert {line.partition(" @ ")[2] for line in asked} == {"{root:uri}/crawler_plugin"}
    assert project["optional-dependencies"]["msk"] == [f"{PLUGIN}[msk] @ {{root:uri}}/crawler_plugin"]
    assert f"{PLUGIN}[compression] @ {{root:uri}}/crawler_plugin" in project["dependencies"], "workers read any codec"


def test_actions_are_pinned_by_what_cannot_be_moved() -> None:
    used = [use for file in WORKFLOWS.glob("*.yml") for use in re.findall(r"uses: (.+)", file.read_text())]
    assert used
    assert [use for use in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_what_contributors_are_told_to_release_is_what_is_built(name: str) -> None:
    told = (ROOT / "CONTRIBUTING.md").read_text().partition("## How to release")[2].partition("```sh")[2]
    lines = [line.strip() for line in told.partition("```")[0].strip().splitlines()]
    assert len(lines) == 3
    workflow = [line.strip() for line in (WORKFLOWS / name).read_text().splitlines()]
    place = workflow.index(lines[0])
    assert workflow[place : place + 3] == lines
    released = re.sub(r" @ \{root:uri\}/crawler_plugin", "==1.2.3", (ROOT / "pyproject.toml").read_text())
    project = tomllib.loads(released)["project"]
    every = project["dependencies"] + [each for extra in project["optional-dependencies"].values() for each in extra]
    assert {str(each.specifier) for each in map(Requirement, every) if each.name == PLUGIN} == {"==1.2.3"}
