"""The messages where an extra is not installed."""

from __future__ import annotations

import importlib.metadata

import pytest

from crawler_plugin.wire.errors import UsageError
from worker.cli import _installed as installed

LINES = [
    "numba>=0.61",
    "pyarrow>=17; extra == 'scan'",
    "nobody-has-this[extra]<3,>=2; extra == 'scan'",
    'nor.this; extra == "scan"',
    "not-this-either; extra == 'demo'",
    "nor-that>=3; (platform_system == 'Linux') and extra == 'scan'",
]


def test_all_that_archives_need_is_installed_here() -> None:
    assert installed.missing_of("scan") == []
    installed.require("scan", "never said")


def test_what_is_missing_of_an_extra_is_named_and_other_extras_and_conditions_do_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(installed, "requires", lambda name: LINES)
    assert installed.missing_of("scan") == ["nobody-has-this", "nor.this"]
    assert installed.missing_of("demo") == ["not-this-either"]
    with pytest.raises(UsageError) as refused:
        installed.require("scan", "reading archives takes packages that workers do not need")
    assert str(refused.value) == (
        "reading archives takes packages that workers do not need, missing here: nobody-has-this, nor.this. "
        "Install it: pip install 'crawl-dedup[scan]'"
    )


def test_a_checkout_that_pip_has_not_installed_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(installed, "requires", unknown)
    assert installed.missing_of("scan") == []
