"""The data that ``DEDUP_TEST_DATA`` names: one or several folders, written like ``PATH``, each with a set of labelled
pages; one folder may hold the test data of standards instead."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from worker.sizing.pages import Page, pages_of

VARIABLE: Final = "DEDUP_TEST_DATA"
URL_TESTS: Final = "urltestdata.json"
"""A folder of web-platform-tests; the folder that holds it is the one of the standards."""


def folders(named: str | None) -> list[Path]:
    """The folders of labelled pages in a value of the variable, in its order, each once; none where it is not set."""
    return [folder for folder in _named(named) if not (folder / URL_TESTS).is_file()]


def standards_in(named: str | None) -> Path | None:
    """The first folder of a value of the variable that holds the test data of standards."""
    return next((folder for folder in _named(named) if (folder / URL_TESTS).is_file()), None)


def _named(named: str | None) -> list[Path]:
    return list(dict.fromkeys(Path(part) for part in (named or "").split(os.pathsep) if part))


def some_of_each(sets: Sequence[Path], most: int) -> list[Page]:
    """At most ``most`` pages, equally many from each set, drawn with a fixed seed, in the order of the files."""
    chance = random.Random(1)
    drawn = []
    for folder in sets:
        pages = pages_of(folder, None)
        places = chance.sample(range(len(pages)), min(len(pages), most // len(sets)))
        drawn += [pages[place] for place in sorted(places)]
    return drawn
