"""Labels from canonical links."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import UsageError
from worker.evaluate.labels.from_canonical import read_canonical


def written(tmp_path: Path, *pages: tuple[str, str | None]) -> Path:
    """Documents 1, 2, …: each has a URL and the URL that it names as canonical."""
    file = tmp_path / "docs.jsonl"
    rows = [
        {"id": number, "url": url, "html": f'<link rel=canonical href="{named}">' if named else "", "text": "t"}
        for number, (url, named) in enumerate(pages, 1)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_pages_that_name_the_same_url_are_copies_and_others_of_the_host_are_not(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        ("http://a.example/1", "/1"),
        ("http://a.example/1?print", "/1"),
        ("http://b.example/1", "http://A.example/1#top"),
        ("http://a.example/2", "/2"),
        ("http://a.example/3", None),
        ("http://b.example/2", "/2"),
    )
    found = read_canonical(file, "text")
    assert [(pair.a, pair.b, pair.label) for pair in found.pairs] == [(1, 2, 1), (1, 3, 1), (3, 4, 0)]
    assert set(found.documents) == {"1", "2", "3", "4"}


def test_a_file_of_which_no_two_pages_say_anything_is_refused_with_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="id, url, html and text"):
        read_canonical(written(tmp_path, ("http://a.example/1", "/1"), ("http://b.example/2", None)), "text")


def test_a_page_without_what_is_compared_is_counted(tmp_path: Path) -> None:
    file = written(tmp_path, ("http://a.example/1", "/1"), ("http://a.example/2", "/1"))
    with file.open("a") as more:
        more.write(json.dumps({"id": 3, "url": "http://a.example/3", "html": "<link rel=canonical href=/1>"}) + "\n")
    assert read_canonical(file, "text").left_out == 1
