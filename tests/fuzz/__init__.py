"""Unforeseen inputs for all code that reads data from outside: atheris makes them, led by coverage.

Each module of ``TARGETS`` has ``attack(data)``, which raises only for defects, and ``seeds()``, inputs to begin with.
``python -m tests.fuzz --seconds 600`` runs all targets, ``tests.fuzz.one`` runs one.
"""

from __future__ import annotations

from typing import Final

TARGETS: Final = (
    "messages",
    "headers",
    "points",
    "frames",
    "blocks",
    "snapshots",
    "spool",
    "settings",
    "texts",
    "pages",
    "costs",
)
"""The inputs: records, a page's headers, consumed offsets, answers of parsers, index, files, settings, pages; and the
cost of reading them."""
