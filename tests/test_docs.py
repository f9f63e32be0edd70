"""README, handbook and CONTRIBUTING agree with the code, in both directions, and the handbook can be built."""

from __future__ import annotations

import html
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import pytest
import yaml

from crawler_plugin.components.feedback import KEEP_KEY
from crawler_plugin.config.catalogue import SETTINGS
from crawler_plugin.config.kinds import OUR_FIELDS
from crawler_plugin.metrics.declared import SPIDER_METRICS
from crawler_plugin.spider_scope import RESET
from crawler_plugin.stats import FINISH_REASONS
from crawler_plugin.wire import errors
from crawler_plugin.wire.messages import VERSIONS, Answer, Batch, Block
from crawler_plugin.wire.outcomes import (
    NO_PAGE_HEADER,
    ON_TOPIC,
    JobMark,
    JobSum,
    SurvivorFinding,
    Verdict,
    dead_letter_headers,
)
from crawler_plugin.wire.page_headers import PARDON_HEADER, STORE_HEADER, PageMeta
from crawler_plugin.wire.urls import CANONICALIZATION
from tools import docs
from tools.docs import HANDBOOK, PAGES, PARTS, README, ROOT
from worker import __version__
from worker.cli.main import COMMANDS, main
from worker.config.catalogue import catalogue, sections
from worker.fingerprint.scoped import RULE as TITLES
from worker.observe.catalogue import CATALOGUE
from worker.page.extract import RULE as EXTRACTION
from worker.page.words.dictionary import words_rule
from worker.page.words.noise import NOISE_WORDS
from worker.page.words.normalise import NORMALISER
from worker.scan.inputs.records import MARKS

FENCE: Final = re.compile(r"^```(?P<kind>\w*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK: Final = re.compile(r"(?<!`)\]\(([^)\s]+)\)")
TOPICS: Final = HANDBOOK / "reference" / "topics.md"
MEASURED: Final = HANDBOOK / "benchmarks" / "index.md"


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def fences(page: Path) -> list[tuple[str, str]]:
    """Language and text of each fenced block."""
    return [(block["kind"], block["text"]) for block in FENCE.finditer(text_of(page))]


def code(page: Path) -> list[str]:
    """All code on a page, in blocks and within its sentences."""
    text = text_of(page)
    return [block["text"] for block in FENCE.finditer(text)] + re.findall(r"`([^`\n]+)`", FENCE.sub("", text))


def part(page: Path, name: str) -> str:
    """The text between the markers of this name."""
    found = re.findall(rf"<!-- {name}:begin -->\n(.*?)<!-- {name}:end -->", text_of(page), re.DOTALL)
    assert len(found) == 1, f"{page.name} needs the markers {name}:begin and {name}:end once"
    return str(found[0])


def first_column(page: Path, name: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)` \|", part(page, name), re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Names by which a page's headings are reached, here and on the built site."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-")) for heading in headings}


def command_lines() -> list[str]:
    """Every line with a command of the worker on any page."""
    found = set()
    for page in PAGES:
        for shown in code(page):
            found |= {
                line.split(" && ")[-1].rstrip(" &") for line in re.findall(r"python -m worker(?!\.)[^`\n]*", shown)
            }
    return sorted(found)


class TestReadme:
    def first_block(self) -> list[str]:
        return fences(README)[0][1].splitlines()

    def test_the_first_block_is_two_commands_each_with_an_environment_of_its_own(self) -> None:
        demo, tests = self.first_block()
        for command, environment, ends in ((demo, ".venv-demo", "-m worker demo"), (tests, ".venv-test", "-m tests")):
            assert command.startswith(f"python3 -m venv {environment} && {environment}/bin/pip install ")
            assert command.endswith(f" && {environment}/bin/python {ends}")

    def test_ci_runs_the_second_command_word_by_word(self) -> None:
        shown = subprocess.run([ROOT / ".ci" / "run", "--show"], capture_output=True, text=True, check=True)
        assert shown.stdout == self.first_block()[1] + "\n"

    def test_it_is_read_in_a_few_minutes(self) -> None:
        assert len(text_of(README).splitlines()) <= 150

    def test_its_figures_stand_on_the_page_that_says_how_they_were_measured(self) -> None:
        measured = text_of(MEASURED)
        tables = text_of(README).partition("**Pages a second**")[2].partition("## Read on")[0]
        figures = {
            figure
            for row in re.findall(r"^\|.*\d.*\|$", tables, re.MULTILINE)
            for figure in re.findall(r"\d[\d.,]*M?", row.partition("|")[2].partition("|")[2])
        }
        assert len(figures) > 10
        assert {
            figure for figure in figures if not re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d])", measured)
        } == set()


