"""The pages that measurements use."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_plugin.wire.errors import UsageError
from tests.sizing.documents import write_documents
from worker.sizing.pages import pages_of, repeated


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_documents(tmp_path, 12)


def test_pages_are_those_that_have_html_at_most_so_many(folder: Path) -> None:
    pages = pages_of(folder, None)
    assert [meta.url for meta, _ in pages] == [f"http://a.example/{number}" for number in range(12)]
    assert pages_of(folder, 5) == pages[:5]


def test_a_folder_without_pages_is_named_with_what_it_must_hold(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"docs\.jsonl\.xz is not there: give --docs"):
        pages_of(tmp_path, None)


def test_laps_repeat_the_pages_under_new_urls(folder: Path) -> None:
    once = pages_of(folder, 3)
    thrice = list(repeated(once, 3))
    assert len({meta.url for meta, _ in thrice}) == 9
    assert [body for _, body in thrice] == [body for _, body in once] * 3
