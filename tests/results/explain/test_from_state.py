"""Records of two pages, read from a state."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from crawler_plugin.wire.errors import Refused, UsageError
from tests.local.crawled import WORDS
from worker.compose.parts import recipe
from worker.config import Settings
from worker.evaluate.literature.explained import Explainer
from worker.local import Deduplicator
from worker.page.extract import from_text
from worker.results.explain.from_state import as_explained, survivors_of

SETTINGS: Final = Settings.model_validate({"index": {"memory_mb": 0}})
ONE, OTHER, COPY = "http://a.example/1", "http://b.example/2", "http://c.example/3"


def text(number: int) -> str:
    return " ".join(f"{word}{number}" for word in WORDS)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    with Deduplicator(tmp_path / "state", SETTINGS) as local:
        for url, number in ((ONE, 1), (OTHER, 2), (COPY, 1), (ONE, 3)):
            local.judge(url, text=text(number))
            local.flush()
    return tmp_path / "state"


def test_of_each_url_the_survivor_that_was_stored_last_is_found_and_is_what_its_text_comes_to(state: Path) -> None:
    made = recipe(SETTINGS)
    found = survivors_of(state, SETTINGS, made, (OTHER, ONE))
    assert [survivor.url for survivor in found] == [OTHER, ONE]
    for survivor, number in zip(found, (2, 3), strict=True):
        known, whole = as_explained(survivor), Explainer(made).explain(from_text(text(number)), survivor.url)
        assert (known.fingerprint, known.sketch, known.bands) == (whole.fingerprint, whole.sketch, whole.bands)
        assert (known.text_hash, known.tokens) == (whole.text_hash, whole.tokens)


def test_what_is_not_there_is_said_with_the_next_move(state: Path, tmp_path: Path) -> None:
    made = recipe(SETTINGS)
    with pytest.raises(UsageError, match=r"kept nothing of http://c\.example/3: .*duplicate_of"):
        survivors_of(state, SETTINGS, made, (ONE, COPY))
    with pytest.raises(UsageError, match="holds no state"):
        survivors_of(tmp_path, SETTINGS, made, (ONE, OTHER))
    assert list(tmp_path.iterdir()) == [state]
    with Deduplicator(state, SETTINGS), pytest.raises(Refused, match="is open already"):
        survivors_of(state, SETTINGS, made, (ONE, OTHER))