class TestTables:
    def test_tables_and_the_config_file_are_as_the_code_says(self) -> None:
        assert docs.main([]) == 0

    def test_every_setting_is_in_the_table_and_every_line_of_it_is_a_setting(self) -> None:
        assert first_column(PARTS["settings"][0], "settings") == list(catalogue())

    def test_every_command_is_in_the_table_and_every_line_of_it_is_a_command(self) -> None:
        assert first_column(PARTS["commands"][0], "commands") == [f"python -m worker {name}" for name in COMMANDS]

    @pytest.mark.parametrize(
        ("name", "fields"),
        [
            ("page-headers", [*PageMeta.__struct_fields__, STORE_HEADER, PARDON_HEADER]),
            ("verdict-fields", ON_TOPIC),
            ("job-fields", JobMark.__struct_fields__),
            ("sum-fields", JobSum.__struct_fields__),
            ("finding-fields", SurvivorFinding.__struct_fields__),
            ("dead-letter-headers", [header for header, _ in dead_letter_headers("", "", (0, 0))]),
            (
                "verdict-headers",
                [
                    header
                    for header, _ in Verdict(
                        url="",
                        verdict="duplicate",
                        duplicate_of="",
                        distance=0,
                        suspect=True,
                    ).to_headers()
                ]
                + [NO_PAGE_HEADER[0]],
            ),
        ],
    )
    def test_every_field_of_a_record_is_in_its_table_and_the_other_way_round(
        self, name: str, fields: list[str]
    ) -> None:
        assert first_column(TOPICS, name) == list(fields)

    def test_the_exit_codes_are_those_of_the_errors(self) -> None:
        kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.Stop)]
        codes = {kind.exit_code for kind in kinds}
        told = re.findall(r"^\| (\d+) \|", text_of(HANDBOOK / "reference" / "commands.md"), re.MULTILINE)
        assert {int(code) for code in told} == codes | {0, errors.UNEXPECTED}

    def test_every_reason_of_a_dead_letter_in_the_table_is_given_by_the_code(self) -> None:
        rows = text_of(TOPICS).partition("\nThe reasons:\n")[2].partition("\n## ")[0]
        reasons = [
            reason
            for row in re.findall(r"^\| (`[^|]+) \|", rows, re.MULTILINE)
            for reason in re.findall(r"`([a-z-]+)`", row)
        ]
        assert len(reasons) > 10
        sources = "".join(text_of(path) for path in sorted((ROOT / "worker").rglob("*.py")))
        assert [reason for reason in reasons if f'"{reason}"' not in sources] == []

    def test_every_extra_is_in_the_table_and_every_line_of_it_is_an_extra(self) -> None:
        extras = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
        rows = text_of(HANDBOOK / "reference" / "commands.md").partition("\n## Extras\n")[2]
        assert set(re.findall(r"^\| `([a-z0-9]+)` \|", rows, re.MULTILINE)) == extras.keys()

    def test_every_term_of_the_glossary_stands_there_once(self) -> None:
        terms = re.findall(r"^\| ([^|]+) \| [^|]+\.? \|$", text_of(HANDBOOK / "glossary.md"), re.MULTILINE)
        terms = [term for term in terms if term != "Term"]
        assert len(terms) > 50
        assert sorted(terms) == sorted(set(terms))


