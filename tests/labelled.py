"""The labelled pages that ``DEDUP_TEST_DATA`` names: one or several folders, written as ``PATH`` is, a set in each."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from worker.sizing.pages import Page, pages_of

VARIABLE: Final = "DEDUP_TEST_DATA"


def folders(named: str | None) -> list[Path]:
    """The folders of a value of the variable, in its order, each once; none where it is not set."""
    return list(dict.fromkeys(Path(part) for part in (named or "").split(os.pathsep) if part))


def some_of_each(sets: Sequence[Path], most: int) -> list[Page]:
    """At most so many pages, as many of each set as of the others, drawn by a fixed seed, in the order of the files."""
    chance = random.Random(1)
    drawn = []
    for folder in sets:
        pages = pages_of(folder, None)
        places = chance.sample(range(len(pages)), min(len(pages), most // len(sets)))
        drawn += [pages[place] for place in sorted(places)]
    return drawn
