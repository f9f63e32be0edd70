"""What is said where the workers' part of the package is not installed."""

from __future__ import annotations

import importlib.metadata

import pytest

from worker.cli.main import main
from worker.compose import installed

LINES = [
    "scrapy>=2.14",
    "numba>=0.61; extra == 'worker'",
    "nobody-has-this[extra]<3,>=2; extra == 'worker'",
    'nor.this; extra == "worker"',
    "not-this-either; extra == 'demo'",
    "nor-that>=3; (platform_system == 'Linux') and extra == 'worker'",
]


def test_all_that_workers_need_is_installed_here() -> None:
    assert installed.missing_of("worker") == []
    installed.require_worker()


def test_what_is_missing_of_an_extra_is_named_and_other_extras_and_conditions_do_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(installed, "requires", lambda name: LINES)
    assert installed.missing_of("worker") == ["nobody-has-this", "nor.this"]
    assert installed.missing_of("demo") == ["not-this-either"]


def test_a_worker_that_cannot_run_ends_with_one_line_before_it_reads_its_settings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(installed, "requires", lambda name: LINES)
    assert main(["--config", "/nowhere.yaml"]) == 2
    assert capsys.readouterr() == (
        "",
        "worker: error: workers need more than the Scrapy plugin does, missing here: nobody-has-this, nor.this. "
        "Install it: pip install 'crawl-dedup[worker]'\n",
    )


def test_a_checkout_that_pip_has_not_installed_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(installed, "requires", unknown)
    assert installed.missing_of("worker") == []