class TestNames:
    def test_every_command_shown_takes_the_options_shown(self, capsys: pytest.CaptureFixture[str]) -> None:
        for line in command_lines():
            words = [word for word in shlex.split(line, comments=True)[3:] if word not in ("…", "...")]
            start = next((place for place, word in enumerate(words) if word in COMMANDS), len(words))
            options = {word.partition("=")[0] for word in words if word.startswith("--")}
            before = [word for first, word in pairwise(["", *words[:start]]) if first not in ("--config", "--set")]
            assert [word for word in before if not word.startswith("-")] == [], line
            kind = words[start + 1 : start + 2] if words[start : start + 1] == ["bench"] else []
            assert main([*words[start : start + 1], *kind, "--help"]) == 0, line
            assert options <= set(re.findall(r"--[a-z-]+", capsys.readouterr().out)), line

    def test_modules_that_are_run_exist(self) -> None:
        for page in PAGES:
            ours = {
                name
                for shown in code(page)
                for name in re.findall(r"python -m ((?:tests|benchmarks|crawler_plugin)[\w.]*)", shown)
            }
            assert {name for name in ours if find_spec(name.rstrip(".")) is None} == set(), page

    def test_settings_exist(self) -> None:
        for page in PAGES:
            named = {
                name
                for shown in code(page)
                if "import " not in shown
                for name in re.findall(rf"(?<![\w./-])((?:{'|'.join(sections())})\.[a-z_]+)\b", shown)
            } - {"fingerprint.key"}
            assert named <= catalogue().keys(), page
            variables = {entry.environment for entry in catalogue().values()} | {"DEDUP_CONFIG", "DEDUP_TEST_DATA"}
            shown = {name for each in code(page) for name in re.findall(r"\b(DEDUP_[A-Z_]+)\b", each)}
            assert shown <= variables | SETTINGS.keys(), page

    def test_metrics_exist(self) -> None:
        exposed = {f"{metric.name}{part}" for metric in CATALOGUE for part in ("", "_bucket", "_sum", "_count")}
        exposed |= {metric.name for metric in SPIDER_METRICS}
        others = {*FINISH_REASONS, "dedup_runbook", KEEP_KEY, RESET, *MARKS, *OUR_FIELDS}
        recorded = set(re.findall(r"record: (\S+)", text_of(ROOT / "deploy" / "prometheus" / "recording.yml")))
        for page in PAGES:
            assert set(re.findall(r"(?<![\w:/.])dedup_\w+", text_of(page))) <= exposed | others, page
            assert set(re.findall(r"\b[a-z_]+:dedup_[\w:]+", text_of(page))) <= recorded, page

    def test_paths_exist(self) -> None:
        for page in PAGES:
            folders = "worker|crawler_plugin|tests|deploy|docs"
            inline = re.findall(r"`([^`\n]+)`", FENCE.sub("", text_of(page)))
            named = {path for shown in inline for path in re.findall(rf"^(?:{folders})/[\w./@-]+$", shown)}
            assert {path for path in named if not (ROOT / path).exists()} == set(), page

    def test_python_and_yaml_can_be_read(self) -> None:
        for page in PAGES:
            for kind, text in fences(page):
                if kind == "python":
                    compile(text, str(page), "exec")
                elif kind == "yaml":
                    yaml.safe_load(text)

    def test_folders_in_the_layout_exist(self) -> None:
        layout = next(text for _, text in fences(ROOT / "CONTRIBUTING.md") if text.startswith("worker/\n"))
        for line in layout.splitlines():
            for name in re.findall(r"[a-z_]+(?:/|\.py)(?= |$)", line):
                assert any((folder / name).exists() for folder in (ROOT, ROOT / "worker")), name


