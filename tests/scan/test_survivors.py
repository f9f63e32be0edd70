"""The pages that stay are written in the form in which they came."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.outcomes import Verdict
from tests.scan.inputs.written import (
    MOST,
    PACKED,
    Warc,
    csv_of,
    html,
    jsonl,
    pages_of,
    parquet,
    put,
    rows,
    url,
    warc_of,
)
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.inputs.opening import stored
from worker.scan.inputs.records import Archive, ArchivedPage
from worker.scan.inputs.unpacking import compression_of, pieces
from worker.scan.survivors import write_survivors

COUNT = 25


def archives_of(*inputs: Path) -> list[Archive]:
    return find_archives([str(one) for one in inputs], Fields(), most_bytes=MOST)


def verdicts(archives: Sequence[Archive], stays: Callable[[int], bool]) -> list[Verdict]:
    """One for each page of all archives, numbered through."""
    pages = [page for archive in archives for page in pages_of(archive)]
    return [
        Verdict(
            file=page.place.file,
            offset=page.place.offset,
            id=page.id,
            url=page.page.url,
            verdict="unique" if stays(number) else "duplicate",
        )
        for number, page in enumerate(pages)
    ]


def written(folder: Path, *inputs: Path, stays: Callable[[int], bool] = lambda number: number % 3 == 0) -> Path:
    archives = archives_of(*inputs)
    assert write_survivors(archives, iter(verdicts(archives, stays)), folder) == []
    return folder


def found(path: Path) -> list[ArchivedPage]:
    return [page for archive in archives_of(path) for page in pages_of(archive)]


FORMS: dict[str, Callable[[Path], Path]] = {
    **{f"jsonl{end}": lambda at, end=end: put(at, "a.b" + end, PACKED[end](jsonl(rows(COUNT)))) for end in PACKED},  # type: ignore[misc]
    **{f"csv{end}": lambda at, end=end: put(at, "a" + end, PACKED[end](csv_of(rows(COUNT)))) for end in PACKED},  # type: ignore[misc]
    **{f"warc{end}": lambda at, end=end: put(at, "a" + end, PACKED[end](warc_of(COUNT))) for end in PACKED},  # type: ignore[misc]
    "warc.gz by record": lambda at: put(at, "a", warc_of(COUNT, packed=True)),
    "parquet": lambda at: parquet(at / "a", rows(COUNT)),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_copy_has_name_form_and_the_pages_that_stay(form: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = FORMS[form](tmp_path / "in")
    out = written(tmp_path / "out", path)
    (copy,) = out.iterdir()
    assert copy.name == path.name
    (archive,), (before,) = archives_of(copy), archives_of(path)
    assert archive.form == before.form and archive.fields == before.fields
    kept = pages_of(archive)
    assert [page.page for page in kept] == [page.page for page in pages_of(before)][::3]
    assert [page.id for page in kept] == [page.id for page in pages_of(before)][::3]


def unpacked(path: Path) -> bytes:
    compression = compression_of(path.read_bytes())
    return b"".join(piece.content for piece in pieces(stored(str(path)).open(), compression))


@pytest.mark.parametrize("form", [form for form in FORMS if form != "parquet"])
def test_where_all_stay_nothing_is_changed(form: str, tmp_path: Path) -> None:
    path = FORMS[form](tmp_path)
    (copy,) = written(tmp_path / "out", path, stays=lambda _: True).iterdir()
    assert unpacked(copy) == unpacked(path)
    if form in ("jsonl", "csv", "warc", "warc.gz by record"):
        assert copy.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("request_first", [False, True])
def test_what_belongs_to_a_record_of_a_warc_stays_or_goes_with_it(
    packed: bool, request_first: bool, tmp_path: Path
) -> None:
    warc = Warc(packed=packed)
    warc.info()
    for number in range(4):
        about = f"<urn:page:{number}>"
        if request_first:
            warc.add(url(number), b"", "request", WARC_Concurrent_To=about)
        warc.add(url(number), html(number).encode(), WARC_Record_ID=about)
        if not request_first:
            warc.add(url(number), b"", "request", WARC_Concurrent_To=about)
        warc.add(url(number), b"of it", "metadata", content_type="text/plain", WARC_Concurrent_To=about)
    warc.add(url(9), b"", status="404 Not Found", WARC_Record_ID="<urn:page:9>")
    warc.add(url(9), b"of it", "metadata", content_type="text/plain", WARC_Concurrent_To="<urn:page:9>")
    warc.add("urn:all", b"of the crawl", "metadata", content_type="text/plain")
    path = put(tmp_path, "a.warc", warc.content)
    (copy,) = written(tmp_path / "out", path, stays=lambda number: number in (1, 3)).iterdir()
    each = ["request", "response", "metadata"] if request_first else ["response", "request", "metadata"]
    with copy.open("rb") as file:
        records = [(one.rec_type, one.rec_headers.get_header("WARC-Target-URI")) for one in ArchiveIterator(file)]
    assert records == [
        ("warcinfo", None),
        *((kind, url(1)) for kind in each),
        *((kind, url(3)) for kind in each),
        ("metadata", "urn:all"),
    ]


def test_parquet_keeps_columns_metadata_compression_and_row_groups(tmp_path: Path) -> None:
    table = [{**row, "score": number / 7, "labels": ["a", str(number)]} for number, row in enumerate(rows(40))]
    columns = pa.Table.from_pylist(table).replace_schema_metadata({"made": "by a test"})
    pq.write_table(columns, tmp_path / "a", row_group_size=10, compression={"html": "zstd", "url": "none"})
    (copy,) = written(tmp_path / "out", tmp_path / "a", stays=lambda n: n // 10 != 2 and n % 2 == 0).iterdir()
    kept = pq.ParquetFile(copy)
    assert kept.read().to_pylist() == [row for n, row in enumerate(table) if n // 10 != 2 and n % 2 == 0]
    assert [kept.metadata.row_group(group).num_rows for group in range(kept.num_row_groups)] == [5, 5, 5]
    assert kept.schema_arrow.metadata == {b"made": b"by a test"} and kept.schema_arrow == columns.schema
    group = kept.metadata.row_group(0)
    packed = {group.column(at).path_in_schema: group.column(at).compression for at in range(group.num_columns)}
    assert (packed["html"], packed["url"]) == ("ZSTD", "UNCOMPRESSED")


def test_lines_and_rows_are_copied_byte_by_byte(tmp_path: Path) -> None:
    lines = [b'{"url":"http://a.example/%d" , "html": "\\u00fc %d", "n": 1.0}\r\n' % (n, n) for n in range(4)]
    (copy,) = written(tmp_path / "out", put(tmp_path, "a", lines[0] + b"no JSON\n\n" + b"".join(lines[1:]))).iterdir()
    assert copy.read_bytes() == lines[0] + lines[3]
    table = [
        b"url;html\r\n",
        b'http://a.example/;"a\r\n"";b"\r\n',
        b"http://b.example/;b\r\n",
        b"http://c.example/;\xfcc",
    ]
    (copy,) = written(tmp_path / "o2", put(tmp_path, "b", b"".join(table)), stays=lambda n: n != 1).iterdir()
    assert copy.read_bytes() == table[0] + table[1] + table[3]


def test_files_of_a_folder_keep_their_paths(tmp_path: Path) -> None:
    for number, name in enumerate(("a.html", "b/c.html.gz", "b/d.html", "e.html")):
        content = html(number).encode()
        put(tmp_path, f"in/{name}", gzip.compress(content) if name.endswith(".gz") else content)
    put(tmp_path, "in/b/x.jsonl", jsonl(rows(4)))
    out = written(tmp_path / "out", tmp_path / "in", tmp_path / "in/a.html", stays=lambda number: number % 2 == 1)
    copies = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    assert copies == ["in/b/c.html.gz", "in/b/x.jsonl", "in/e.html"]
    assert (out / "in/b/c.html.gz").read_bytes() == (tmp_path / "in/b/c.html.gz").read_bytes()


def test_archives_of_one_name_are_told_apart(tmp_path: Path) -> None:
    inputs = [put(tmp_path, f"{n}/a.jsonl.gz", gzip.compress(jsonl(rows(n + 1)))) for n in range(3)]
    out = written(tmp_path / "out", *inputs, stays=lambda _: True)
    assert {path.name: len(found(path)) for path in out.iterdir()} == {
        "a.jsonl.gz": 1, "a-2.jsonl.gz": 2, "a-3.jsonl.gz": 3,
    }  # fmt: skip


def test_no_copy_takes_the_place_of_an_archive(tmp_path: Path) -> None:
    path = put(tmp_path, "a.jsonl", jsonl(rows(3)))
    page = put(tmp_path, "in/a.html", html(1).encode())
    for folder, name in ((tmp_path, path), (tmp_path, page.parent), (page.parent, page)):
        with pytest.raises(UsageError, match="is read, and the pages that stay would be written in its place"):
            written(folder, name)
    assert path.read_bytes() == jsonl(rows(3))


def test_rows_of_other_archives_are_refused_and_leave_nothing_behind(tmp_path: Path) -> None:
    archives = archives_of(put(tmp_path, "a", jsonl(rows(3))))
    good = verdicts(archives, lambda _: True)
    for wrong in (good[:2], good[1:], [*good, good[0]]):
        out = tmp_path / "out"
        with pytest.raises(UsageError, match="the verdicts are not those of the pages in"):
            write_survivors(archives, iter(wrong), out)
        assert wrong is not good[:2] or list(out.iterdir()) == []
    assert not list(tmp_path.rglob("*.tmp"))


def test_broken_records_have_no_row_and_are_left_out(tmp_path: Path) -> None:
    for name, content in (
        ("a.jsonl", jsonl(rows(2)) + b"{broken\n" + jsonl(rows(2))),
        ("b.csv", csv_of(rows(2)) + b"broken\n" + csv_of(rows(2)).partition(b"\n")[2]),
        ("c.warc", warc_of(2) + b"broken" + warc_of(2)),
        ("d.warc.gz", warc_of(2, packed=True) + b"broken" + warc_of(2, packed=True)),
    ):
        path = put(tmp_path, name, content)
        (copy,) = written(tmp_path / f"out-{name}", path, stays=lambda number: number != 1).iterdir()
        assert b"broken" not in copy.read_bytes()
        assert [page.page.url for page in found(copy)] == [url(0), url(0), url(1)], name


def test_a_row_group_that_cannot_be_read_with_all_columns_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = [{**row, "extra": f"extra {number}" * 9} for number, row in enumerate(rows(30))]
    path = parquet(tmp_path / "a", table, use_dictionary=False, write_page_checksum=True)
    column = pq.ParquetFile(path).metadata.row_group(1).column(4)
    content = bytearray(path.read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 20] ^= 255
    archives = archives_of(put(tmp_path, "a", bytes(content)))
    lost = write_survivors(archives, iter(verdicts(archives, lambda _: True)), tmp_path / "out")
    assert [one.place for one in lost] == [(str(tmp_path / "a"), number) for number in range(10, 20)]
    assert "from 10 on: 10 pages that stay are not written: row group 1 cannot be read with all" in caplog.text
    assert [page.page.url for page in found(tmp_path / "out/a")] == [url(n) for n in (*range(10), *range(20, 30))]


def test_any_verdicts_may_be_kept(tmp_path: Path) -> None:
    archives = archives_of(put(tmp_path, "a", jsonl(rows(4))))
    write_survivors(archives, iter(verdicts(archives, lambda number: number < 3)), tmp_path / "out", ("duplicate",))
    kept: Iterable[str] = io.StringIO((tmp_path / "out/a").read_text())
    assert [json.loads(line)["id"] for line in kept] == ["n3"]
