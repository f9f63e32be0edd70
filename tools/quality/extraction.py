"""Word F1 of an extractor's texts, compared with the main content of the pages as people marked it.

Words are runs of ``\\w`` in lower case, compared as multisets; F1 is the mean over pages. This is the measure of the
Web Content Extraction Benchmark (WCXB), whose pages these are.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from worker.evaluate.labels.labelled import META
from worker.evaluate.labels.lines import lines
from worker.fingerprint.fingerprinter import Fingerprinter
from worker.page.extract import Extractor
from worker.page.main_text.content import main_content

PAGES: Final = "pages.jsonl.xz"
FEW: Final = 5
"""With fewer words an extractor has found nothing, if the page has ``ENOUGH``: such a page is like no other."""
ENOUGH: Final = 20

_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True)
class Extraction:
    """The extracted text of a page next to the right text."""

    id: str
    url: str
    type: str
    text: str
    truth: str
    f1: float
    is_empty: bool | None
    """Whether hardly a word was found of many; None where there are not many."""
    seconds: float
    """CPU time of the extraction."""


def extractions(
    folder: Path, fingerprinter: Fingerprinter, extractor: Extractor = main_content
) -> Iterator[Extraction]:
    """The extraction of every page of ``pages.jsonl.xz`` in a folder; none where there is no such file."""
    file = folder / PAGES
    if not file.is_file():
        return
    for _, line in lines(file):
        page = json.loads(line)
        body = page["html"].encode("utf-8", "replace")
        begun = time.thread_time()
        text = fingerprinter.read(body, META["html"].at(page["url"]), extractor).text
        seconds = time.thread_time() - begun
        found, truth = words(text), words(page["text"])
        empty = found.total() < FEW if truth.total() >= ENOUGH else None
        yield Extraction(page["id"], page["url"], page["type"], text, page["text"], f1(found, truth), empty, seconds)


def words(text: str) -> Counter[str]:
    """The words of a text with their counts."""
    return Counter(_WORD.findall(text.lower()))


def f1(found: Counter[str], truth: Counter[str]) -> float:
    """Harmonic mean of two shares: right words among the found ones, and found words among the right ones."""
    if not found or not truth:
        return float(not found and not truth)
    return 2 * (found & truth).total() / (found.total() + truth.total())
