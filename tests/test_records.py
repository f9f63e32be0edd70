"""Records that any engine makes: pages in, records out, the same whoever makes them."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.scan.archives import some_pages, write_jsonl, write_warc
from worker import records
from worker.config import Settings
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.records.reading import reading_by_processes

SETTINGS = Settings.model_validate({"page": {"processes": 1}})


@pytest.mark.usefixtures("read_here")
def test_archives_give_the_same_records_by_batches_as_by_the_command(tmp_path: Path) -> None:
    pages = some_pages(2, 40)
    lines = write_jsonl(pages[:20], tmp_path / "a.jsonl")
    with lines.open("a", encoding="utf-8") as file:
        file.write('no json\n{"url": "http://half.example/\\ud800", "text": "half of a pair"}\n')
        file.write('{"url": "x", "text": "y"}\n')
    names = [str(lines), str(write_warc(pages[20:], tmp_path / "b.warc.gz"))]
    with reading_by_processes(SETTINGS) as reading:
        found = [record for one in find_archives(names, Fields(), most_bytes=1 << 20) for record in one.records()]
        expected = [row for batch in reading.batches(found) for row in batch.to_pylist()]
    batches = [records.fingerprint(batch) for batch in records.pages(*names)]
    assert [row for batch in batches for row in batch.to_pylist()] == expected
    assert len(expected) == 43
    assert [row["dead"] is None for row in expected[20:23]] == [False] * 3
    assert {row["scheme"] for row in expected} == {reading.scheme.id.hex()}
    assert all(batch.schema.equals(records.SCHEMA) for batch in batches)


def test_it_can_be_sent_to_other_processes_with_its_settings() -> None:
    other = Settings.model_validate({"features": {"minimum": 4}})
    page = pa.RecordBatch.from_pylist([{"url": "http://a.example/", "text": "three words only"}])
    task = pickle.loads(pickle.dumps(partial(records.fingerprint, settings=other)))
    (one,), (by_default,) = task(page).to_pylist(), records.fingerprint(page).to_pylist()
    assert one["scheme"] != by_default["scheme"]
    assert one["text_hash"] == by_default["text_hash"]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"url": ["http://a.example/"], "html": ["<p>x"]}, "the column 'html' is none of a page's"),
        ({"url": ["http://a.example/"], "fetched": ["yesterday"]}, "the column 'fetched' is string, not int64"),
    ],
)
def test_columns_that_no_page_has_are_named(columns: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        records.fingerprint(pa.record_batch(columns))


def test_what_an_engine_has_may_be_of_other_types_and_nothing_of_it_ends_the_others() -> None:
    given: dict[str, Any] = {
        "url": pa.array(["http://a.example/", None, None, "http://a.example/2"], pa.large_string()),
        "id": [None, "7", None, None],
        "body": ["<p>one two three four", None, "<p>x", None],
        "text": [None, "four words of text", None, None],
        "fetched": pa.array([1_000_000, None, None, None], pa.timestamp("us", tz="UTC")),
    }
    batch = pa.record_batch(given)
    found = records.fingerprint(batch).to_pylist()
    assert [(row["url"], row["id"], row["dead"]) for row in found] == [
        ("http://a.example/", "http://a.example/", None),
        ("record://id/7", "7", None),
        (None, None, "no-page: it has neither a URL nor an id"),
        ("http://a.example/2", "http://a.example/2", "no-body: the record has no value"),
    ]
    assert found[0]["fetched"] == 1000
    assert records.fingerprint(batch.slice(0, 0)).num_rows == 0
