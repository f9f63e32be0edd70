"""``python -m tools.crawls.old_scrapy [pytest's arguments]``: crawls with the oldest Scrapy that is allowed.

They run in an environment in a temporary folder, which sees all packages that are installed here but has its own
Scrapy.
"""

from __future__ import annotations

import os
import site
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

ROOT: Final = Path(__file__).resolve().parents[2]
TWISTED: Final = "twisted.internet."
ASYNCIO: Final = f"{TWISTED}asyncioreactor.AsyncioSelectorReactor"
SELECT: Final = f"{TWISTED}selectreactor.SelectReactor"
EITHER: Final = "test_addon_and_pipeline_line_do_the_same_on_either_reactor"
EVERY_RESPONSE: Final = "test_every_response_that_a_callback_gets_is_published_if_it_is_a_page_and_nothing_else_is"
AWAITED: Final = "test_every_callback_knows_the_verdict_on_its_response_or_why_there_is_none"
COMMAND: Final = "test_a_scrapy_command_with_a_wrong_setting_says_one_sentence_and_exits_with_1"
NO_SPOOL: Final = "test_without_broker_and_spool_a_crawl_ends_as_a_failure_and_names_what_is_lost"
CRAWLS: Final = [
    f"tests/crawler_plugin/{test}"
    for test in (
        f"test_addon.py::{EITHER}[addon-{ASYNCIO}]",
        f"test_addon.py::{EITHER}[pipeline-{SELECT}]",
        f"components/test_awaited_responses.py::{AWAITED}[select]",
        "test_addon.py::test_both_lines_together_publish_a_page_once",
        f"components/test_capture.py::{EVERY_RESPONSE}[{SELECT}]",
        "components/test_capture.py::test_what_comes_out_of_the_cache_is_published_too",
        "components/test_capture.py::test_the_robots_txt_that_a_spider_reads_itself_is_no_page",
        "components/test_capture.py::test_requests_wait_while_the_budget_is_spent_whatever_callbacks_do[raising]",
        f"components/test_capture.py::test_a_crawl_that_is_closed_while_its_requests_wait_comes_to_its_end[{ASYNCIO}]",
        "components/test_component.py::test_capture_without_the_addon_is_refused",
        "test_crawl.py::test_a_crawl_leaves_nothing_of_kafka_in_its_log",
        "test_crawl.py::test_a_project_is_crawled_with_settings_of_the_command_line",
        "publishing/test_delivery.py::test_a_crawl_that_is_interrupted_while_it_waits_comes_to_its_end",
        f"publishing/test_delivery.py::test_a_crawl_that_is_closed_while_it_waits_comes_to_its_end[{SELECT.removeprefix(TWISTED)}]",
        f"publishing/test_delivery.py::{NO_SPOOL}[{ASYNCIO.removeprefix(TWISTED)}]",
        "components/test_pipeline.py::test_every_page_is_on_the_topic_whatever_kind_of_item_it_came_in",
        "components/test_pipeline.py::test_text_is_published_as_text_and_what_is_no_page_passes_on_and_is_counted",
        f"test_refusal.py::{COMMAND}[spider]",
        f"test_refusal.py::{COMMAND}[pipeline without the add-on]",
        "test_refusal.py::test_a_script_with_a_wrong_setting_says_one_sentence_and_exits_with_1",
        "test_refusal.py::test_a_spider_with_a_wrong_setting_ends_its_own_crawl_and_no_other_of_the_process",
        "test_refusal.py::test_a_plugin_that_is_switched_off_does_nothing_whatever_its_settings",
        "test_spooling.py::test_two_crawls_cannot_share_a_spool_and_the_second_says_so_in_one_line",
    )
]
"""Tests that touch Scrapy's internals: items, responses, add-ons, reactors, commands, an engine that waits or is
closed.

The way from the publisher to Kafka, and the text of pages, are tested only with the newest Scrapy."""
FEW: Final = [crawl for crawl in CRAWLS if "test_addon.py" in crawl or "test_pipeline.py" in crawl]
"""Every page on the topic, on either reactor, from every kind of item."""


def oldest_scrapy() -> str:
    """The lower bound in pyproject.toml, for example ``2.14``."""
    project = tomllib.loads((ROOT / "crawler_plugin" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = [Requirement(line) for line in project["optional-dependencies"]["scrapy"]]
    scrapy = next(requirement for requirement in requirements if requirement.name == "scrapy")
    return next(bound.version for bound in scrapy.specifier if bound.operator == ">=")


def make_environment(folder: Path, version: str) -> Path:
    """The interpreter of an environment where this version of Scrapy hides the one that is installed here."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    packages = next((folder / "lib").glob("python*/site-packages"))
    # Not a plain path: the .pth files of these folders lead to editable packages.
    lines = [f"import site; site.addsitedir({here!r})\n" for here in site.getsitepackages()]
    (packages / "installed_here.pth").write_text("".join(lines), encoding="utf-8")
    wanted = f"scrapy=={version}.*"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, wanted], check=True)
    found = subprocess.run(
        [python, "-c", "import scrapy; print(scrapy.__version__)"], check=True, capture_output=True, text=True
    ).stdout.strip()
    if not found.startswith(f"{version}."):
        raise RuntimeError(f"Scrapy {found} is imported where {wanted} was installed; look at {packages}")
    print(f"Scrapy {found}", flush=True)
    return python


def main(arguments: list[str]) -> int:
    """pytest's exit code."""
    with tempfile.TemporaryDirectory(prefix="old-scrapy-") as folder:
        python = make_environment(Path(folder), oldest_scrapy())
        command = [str(python), "-m", "pytest", "-q", *(arguments or CRAWLS)]
        return subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
