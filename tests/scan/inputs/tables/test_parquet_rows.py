"""Parquet: the columns that are read, and damaged row groups."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crawler_plugin.wire.errors import UsageError
from tests.scan.inputs.written import (
    archive_of,
    broken_of,
    content_of,
    html,
    pages_of,
    parquet,
    put,
    rows,
    url,
    with_codec,
    write_kept,
)
from worker.places import Folder
from worker.scan.inputs.records import ArchivedPage
from worker.scan.writing.write import refuse_unwritable

AT = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_every_unit_are_read(unit: str, tmp_path: Path) -> None:
    times = pa.array([AT.replace(microsecond=0), None], pa.timestamp(unit, "UTC"))
    table = pa.table({"html": ["a", "b"], "fetched": times})
    pq.write_table(table, tmp_path / "a")
    assert [page.page.fetched for page in pages_of(archive_of(tmp_path / "a"))] == [1767323045000, None]


def test_bodies_are_bytes_or_characters_and_columns_may_be_within_others(tmp_path: Path) -> None:
    table = pa.table(
        {
            "content": pa.array([b"\xff<p>", b"b"], pa.large_binary()),
            "meta": [{"url": url(0), "more": {"id": 1}}, {"url": url(1), "more": None}],
            "wide": ["a" * 1000] * 2,
        }
    )
    pq.write_table(table, tmp_path / "a")
    archive = archive_of(tmp_path / "a", id="meta.more.id")
    assert archive.fields == {"url": "meta.url", "body": "content", "id": "meta.more.id"}
    pages = pages_of(archive)
    assert [(page.id, page.page.url, page.page.body) for page in pages] == [
        ("1", url(0), b"\xff<p>"),
        (url(1), url(1), b"b"),
    ]


def test_characters_that_are_no_utf_8_are_handed_on_as_bytes_and_those_beside_them_as_they_are(tmp_path: Path) -> None:
    bodies = pa.array([b"<p>\xb4\xfa", "<p>ü".encode(), b""], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"url": [url(0), url(1), url(2)], "html": bodies}), tmp_path / "a")
    assert [page.page.body for page in pages_of(archive_of(tmp_path / "a"))] == [b"<p>\xb4\xfa", "<p>ü", ""]


@pytest.mark.parametrize(
    "type_", ["list", "large_list", "list of large_string", "list of string_view", "fixed_size_list"]
)
def test_a_list_of_strings_is_a_text_of_as_many_lines(type_: str, tmp_path: Path) -> None:
    types = {
        "list": pa.list_(pa.string()),
        "large_list": pa.large_list(pa.string()),
        "list of large_string": pa.list_(pa.large_string()),
        "list of string_view": pa.list_(pa.string_view()),
        "fixed_size_list": pa.list_(pa.string(), 2),
    }
    texts = pa.array([["ä", "b"], ["c", None], None, ["d" * 400, "e" * 400]], types[type_])
    tags = pa.array([["x"]] * 4, pa.list_(pa.string()))
    pq.write_table(pa.table({"id": tags, "text": texts}), tmp_path / "a")
    found = list(archive_of(tmp_path / "a", most_bytes=800).records())
    assert [one.page.text if isinstance(one, ArchivedPage) else one.reason for one in found] == [
        "ä\nb", "no-body", "no-body", "too-large",
    ]  # fmt: skip
    assert found[0].id != "x"


def test_an_offset_counts_rows(tmp_path: Path) -> None:
    pages = pages_of(archive_of(parquet(tmp_path / "a", rows(25))))
    assert [page.place.offset for page in pages] == list(range(25))


def test_a_row_without_a_body_and_one_that_is_too_large_are_named(tmp_path: Path) -> None:
    table = rows(5)
    table[1]["html"] = None
    table[3]["html"] = "a" * 2_000_000
    archive = archive_of(parquet(tmp_path / "a", table))
    assert [(one.place.offset, one.reason) for one in broken_of(archive)] == [(1, "no-body"), (3, "too-large")]
    assert len(pages_of(archive)) == 3


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd", "gzip"])
def test_a_damaged_row_group_costs_no_other_one(compression: str, tmp_path: Path) -> None:
    path = parquet(tmp_path / "a", rows(40), compression=compression, use_dictionary=False, write_page_checksum=True)
    column = pq.ParquetFile(path).metadata.row_group(1).column(2)
    content = bytearray(path.read_bytes())
    at = column.data_page_offset + column.total_compressed_size - 20
    content[at : at + 8] = bytes(byte ^ 255 for byte in content[at : at + 8])
    archive = archive_of(put(tmp_path, "a", bytes(content)))
    assert [page.place.offset for page in pages_of(archive)] == [*range(10), *range(20, 40)]
    assert [content_of(page) for page in pages_of(archive)][10:] == [html(n) for n in range(20, 40)]
    (broken,) = broken_of(archive)
    assert broken.reason == "damaged" and broken.place.offset == 10
    assert "rows 0 to 9 of row group 1 cannot be read" in broken.detail


def test_a_file_without_the_column_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a", [{"title": "a", "meta": {"x": 1}}])
    with pytest.raises(UsageError, match=r"no column that seems to hold a page: there are title, meta, meta\.x; name"):
        archive_of(path)
    with pytest.raises(UsageError, match=r"has no column 'html' \(--body-field\): there are title, meta"):
        archive_of(path, body="html")


def test_a_file_whose_end_is_missing_is_damaged(tmp_path: Path) -> None:
    content = parquet(tmp_path / "a", rows(20)).read_bytes()
    for damaged in (content[:-50], content[:-8] + b"\xff\xff\xff\x7fPAR1", content[:200]):
        (broken,) = broken_of(archive_of(put(tmp_path, "a", damaged)))
        assert broken.reason == "damaged" and "is no whole Parquet file" in broken.detail


def test_a_file_without_rows_has_no_pages(tmp_path: Path) -> None:
    pq.write_table(pa.table({"url": pa.array([], pa.string()), "html": pa.array([], pa.string())}), tmp_path / "a")
    assert not list(archive_of(tmp_path / "a").records())


def test_of_a_column_within_another_the_rest_need_not_be_readable_for_python(tmp_path: Path) -> None:
    """An example is a time in odd nanoseconds, or in the year 30,000."""
    inner = [pa.array([1, 3], pa.timestamp("ns")), pa.array([2**60, 1], pa.timestamp("us")), pa.array([url(0), url(1)])]
    meta = pa.StructArray.from_arrays(inner, ["fetched", "far", "url"])
    pq.write_table(pa.table({"content": ["<p>a", "<p>b"], "meta": meta, "other": meta}), tmp_path / "a")
    archive = archive_of(tmp_path / "a")
    assert archive.fields == {"url": "meta.url", "body": "content", "fetched": "meta.fetched"}
    assert [(page.page.url, page.page.fetched) for page in pages_of(archive)] == [(url(0), 0), (url(1), 0)]


@pytest.mark.parametrize("within", [False, True])
def test_views_are_read_and_written(within: bool, tmp_path: Path) -> None:
    texts, bodies = pa.array([url(0), url(1)], pa.string_view()), pa.array([b"<p>a", b"<p>b"], pa.binary_view())
    columns = (
        {"page": pa.StructArray.from_arrays([texts, bodies], ["url", "html"])}
        if within
        else {"url": texts, "html": bodies}
    )
    pq.write_table(pa.table(columns), tmp_path / "a")
    archive = archive_of(tmp_path / "a")
    assert [(page.page.url, page.page.body) for page in pages_of(archive)] == [(url(0), b"<p>a"), (url(1), b"<p>b")]
    refuse_unwritable([archive], Folder(str(tmp_path / "out")))
    assert write_kept(archive, tmp_path / "copy", lambda page: page.place.offset == 1) == []
    assert pq.ParquetFile(tmp_path / "copy").read().to_pylist() == pq.ParquetFile(tmp_path / "a").read().to_pylist()[1:]


def test_of_columns_of_one_name_the_first_is_read(tmp_path: Path) -> None:
    columns = [pa.array([url(0)]), pa.array(["<p>a"]), pa.array(["<p>b"])]
    pq.write_table(pa.table(columns, names=["url", "html", "html"]), tmp_path / "a")
    assert [page.page.body for page in pages_of(archive_of(tmp_path / "a"))] == ["<p>a"]


@pytest.mark.parametrize("codec", [3, 9])  # LZO, and an unknown codec
def test_a_column_that_cannot_be_written_is_refused_before_a_page_is_judged(codec: int, tmp_path: Path) -> None:
    path = with_codec(parquet(tmp_path / "a", rows(5), compression={"html": "none", "id": "snappy"}), "id", codec)
    archive = archive_of(path, id="url")
    assert len(pages_of(archive)) == 5, "the column need not be read"
    with pytest.raises(UsageError, match=r"pyarrow cannot write a copy of .*: leave --write out"):
        refuse_unwritable([archive], Folder(str(tmp_path / "out")))
    assert len(write_kept(archive, tmp_path / "copy", lambda _: True)) == 5, "and each page is told of"
