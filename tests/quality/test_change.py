"""How much of a page is new since its last fetch (``near.track_changes``), compared with real versions of real
pages."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import pytest

from crawler_plugin.wire.messages import NOT_KNOWN, SAME_TEXT, Claim
from tests.fingerprint.definition.segment import characters_and_words
from tests.labelled import VARIABLE
from tools.quality import floors
from worker.compose.parts import recipe
from worker.config import Settings
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.fingerprinter import Fingerprinter
from worker.fingerprint.sketch import agreement
from worker.page.words.normalise import normalise
from worker.verdict.change import Change

VERSIONS: Final = "same_page_other_version"
EVERY: Final = 9
"""One pair in this many is measured; all 2,346 take half a minute of a core, and the figures are the same."""
MOST: Final = 0.05
"""Mean error of ``changed``."""
MOST_WHERE_LITTLE_IS_NEW: Final = 0.01
LITTLE: Final = 0.05


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as opened:
        yield from map(json.loads, opened)


def change(new: Fingerprinted, old: Fingerprinted) -> Change:
    """The change as a worker reports it for a page, where ``old`` is the last survivor of its URL."""
    claim = Claim(
        partition=0, offset=0, clock=0, url="", fingerprint=new.fingerprint, text_hash=new.text_hash,
        tokens=new.tokens, sketch=new.sketch, bands=new.bands,
    )  # fmt: skip
    agree = agreement(new.sketch, old.sketch) if new.sketch and old.sketch else NOT_KNOWN
    return Change.of(claim, (0, 0), old.tokens, SAME_TEXT if new.text_hash == old.text_hash else agree)


@pytest.mark.data("dev")
def test_the_share_of_new_neighbours_is_right_within_a_twentieth_in_the_mean(labelled_sets: list[Path]) -> None:
    folder = next((folder for folder in labelled_sets if floors.name_of(folder) == "dev"), None)
    if folder is None:
        pytest.skip(f"needs the labelled pages 'dev': name their folder in {VARIABLE}, too")
    versions = [(row["a"], row["b"]) for row in rows(folder / "pairs.jsonl.xz") if row["relation"] == VERSIONS]
    versions = versions[::EVERY]
    named = {name for pair in versions for name in pair}
    texts = {row["id"]: row["text"] for row in rows(folder / "docs.jsonl.xz") if row["id"] in named}
    fingerprinter = Fingerprinter(recipe(Settings()))

    @cache
    def made(name: str) -> Fingerprinted:
        return fingerprinter.of_text(texts[name], "")

    @cache
    def neighbours(name: str) -> set[tuple[str, str]]:
        return set(pairwise(characters_and_words(normalise(texts[name]))))

    errors: list[tuple[float, float]] = []
    for new, old in [*versions, *((old, new) for new, old in versions)]:
        told = change(made(new), made(old)).share
        if told is not None and neighbours(new):
            share = len(neighbours(new) - neighbours(old)) / len(neighbours(new))
            errors.append((share, abs(told - share)))
    assert len(errors) > len(versions), "something is told of most pairs, in both directions"
    assert fmean(error for _, error in errors) <= MOST
    assert fmean(error for share, error in errors if share < LITTLE) <= MOST_WHERE_LITTLE_IS_NEW
