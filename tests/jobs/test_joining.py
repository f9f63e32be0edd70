"""Items beside the verdicts on their pages."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from worker.errors import UsageError
from worker.jobs.joining import join
from worker.jobs.rows import JobRow


def row(url: str, offset: int, verdict: Any = "unique", original: str | None = None) -> JobRow:
    return JobRow(url=url, verdict=verdict, duplicate_of=original, reason="why", partition=0, offset=offset)


def joined(
    tmp_path: Path, items: str, *rows: JobRow, on: str = "url"
) -> tuple[list[dict[str, Any]], tuple[int, int, int]]:
    (tmp_path / "items.jsonl").write_text(items, encoding="utf-8")
    out = io.BytesIO()
    counted = join(tmp_path / "items.jsonl", on, iter(rows), out)
    return [json.loads(line) for line in out.getvalue().splitlines()], counted


def test_an_item_keeps_what_it_has_and_gets_the_verdict_on_its_page_however_its_url_is_spelled(tmp_path: Path) -> None:
    items = '{"url": "http://B.example/#top", "title": "页"}\n\n{"url": "http://nobody.example/"}\n{"url": null}\n'
    found, counted = joined(tmp_path, items, row("http://b.example/", 1, "duplicate", "http://a.example/"))
    told = {
        "verdict": "duplicate",
        "duplicate_of": "http://a.example/",
        "distance": None,
        "similarity": None,
        "reason": "why",
    }
    assert found == [
        {"url": "http://B.example/#top", "title": "页", "dedup": told},
        {"url": "http://nobody.example/", "dedup": None},
        {"url": None, "dedup": None},
    ]
    assert counted == (3, 1, 0)


def test_verdicts_of_workers_that_spell_urls_otherwise_are_found(tmp_path: Path) -> None:
    told = replace(
        row("https://a.example:443/|", 1, "duplicate", "https://b.example/"), url_as_given="HTTPS://a.example/|#"
    )
    found, counted = joined(tmp_path, '{"url": "https://user@a.example/%7c"}\n', told)
    assert (found[0]["dedup"]["verdict"], counted) == ("duplicate", (1, 1, 0))


@pytest.mark.parametrize(
    "odd", [r'"\ud800"', r'"\udfff\ud800 a"', r'{"\ud800": ["\ud83d\ude00", "\\ud800"]}', "NaN", "1" * 5000]
)
def test_no_item_ends_it_by_what_it_holds(tmp_path: Path, odd: str) -> None:
    items = "".join(f'{{"url": "http://a.example/{n}", "title": {odd}}}\n' for n in range(3)) + '{"url": "\\ud800"}\n'
    (tmp_path / "items.jsonl").write_text(items)
    out = io.BytesIO()
    counted = join(tmp_path / "items.jsonl", "url", iter([row("http://a.example/1", 1)]), out)
    lines = out.getvalue().decode().splitlines()
    assert len(lines) == counted.items == 4
    if counted.too_deep:
        assert lines[:3] == items.splitlines()[:3]
    else:
        assert [repr(json.loads(line)["title"]) for line in lines[:3]] == [repr(json.loads(odd))] * 3
        assert json.loads(lines[1])["dedup"]["verdict"] == "unique"


def test_items_of_a_page_that_was_fetched_again_get_the_verdicts_in_the_order_of_the_fetches(tmp_path: Path) -> None:
    again = [row("http://a.example/", 9, "refetch", "http://a.example/"), row("http://a.example/", 2)]
    found, _ = joined(tmp_path, '{"page": "http://a.example/"}\n' * 3, *again, on="page")
    assert [item["dedup"]["verdict"] for item in found] == ["unique", "refetch", "refetch"]


@pytest.mark.parametrize("deep", ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000])
def test_an_item_that_is_nested_too_deep_to_be_read_is_written_as_it_came(tmp_path: Path, deep: str) -> None:
    item = f'{{"url": "http://a.example/", "deep": {deep}}}'
    (tmp_path / "items.jsonl").write_text(f'{item}\n{{"url": "http://a.example/"}}\n', encoding="utf-8")
    out = io.BytesIO()
    assert join(tmp_path / "items.jsonl", "url", iter([row("http://a.example/", 1)]), out) == (2, 1, 1)
    first, second = out.getvalue().decode().splitlines()
    assert first == item
    assert json.loads(second)["dedup"]["verdict"] == "unique"


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ('[{"url": "http://a.example/"}]', "line 1 has no field 'url'.*--on"),
        ('{"url": "http://a.example/"}\n{"title": ""}', "line 2 has no field 'url'"),
        ('{"url": ', "line 1 is no JSON"),
    ],
)
def test_what_are_no_items_is_told_with_its_line(tmp_path: Path, items: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        joined(tmp_path, items)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.jsonl cannot be read"):
        join(tmp_path / "nowhere.jsonl", "url", iter(()), io.BytesIO())
