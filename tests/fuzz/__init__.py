"""Inputs that nobody thought of, for whatever reads what others have written: made by atheris, led by coverage.

Each module of ``TARGETS`` has ``attack(data)``, which raises only for what should be mended, and ``seeds()``, inputs to
begin with. ``python -m tests.fuzz --seconds 600`` runs all of them, ``tests.fuzz.one`` one.
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
"""What is read: records, a page's headers, consumed offsets, what parsers answer, index, files, settings, pages; and
what any of this costs."""
