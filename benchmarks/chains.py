"""Pages that chains of near pairs would throw away although they are near to no page that is kept."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

from benchmarks.report import table
from crawler_plugin.wire.errors import PageError
from worker.compose.parts import near, recipe
from worker.evaluate.circumstances import machine
from worker.evaluate.labels.labelled import META, Document, Field, read_documents
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.fingerprinter import Fingerprinter
from worker.results.report.markup import percent

if TYPE_CHECKING:
    from worker.config import Settings


class Chains(NamedTuple):
    """Counts over pages in an order: all pages, pages that verdicts would throw away, pages that a union of all near
    pairs would throw away, and how many of the latter are near to no page that the union keeps."""

    pages: int
    duplicates: int
    united: int
    near_to_none: int


def chains(earlier: Sequence[Sequence[int]]) -> Chains:
    """Count from the places of the earlier near pages of each page.

    A verdict compares a page with survivors alone. A union (union-find, as connected components are often made) joins
    all pages that are near, and keeps the first page of each component.
    """
    survivors: set[int] = set()
    above = list(range(len(earlier)))

    def top(page: int) -> int:
        while above[page] != page:
            above[page] = above[above[page]]
            page = above[page]
        return page

    for page, others in enumerate(earlier):
        if survivors.isdisjoint(others):
            survivors.add(page)
        for other in others:
            low, high = sorted((top(page), top(other)))
            above[high] = low
    thrown = [page for page in range(len(earlier)) if top(page) != page]
    # The kept page is the first of its component, so it is near to a later one as an earlier page.
    lost = sum(top(page) not in earlier[page] for page in thrown)
    return Chains(len(earlier), len(earlier) - len(survivors), len(thrown), lost)


def measure(documents: Sequence[Document], field: Field, settings: Settings) -> Chains:
    """The pages in the order of their file, by these settings; pages that cannot be read are left out."""
    fingerprinter = Fingerprinter(recipe(settings))
    found: list[Fingerprinted] = []
    for document in documents:
        try:
            found.append(fingerprinter.of_page(document.body.encode(), META[field].at(str(document.id))))
        except PageError:
            continue
    rule = near(settings).near
    return chains([[place for place in range(page) if rule(found[page], found[place])] for page in range(len(found))])


def configure(parser: argparse.ArgumentParser) -> None:
    """The benchmark's own arguments."""
    parser.add_argument("sets", type=Path, nargs="+", help="folders of labelled documents")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure and print a table.

    Raises:
        UsageError: a folder that cannot be read.
    """
    settings = load()
    rows = []
    for folder in arguments.sets:
        for field in get_args(Field):
            found = measure(read_documents(folder, field), field, settings)
            named = f"{folder.resolve().name}, {field}"
            rows.append((named, *(f"{number:,}" for number in found), percent(found.near_to_none, found.united)))
    print(table(("pages", "in all", "duplicates", "thrown away by a union", "near to no kept page", "share"), rows))
    print(f"\nMeasured on: {machine(())}.")
    return 0
