"""Workers that keep near-duplicate pages out of a crawl while it runs."""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0"