class TestWalk:
    def test_each_file_that_a_page_passes_is_named_once(self) -> None:
        named = re.findall(r"`([a-z_]+/[\w/]+\.py)`", text_of(HANDBOOK / "architecture.md"))
        assert len(named) > 40
        assert {path for path in named if named.count(path) > 1} == {"worker/stream/worker.py"}
        assert [path for path in named if not (ROOT / path).is_file()] == []


class TestLinks:
    def test_every_link_leads_to_a_file_and_to_a_heading(self) -> None:
        for page in PAGES:
            for target in LINK.findall(text_of(page)):
                if urlsplit(target).scheme:
                    continue
                path, _, anchor = target.partition("#")
                file = page.parent / path if path else page
                assert file.exists(), (page, target)
                if anchor:
                    assert anchor in anchors(file), (page, target)

    @pytest.mark.parametrize("path", sorted((HANDBOOK / "images").glob("*.svg")), ids=lambda path: path.name)
    def test_every_picture_has_a_title_and_description_and_loads_nothing(self, path: Path) -> None:
        root = ET.parse(path).getroot()
        space = "{http://www.w3.org/2000/svg}"
        assert root.find(f"{space}title") is not None
        assert root.find(f"{space}desc") is not None
        assert not re.search(r"(?:href|src|@import|url\((?!#))", path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built handbook; ``strict`` turns a page outside of all menus, and a link without target, into an error."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


class TestSite:
    def test_each_page_of_the_handbook_is_a_page_of_the_site(self, site: Path) -> None:
        for page in sorted(HANDBOOK.rglob("*.md")):
            path = page.relative_to(HANDBOOK)
            built = path.with_suffix(".html") if path.name == "index.md" else path.with_suffix("") / "index.html"
            assert (site / built).is_file(), path

    def test_it_needs_no_network(self, site: Path) -> None:
        for page in sorted(site.rglob("*.html")):
            loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=[\"']?([^\"'\s>]+)", text_of(page))
            assert [url for url in loaded if html.unescape(url).startswith(("http:", "https:", "//"))] == [], page

    def test_alerts_lead_to_their_part_of_the_runbook(self, site: Path) -> None:
        runbook = text_of(site / "how-to" / "runbook" / "index.html")
        named = re.findall(r"runbook\.md\{\{ end \}\}#(\w+)", text_of(ROOT / "deploy" / "prometheus" / "alerts.yml"))
        assert named
        assert [name for name in named if f'id="{name}"' not in runbook] == []


class TestVersion:
    def test_the_changelog_speaks_of_it(self) -> None:
        assert f"## {__version__}" in text_of(ROOT / "CHANGELOG.md")

    def test_the_changelog_says_since_when_each_format_and_rule_is_in_force(self) -> None:
        upgrading = text_of(ROOT / "CHANGELOG.md").partition("### Upgrading")[2]
        formats = {"batches": Batch, "answers": Answer, "blocks": Block}
        wanted = [f"{name} {VERSIONS[kind]}" for name, kind in formats.items()]
        words = words_rule((), NOISE_WORDS, fold_traditional=True)
        for rule in (CANONICALIZATION, EXTRACTION, NORMALISER, TITLES, words):
            wanted += [f"`{word}`" for word in re.split("[/,]", rule) if re.fullmatch(r"[a-z-]+-\d+", word)]
        assert len(wanted) > 10
        assert [word for word in wanted if word not in upgrading] == []

    def test_it_is_written_down_in_the_project_alone(self) -> None:
        project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
        assert project["version"] == __version__
        sources = [path for folder in ("worker", "crawler_plugin") for path in (ROOT / folder).rglob("*.py")]
        assert [path for path in sources if f'"{__version__}"' in text_of(path)] == []


def test_the_tests_that_are_said_to_hold_something_are_there() -> None:
    named = [name for page in PAGES for name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text_of(page))]
    assert len(named) > 50
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(), f"{file}::{test}"
