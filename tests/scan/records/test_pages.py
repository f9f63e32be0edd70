"""Pages from an engine's own columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from worker import records


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"url": ["http://a.example/"], "html": ["<p>x"]}, "the column 'html' is not one of a page's"),
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
