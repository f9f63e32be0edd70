"""What all tests share: an environment without settings, the labelled pages, skips that CI does not accept."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

import hypothesis
import pytest

pytest_plugins = ["tests.kafka_fixtures", "tests.simulation.options"]

LABELLED_PAGES: Final = os.environ.get("DEDUP_TEST_DATA", os.environ.get("LABELLED_PAGES"))
IN_CI: Final = os.environ.get("CI", "").lower() not in ("", "0", "false")

# A setting in the environment of whoever runs the tests would be a setting of every test.
for _name in [name for name in os.environ if name.upper().startswith("DEDUP_")]:
    del os.environ[_name]
if LABELLED_PAGES:
    os.environ["LABELLED_PAGES"] = LABELLED_PAGES  # for the processes over which pytest-xdist spreads the tests

hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.load_profile("ci" if IN_CI else "local")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Here, where it is known whichever tests are named."""
    parser.addoption("--fuzz-seconds", default="0", help="how long the index's kernels are tried at random; 0: briefly")


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A command that sets logging up for its process does not do so for the tests after it."""
    named = [logger for logger in logging.Logger.manager.loggerDict.values() if isinstance(logger, logging.Logger)]
    before = [
        (logger, logger.level, logger.propagate, logger.disabled, logger.handlers[:])
        for logger in (logging.getLogger(), *named)
    ]
    yield
    for logger, level, propagate, disabled, handlers in before:
        logger.setLevel(level)
        logger.propagate, logger.disabled = propagate, disabled
        logger.handlers[:] = handlers


@pytest.fixture(scope="session")
def labelled_pages_folder() -> Path:
    """The folder of labelled pages that ``DEDUP_TEST_DATA`` names; the test is skipped where it is not set."""
    if not LABELLED_PAGES:
        pytest.skip("needs the labelled pages: set DEDUP_TEST_DATA to their folder")
    folder = Path(LABELLED_PAGES)
    if not (folder / "docs.jsonl.xz").is_file():
        pytest.fail(f"DEDUP_TEST_DATA={folder} holds no docs.jsonl.xz; name the folder of the labelled pages")
    return folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI everything that tests need is installed first, so there a skip of these is a failure."""
    report = yield
    if IN_CI and report.skipped and _must_run_in_ci(item):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not accept: {call.excinfo.value if call.excinfo else ''}"
    return report


def _must_run_in_ci(item: pytest.Item) -> bool:
    if LABELLED_PAGES and item.get_closest_marker("data"):
        return True
    return any(item.get_closest_marker(name) for name in ("cluster", "prometheus", "browser"))
