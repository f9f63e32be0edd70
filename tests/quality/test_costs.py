"""Notices when the main work of workers takes a third longer.

It does not use the clock, which depends on the machine: it measures CPU time as a ratio to work that never changes,
both in turn in one thread. Between kinds of CPU the ratios differ by a few hundredths of their value. Where other
programs keep the memory busy, the index pays more for it than sorting does, by half and more: so these tests are made
with ``-m long``, on a machine with nothing else to do.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from statistics import median
from typing import Final

import numpy as np
import pytest

from benchmarks.index_codes import uniform
from benchmarks.index_contenders import PORTION, ThisIndex
from crawler_plugin.wire.page_headers import PageMeta
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.sizing.pages import Page

TURNS: Final = 9
RISE: Final = 1.5
"""A third fewer pages in the same time."""
ENTRIES: Final = 200_000
Work = Callable[[], object]
pytestmark = pytest.mark.long

COSTS: Final = {"html": 2.25, "text": 2.25, "add": 9.1, "look up": 0.245}
"""Ratios measured on an Intel Xeon, three times. After making something cheaper on purpose, write down the new
ratios."""


def seconds(work: Work) -> float:
    """CPU time of this thread."""
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


def ratio(work: Work, steady: Work) -> float:
    """The median of the turns."""
    work(), steady()
    return median(seconds(work) / seconds(steady) for _ in range(TURNS))


@pytest.fixture(scope="module")
def fingerprinter() -> Fingerprinter:
    return Fingerprinter(Recipe(sketched=True))


@pytest.mark.parametrize("form", ["html", "text"])
def test_a_page_costs_as_much_beside_its_compression_as_it_did(
    form: str, fingerprinter: Fingerprinter, real_pages: list[Page]
) -> None:
    pages = [(body, meta) for meta, body in real_pages if 20_000 < len(body) < 80_000][:40]
    assert len(pages) == 40
    if form == "text":
        texts = [(fingerprinter.text_of(*page).encode(), PageMeta(url=page[1].url, form="text")) for page in pages]
        pages = [page for page in texts if page[0]]
    found = ratio(
        lambda: [fingerprinter(*page) for page in pages], lambda: [zlib.compress(body, 1) for body, _ in pages]
    )
    assert found < RISE * COSTS[form]


def test_adding_and_looking_up_cost_as_much_beside_sorting_as_they_did() -> None:
    codes = uniform(ENTRIES, 20_000)
    steady = np.random.default_rng(0).integers(0, 2**64, ENTRIES, dtype=np.uint64)

    def filled() -> ThisIndex:
        index = ThisIndex()
        for begin in range(0, ENTRIES, PORTION):
            index.add(codes.stored[begin : begin + PORTION])
        return index

    index = filled()
    found = {
        "add": ratio(filled, lambda: steady.argsort(kind="stable")),
        "look up": ratio(lambda: index.many(codes.asked), lambda: steady.argsort(kind="stable")),
    }
    assert {name: value for name, value in found.items() if value > RISE * COSTS[name]} == {}
