"""How many schedules are played: a plugin for ``pytest_plugins`` of ``tests/conftest.py``.

Pytest reads options only from the conftest of the folder on which it is started; from a folder below they would come
too late.
"""

from __future__ import annotations

from typing import Final

import pytest

SCHEDULES: Final = 60


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--schedules N``"""
    parser.addoption("--schedules", type=int, default=SCHEDULES, help=f"schedules to simulate (default: {SCHEDULES})")
