"""Shared by all tests: an environment without settings, the labelled pages, skips that CI does not accept."""

from __future__ import annotations

import fcntl
import logging
import os
import pickle
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import hypothesis
import pytest

from tests.labelled import URL_TESTS, VARIABLE, folders, some_of_each, standards_in
from tests.object_store import bucket as bucket
from worker.broker.jars import KAFKA
from worker.sizing.pages import Page

if TYPE_CHECKING:
    from worker.config import Settings
    from worker.fingerprint.fingerprinter import Recipe
    from worker.page.words.dictionary import Dictionary
    from worker.stream.partition.fingerprint_pool import PageReaders

pytest_plugins = ["tests.kafka_fixtures", "tests.simulation.options"]

LABELLED_PAGES: Final = os.environ.get(VARIABLE, os.environ.get("LABELLED_PAGES"))
IN_CI: Final = os.environ.get("CI", "").lower() not in ("", "0", "false")

# A setting in the environment of the person who runs the tests would be a setting of every test.
for _name in [name for name in os.environ if name.upper().startswith("DEDUP_")]:
    del os.environ[_name]
os.environ.pop("COLUMNS", None)  # the width of the terminal in which tests run: output would wrap its lines there
if LABELLED_PAGES:
    os.environ["LABELLED_PAGES"] = LABELLED_PAGES  # for the processes of pytest-xdist

hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.load_profile("ci" if IN_CI else "local")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options here, so that they are known whichever tests are named."""
    parser.addoption("--kafka-version", help=f"the Kafka that tests start, such as 3.9.2; {KAFKA} without it")
    parser.addoption("--fuzz-seconds", default="0", help="how long the index's kernels are tried at random; 0: briefly")


@pytest.fixture(scope="session", autouse=True)
def dictionaries_read_once() -> Iterator[None]:
    """Hundreds of tests read pages, and each reader would take a fifth of a second to load the same words."""
    from worker.fingerprint import text_reader
    from worker.page.words.dictionary import dictionary

    tries: dict[int, tuple[Dictionary, object]] = {}
    honest = text_reader._trie

    def trie(words: Dictionary) -> object:
        if id(words) not in tries:
            tries[id(words)] = words, honest(words)  # the words are kept, so no other object gets their id
        return tries[id(words)][1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("worker.fingerprint.fingerprinter.dictionary", cache(dictionary))
        patched.setattr(text_reader, "_trie", trie)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Undo the logging setup of a command, so that it does not affect later tests.

    This also wraps the fixtures of modules; a fixture of ours would come after them.
    """
    root = logging.getLogger()
    before = {logger: _set_up(logger) for logger in (root, *_named_loggers())}
    try:
        return (yield)
    finally:
        for logger in (root, *_named_loggers()):
            level, propagate, disabled, handlers = before.get(logger, (logging.NOTSET, True, False, logger.handlers))
            logger.setLevel(level)
            logger.propagate, logger.disabled = propagate, disabled
            logger.handlers[:] = handlers


def _named_loggers() -> list[logging.Logger]:
    return [logger for logger in logging.Logger.manager.loggerDict.values() if isinstance(logger, logging.Logger)]


def _set_up(logger: logging.Logger) -> tuple[int, bool, bool, list[logging.Handler]]:
    return logger.level, logger.propagate, logger.disabled, logger.handlers[:]


@pytest.fixture
def module_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of modules that a child process can run."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="session")
def labelled_sets() -> list[Path]:
    """The folders of labelled pages that ``DEDUP_TEST_DATA`` names; the test is skipped where it is not set."""
    named = folders(LABELLED_PAGES)
    if not named:
        pytest.skip(f"needs labelled pages: set {VARIABLE} to their folders, with {os.pathsep!r} between them")
    for folder in named:
        if not (folder / "docs.jsonl.xz").is_file():
            pytest.fail(f"{VARIABLE} names {folder}, which holds no docs.jsonl.xz; name folders of labelled pages")
    return named


@pytest.fixture(scope="session")
def standards() -> Path:
    """The folder of standards' test data that ``DEDUP_TEST_DATA`` names; the test is skipped where there is none."""
    folder = standards_in(LABELLED_PAGES)
    if folder is None:
        pytest.skip(f"needs the test data of standards: let {VARIABLE} name their folder, too, which holds {URL_TESTS}")
    return folder


@pytest.fixture(scope="session")
def real_pages(labelled_sets: list[Path], tmp_path_factory: pytest.TempPathFactory) -> list[Page]:
    """2,200 pages of the open web and of documentation, equally many from each folder.

    Drawing them takes a while: of the processes that share the tests, the first one does it for all.
    """
    file = tmp_path_factory.getbasetemp().parent / f"pages-{os.environ.get('PYTEST_XDIST_TESTRUNUID', os.getpid())}"
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            file.write_bytes(pickle.dumps(some_of_each(labelled_sets, 2200)))
    found: list[Page] = pickle.loads(file.read_bytes())
    return found


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one process is to read pages, the test's own process does it: another one takes seconds to start."""
    from worker.compose.step import fingerprinters
    from worker.fingerprint.fingerprinter import Fingerprinter
    from worker.local.in_process_fingerprints import InProcess

    def readers(settings: Settings, made: Recipe, processes: int) -> AbstractContextManager[PageReaders]:
        if processes > 1:
            return fingerprinters(settings, made, processes)
        return nullcontext(InProcess(Fingerprinter(made)))

    for user in ("worker.local.deduplicator", "worker.scan.records.reading"):
        monkeypatch.setattr(f"{user}.fingerprinters", readers)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI everything that tests need is installed first, so such a skip is a failure there."""
    report = yield
    if IN_CI and report.skipped and _must_run_in_ci(item):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not accept: {call.excinfo.value if call.excinfo else ''}"
    return report


def _must_run_in_ci(item: pytest.Item) -> bool:
    data = item.get_closest_marker("data")
    if LABELLED_PAGES and data and not data.args:  # the caller chooses which sets to name
        return True
    return any(item.get_closest_marker(name) for name in ("cluster", "prometheus", "redis", "browser"))
