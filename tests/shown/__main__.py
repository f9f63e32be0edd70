"""``python -m tests.shown [--pages N]``: the text of all shown elements held against lexbor's tree.

Of the labelled pages in the folders that ``DEDUP_TEST_DATA`` names, each as it is and then N mutated ones, 10,000 where
nothing is said. How many differ by each listed kind is printed; each page that differs by no listed kind fails it, and
its beginning is shown with its seed. Two minutes for 10,000.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator

from tests.labelled import VARIABLE, folders, some_of_each
from tests.shown.differences import DIFFERENCES, SAME, UNLISTED, kind_of
from tests.shown.mutations import mutated

LONGEST = 150_000
"""The most characters of a page that is mutated."""


def main() -> int:
    """0 where all differences are listed."""
    parser = argparse.ArgumentParser(prog="python -m tests.shown", description=__doc__)
    parser.add_argument("--pages", type=int, default=10_000, metavar="N", help="mutated pages (default: 10,000)")
    parser.add_argument("--real", type=int, default=sys.maxsize, metavar="N", help="pages as they are (default: all)")
    arguments = parser.parse_args()
    real = labelled(arguments.real)
    unlisted = _told("as they are", ((f"page {number}", page) for number, page in enumerate(real)))
    short = [page for page in real if len(page) <= LONGEST]
    if arguments.pages and not short:
        parser.error(f"there is no page to mutate: name labelled pages in {VARIABLE}, and a larger number for --real")
    unlisted += _told(
        "mutated", ((f"seed {seed}", mutated(short[seed % len(short)], seed)) for seed in range(arguments.pages))
    )
    return 1 if unlisted else 0


def labelled(most: int) -> list[str]:
    """The HTML of at most ``most`` labelled pages, equally many from each set."""
    return [body.decode("utf-8", "replace") for _, body in some_of_each(folders(os.environ.get(VARIABLE)), most)]


def _told(what: str, pages: Iterable[tuple[str, str]]) -> int:
    found: Counter[str] = Counter()
    for name, kind in _kinds(pages):
        found[kind] += 1
        if kind == UNLISTED:
            print(f"{what}, {name}: unlisted", flush=True)
    print(f"{what}: {found.total()} pages, {found[SAME]} the same", flush=True)
    for difference in DIFFERENCES:
        print(f"   {difference.name:10} {found[difference.name]}")
    return found[UNLISTED]


def _kinds(pages: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for name, page in pages:
        yield name, kind_of(page)


if __name__ == "__main__":
    sys.exit(main())
