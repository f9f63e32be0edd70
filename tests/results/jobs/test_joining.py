"""Items joined with the verdicts on their pages."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.outcomes import Verdict
from worker.results.jobs.joining import join


def row(url: str, offset: int, verdict: Any = "unique", original: str | None = None) -> Verdict:
    return Verdict(url=url, verdict=verdict, duplicate_of=original, reason="why", source=(0, offset))


def joined(
    tmp_path: Path, items: str, *rows: Verdict, on: str = "url"
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
    "odd",
    [
        rb'"\ud800"',
        rb'"\udfff\ud800 a"',
        rb'{"\ud800": ["\ud83d\ude00", "\\ud800"]}',
        b"NaN",
        b"-Infinity",
        b"1" * 5000,
        b"[-" + b"1" * 5000 + b"]",
        b"1e400",
        b"12345678901234567890.12345678901234567890",
        b"1, \t\r" + b'"title": 2',
        b'"\xff\xfe"',
        b'"\xed\xa0\x80"',
        '"页 \u2028 \x85"'.encode(),
    ],
)
def test_whatever_an_item_holds_it_gets_its_verdict_and_the_rest_of_it_stays_as_it_came(
    tmp_path: Path, odd: bytes
) -> None:
    items = [b'{"url": "http://a.example/%d", "title": %s}' % (n, odd) for n in range(3)] + [rb'{"url": "\ud800"}']
    (tmp_path / "items.jsonl").write_bytes(b"\n".join(items))
    out = io.BytesIO()
    assert join(tmp_path / "items.jsonl", "url", iter([row("http://a.example/1", 1)]), out) == (4, 1, 0)
    lines = out.getvalue().split(b"\n")[:-1]
    assert [line.partition(b', "dedup": ')[0] + b"}" for line in lines] == items
    assert [line.partition(b', "dedup": ')[2][:-1] for line in lines[::2]] == [b"null", b"null"]
    assert json.loads(lines[1].partition(b', "dedup": ')[2][:-1])["verdict"] == "unique"


def test_a_mark_before_the_first_item_costs_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_bytes(b'\xef\xbb\xbf{"url": "http://a.example/"}\r\n')
    out = io.BytesIO()
    assert join(tmp_path / "items.jsonl", "url", iter([row("http://a.example/", 1)]), out) == (1, 1, 0)


@pytest.mark.parametrize("title", [r'"\ud800"', "NaN", '"\\u9875"'])
def test_an_item_that_was_joined_before_has_the_new_verdict_alone(tmp_path: Path, title: str) -> None:
    item = f'{{"url": "http://a.example/", "title": {title}, "dedup": {{"verdict": "duplicate"}}}}\n'
    found, counted = joined(tmp_path, item, row("http://a.example/", 1))
    assert counted == (1, 1, 0)
    assert repr(found[0]["title"]) == repr(json.loads(title))
    assert found[0]["dedup"]["verdict"] == "unique"


def test_an_item_that_was_joined_before_and_cannot_be_written_anew_stays_as_it_came_and_is_counted(
    tmp_path: Path,
) -> None:
    item = f'{{"url": "http://a.example/", "n": {"1" * 5000}, "dedup": null}}'
    (tmp_path / "items.jsonl").write_text(f'{item}\n{{"url": "http://b.example/"}}\n')
    out = io.BytesIO()
    rows = [row("http://a.example/", 1), row("http://b.example/", 2)]
    assert join(tmp_path / "items.jsonl", "url", iter(rows), out) == (2, 1, 1)
    assert out.getvalue().decode().splitlines()[0] == item


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
