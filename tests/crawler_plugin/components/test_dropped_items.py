"""The content of the file of dropped items, for all kinds of items and all endings of the last crawl."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from crawler_plugin import PageBody
from crawler_plugin.components.dropped_items import DroppedItems


@dataclass
class Declared:
    url: str
    body: PageBody


def test_lines_of_each_crawl_stand_behind_those_of_the_last_though_it_was_killed_in_one(tmp_path: Path) -> None:
    path = tmp_path / "dropped.jl"
    for item in ({"url": "http://a.example/", "title": "早报"}, Declared("http://b.example/", PageBody(b"page"))):
        dropped = DroppedItems(str(path))
        dropped.write(item, "dedup", {"verdict": "duplicate"})
        dropped.write(item, None, {"verdict": "duplicate"})
        dropped.close()
        with path.open("ab") as file:
            file.write(b'{"url": "http')
    lines = path.read_text("utf-8").splitlines()
    told = {"dedup": {"verdict": "duplicate"}}
    first = {"url": "http://a.example/", "title": "早报"}
    second = {"url": "http://b.example/", "body": {"size": 4}}
    assert [json.loads(lines[place]) for place in (0, 1, 3, 4)] == [first | told, first, second | told, second]
    assert lines[2] == lines[5] == '{"url": "http'
    assert "早报" in lines[0]


def test_a_value_that_is_no_json_is_told_and_leaves_no_part_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "dropped.jl"
    dropped = DroppedItems(str(path))
    with pytest.raises(TypeError, match="not JSON serializable"):
        dropped.write({"url": "http://a.example/", "body": b"bytes"}, "dedup", {})
    dropped.close()
    assert path.read_bytes() == b""
