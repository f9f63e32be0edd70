"""The README says what the code does, in both directions, and its commands are the ones that are run."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import pytest

from crawler_plugin.catalogue import SETTINGS
from tests import docs
from worker import __version__, errors
from worker.cli.main import COMMANDS
from worker.config.catalogue import catalogue, sections
from worker.messages import PageMeta, VerdictRecord, dead_letter_headers

ROOT: Final = docs.ROOT
TEXT: Final = docs.README.read_text(encoding="utf-8")
FENCE: Final = re.compile(r"^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def part(name: str) -> str:
    """What stands between the markers of this name."""
    found = re.findall(rf"<!-- {name}:begin -->\n(.*?)<!-- {name}:end -->", TEXT, re.DOTALL)
    assert len(found) == 1, f"README.md needs the markers {name}:begin and {name}:end once"
    return str(found[0])


def first_column(name: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)` \|", part(name), re.MULTILINE)


def first_block() -> list[str]:
    block = FENCE.search(TEXT)
    assert block is not None
    return block["text"].splitlines()


def test_the_first_block_is_two_commands_each_with_an_environment_of_its_own() -> None:
    demo, tests = first_block()
    for command, environment, ends in ((demo, ".venv-demo", "-m worker demo"), (tests, ".venv-test", "-m tests")):
        assert command.startswith(f"python3 -m venv {environment} && {environment}/bin/pip install ")
        assert command.endswith(f" && {environment}/bin/python {ends}")


def test_ci_runs_the_second_command_word_by_word() -> None:
    shown = subprocess.run([ROOT / ".ci" / "run", "--show"], capture_output=True, text=True, check=True)
    assert shown.stdout == first_block()[1] + "\n"


def test_tables_and_the_config_file_are_as_the_code_says() -> None:
    assert docs.main([]) == 0


def test_every_setting_is_in_the_table_and_every_line_of_it_is_a_setting() -> None:
    assert first_column("settings") == list(catalogue())


def test_every_command_is_in_the_table_and_every_line_of_it_is_a_command() -> None:
    assert first_column("commands") == [f"python -m worker {name}" for name in COMMANDS]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("page-headers", PageMeta.__struct_fields__),
        ("verdict-fields", VerdictRecord.__struct_fields__),
        ("dead-letter-headers", [header for header, _ in dead_letter_headers("", "", (0, 0))]),
        (
            "verdict-headers",
            [
                header
                for header, _ in VerdictRecord(
                    url="",
                    verdict="duplicate",
                    duplicate_of="",
                    distance=0,
                    reason="",
                    fingerprint="",
                    order=(0, 0),
                    source=(0, 0),
                    fetched=0,
                    scheme="",
                ).to_headers()
            ],
        ),
    ],
)
def test_every_field_of_a_record_is_in_its_table_and_the_other_way_round(name: str, fields: list[str]) -> None:
    assert first_column(name) == list(fields)


def test_the_exit_codes_are_those_of_the_errors() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.Stop)]
    codes = {kind.exit_code for kind in kinds}
    told = {int(code) for code in re.findall(r"^\| (\d) \|", TEXT, re.MULTILINE)}
    assert told == codes | {0}


def test_names_of_settings_and_commands_in_the_text_exist() -> None:
    text = FENCE.sub("", TEXT)
    dotted = set(re.findall(rf"`((?:{'|'.join(sections())})\.[a-z_]+)`", text)) - {f"{name}.py" for name in sections()}
    assert dotted <= catalogue().keys()
    assert set(re.findall(r"`python -m worker ([a-z]+)", text)) <= COMMANDS.keys()
    names = {entry.environment for entry in catalogue().values()} | {"DEDUP_CONFIG", "DEDUP_TEST_DATA"}
    assert set(re.findall(r"`(DEDUP_[A-Z_]+)`", text)) <= names | SETTINGS.keys()


def test_every_link_leads_to_a_file() -> None:
    targets = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert targets
    for target in targets:
        if not urlsplit(target).scheme:
            assert (ROOT / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("path", sorted((ROOT / "deploy" / "images").glob("*.svg")), ids=lambda path: path.name)
def test_every_picture_has_a_title_and_description_and_loads_nothing(path: Path) -> None:
    root = ET.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert root.find(f"{space}title") is not None
    assert root.find(f"{space}desc") is not None
    assert not re.search(r"(?:href|src|@import|url\((?!#))", path.read_text(encoding="utf-8"))


def test_folders_in_the_layout_exist() -> None:
    layout = next(block["text"] for block in FENCE.finditer(TEXT) if block["text"].startswith("worker/\n"))
    for line in layout.splitlines():
        for name in re.findall(r"[a-z_]+(?:/|\.py)(?= |$)", line):
            assert any((folder / name).exists() for folder in (ROOT, ROOT / "worker")), name


def test_the_changelog_speaks_of_this_version() -> None:
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_version_stands_in_one_place_and_the_code_reads_it_from_the_installed_package() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert version == __version__
    code = [path for package in ("worker", "crawler_plugin") for path in (ROOT / package).rglob("*.py")]
    assert not [path for path in code if f'"{version}"' in path.read_text(encoding="utf-8")]
