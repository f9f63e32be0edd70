"""``python -m worker.compose.kernels index|pages``: compile what workers run, where numba keeps it for them.

At its first start each worker, and each of its parsers, would do so by itself, all of them at the same time.
"""

from __future__ import annotations

import importlib
import sys
from typing import Final

from worker.index.shard import compiled_tables

PARTS: Final = ("index", "pages")
"""Each takes a core about a quarter of a minute."""
OF_PAGES: Final = ("worker.page.elements.markup", "worker.page.main_text.content", "worker.fingerprint.text_reader")
"""Their functions, and those they import, have signatures: they are compiled when these are read."""


def main(part: str) -> None:
    """Compile one part."""
    if part == "index":
        compiled_tables()
    else:
        for module in OF_PAGES:
            importlib.import_module(module)


if __name__ == "__main__":
    main(sys.argv[1])
