"""The kept pages are written in the form in which they came."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.outcomes import Verdict
from tests.object_store import bucket  # noqa: F401
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
from tests.scan.writing.judged import (
    archives_of,
    content_of_all,
    copies,
    crawl_of,
    found,
    judged,
    verdicts,
    write,
    written,
)
from worker.places import Folder
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.inputs.opening import stored
from worker.scan.inputs.records import Archive, ArchivedPage
from worker.scan.inputs.unpacking import compression_of, pieces
from worker.scan.writing.copy_paths import PROGRESS
from worker.scan.writing.write import JudgedArchive, Writing, write_archives

COUNT = 25


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
    (copy,) = copies(out)
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
    (copy,) = copies(written(tmp_path / "out", path, stays=lambda _: True))
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
    (copy,) = copies(written(tmp_path / "out", path, stays=lambda number: number in (1, 3)))
    each = ["request", "response", "metadata"] if request_first else ["response", "request", "metadata"]
    with copy.open("rb") as file:
        records = [(one.rec_type, one.rec_headers.get_header("WARC-Target-URI")) for one in ArchiveIterator(file)]
    assert records == [
        ("warcinfo", None),
        *((kind, url(1)) for kind in each),
        *((kind, url(3)) for kind in each),
        ("response", url(9)),
        ("metadata", url(9)),
        ("metadata", "urn:all"),
    ]


def test_parquet_keeps_columns_metadata_compression_and_row_groups(tmp_path: Path) -> None:
    table = [{**row, "score": number / 7, "labels": ["a", str(number)]} for number, row in enumerate(rows(40))]
    columns = pa.Table.from_pylist(table).replace_schema_metadata({"made": "by a test"})
    pq.write_table(columns, tmp_path / "a", row_group_size=10, compression={"html": "zstd", "url": "none"})
    (copy,) = copies(written(tmp_path / "out", tmp_path / "a", stays=lambda n: n // 10 != 2 and n % 2 == 0))
    kept = pq.ParquetFile(copy)
    assert kept.read().to_pylist() == [row for n, row in enumerate(table) if n // 10 != 2 and n % 2 == 0]
    assert [kept.metadata.row_group(group).num_rows for group in range(kept.num_row_groups)] == [5, 5, 5]
    assert kept.schema_arrow.metadata == {b"made": b"by a test"} and kept.schema_arrow == columns.schema
    group = kept.metadata.row_group(0)
    packed = {group.column(at).path_in_schema: group.column(at).compression for at in range(group.num_columns)}
    assert (packed["html"], packed["url"]) == ("ZSTD", "UNCOMPRESSED")


def test_lines_and_rows_are_copied_byte_by_byte(tmp_path: Path) -> None:
    lines = [b'{"url":"http://a.example/%d" , "html": "\\u00fc %d", "n": 1.0}\r\n' % (n, n) for n in range(4)]
    (copy,) = copies(written(tmp_path / "out", put(tmp_path, "a", lines[0] + b"no JSON\n\n" + b"".join(lines[1:]))))
    assert copy.read_bytes() == lines[0] + lines[3]
    table = [
        b"url;html\r\n",
        b'http://a.example/;"a\r\n"";b"\r\n',
        b"http://b.example/;b\r\n",
        b"http://c.example/;\xfcc",
    ]
    (copy,) = copies(written(tmp_path / "o2", put(tmp_path, "b", b"".join(table)), stays=lambda n: n != 1))
    assert copy.read_bytes() == table[0] + table[1] + table[3]


def test_files_of_a_folder_keep_their_paths(tmp_path: Path) -> None:
    for number, name in enumerate(("a.html", "b/c.html.gz", "b/d.html", "e.html")):
        content = html(number).encode()
        put(tmp_path, f"in/{name}", gzip.compress(content) if name.endswith(".gz") else content)
    put(tmp_path, "in/b/x.jsonl", jsonl(rows(4)))
    out = written(tmp_path / "out", tmp_path / "in", tmp_path / "in/a.html", stays=lambda number: number % 2 == 1)
    assert [path.relative_to(out).as_posix() for path in copies(out)] == ["in/b/c.html.gz", "in/b/x.jsonl", "in/e.html"]
    assert (out / "in/b/c.html.gz").read_bytes() == (tmp_path / "in/b/c.html.gz").read_bytes()


def test_archives_of_one_name_are_told_apart(tmp_path: Path) -> None:
    inputs = [put(tmp_path, f"{n}/a.jsonl.gz", gzip.compress(jsonl(rows(n + 1)))) for n in range(3)]
    out = written(tmp_path / "out", *inputs, stays=lambda _: True)
    assert {path.name: len(found(path)) for path in copies(out)} == {
        "a.jsonl.gz": 1, "a-2.jsonl.gz": 2, "a-3.jsonl.gz": 3,
    }  # fmt: skip


def test_no_copy_takes_the_place_of_an_archive(tmp_path: Path) -> None:
    path = put(tmp_path, "a.jsonl", jsonl(rows(3)))
    page = put(tmp_path, "in/a.html", html(1).encode())
    for folder, name in ((tmp_path, path), (tmp_path, page.parent), (page.parent, page)):
        with pytest.raises(UsageError, match="is read, and the pages that stay would be written in its place"):
            written(folder, name)
    assert path.read_bytes() == jsonl(rows(3))


def test_verdicts_of_other_pages_are_refused_and_leave_no_copy_behind(tmp_path: Path) -> None:
    archives = archives_of(put(tmp_path, "a", jsonl(rows(3))))
    good = verdicts(archives, lambda _: True)
    for wrong, why in (
        (good[:2], "there are verdicts on 2 pages, but the archives have 3"),
        ([good[0], good[2], good[1]], "the verdicts are not those of the pages in"),
        ([*good, good[0]], "there are verdicts on 4 pages"),
    ):
        with pytest.raises(UsageError, match=why):
            write(tmp_path / "out", archives, wrong)
        assert copies(tmp_path / "out") == [] and not list(tmp_path.rglob("*.tmp"))
        shutil.rmtree(tmp_path / "out", ignore_errors=True)


def test_broken_records_have_no_row_and_are_left_out(tmp_path: Path) -> None:
    for name, content in (
        ("a.jsonl", jsonl(rows(2)) + b"{broken\n" + jsonl(rows(2))),
        ("b.csv", csv_of(rows(2)) + b"broken\n" + csv_of(rows(2)).partition(b"\n")[2]),
        ("c.warc", warc_of(2) + b"broken" + warc_of(2)),
        ("d.warc.gz", warc_of(2, packed=True) + b"broken" + warc_of(2, packed=True)),
    ):
        path = put(tmp_path, name, content)
        (copy,) = copies(written(tmp_path / f"out-{name}", path, stays=lambda number: number != 1))
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
    done, _ = write(tmp_path / "out", archives, verdicts(archives, lambda _: True))
    assert done.lost == 10
    assert "from 10 on: 10 pages that stay are not written: row group 1 cannot be read with all" in caplog.text
    assert [page.page.url for page in found(tmp_path / "out/a")] == [url(n) for n in (*range(10), *range(20, 30))]


def of_copies(archives: Sequence[Archive]) -> list[Verdict]:
    """Verdicts by which the second page is a duplicate of the first, and the third is dead."""
    first, second, third = verdicts(archives, lambda number: number == 0)
    first = first.having(fetched=1_767_323_045_000)
    return [first, second.having(duplicate_of=first.url, duplicate_of_id=first.id), third.having(verdict="dead")]


def kinds(path: Path) -> list[str]:
    """The type and the end of the URL of each record."""
    with path.open("rb") as file:
        return [
            f"{one.rec_type} {(one.rec_headers.get_header('WARC-Target-URI') or '').rpartition('/')[2]}"
            for one in ArchiveIterator(file)
        ]


@pytest.mark.parametrize("packed", [False, True])
def test_a_warc_is_written_in_three_ways_and_what_is_removed_beside_it(packed: bool, tmp_path: Path) -> None:
    archives = archives_of(put(tmp_path, "a.warc", crawl_of(packed)))
    rows = of_copies(archives)
    for way, stay, expected in (
        ("drop", 1, ["response 0", "request 0", "response 9"]),
        ("revisit", 1, ["response 0", "request 0", "revisit 1", "request 1", "response 9"]),
        ("tag", 3, [*(f"{kind} {n}" for n in range(3) for kind in ("response", "request")), "response 9"]),
    ):
        removed = None if way == "tag" else Folder(str(tmp_path / f"{way}-removed"))
        done, _ = write(tmp_path / way, archives, rows, duplicates=way, removed=removed)
        assert (done.pages, done.stay, done.lost) == (3, stay, 0)
        assert kinds(tmp_path / way / "a.warc") == ["warcinfo ", *expected]
    assert kinds(tmp_path / "drop-removed/a.warc") == [
        "warcinfo ", "response 1", "request 1", "response 2", "request 2"
    ]  # fmt: skip
    assert kinds(tmp_path / "revisit-removed/a.warc") == ["warcinfo ", "response 1", "response 2", "request 2"]
    with (tmp_path / "revisit/a.warc").open("rb") as file:
        (about,) = [dict(one.rec_headers.headers) for one in ArchiveIterator(file) if one.rec_type == "revisit"]
    assert about["WARC-Refers-To"] == "<urn:page:0>" and about["WARC-Refers-To-Target-URI"] == url(0)
    assert about["WARC-Refers-To-Date"] == "2026-01-02T03:04:05Z"
    with (tmp_path / "tag/a.warc").open("rb") as file:
        tags = [
            (one.rec_headers.get_header("Dedup-Verdict"), one.rec_headers.get_header("Dedup-Duplicate-Of"))
            for one in ArchiveIterator(file)
            if one.rec_type == "response"
        ]
    assert tags == [("unique", None), ("duplicate", url(0)), ("dead", None), (None, None)]
    assert [page.page for page in found(tmp_path / "tag/a.warc")] == [page.page for page in pages_of(archives[0])]


TABLES: dict[str, Callable[[Path], Path]] = {
    "jsonl": lambda at: put(at, "a", jsonl(rows(3))),
    "json": lambda at: put(at, "a", json.dumps(rows(3), indent=1).encode()),
    "utf-16": lambda at: put(at, "a", jsonl(rows(3)).decode().encode("utf-16")),
    "csv": lambda at: put(at, "a.csv.gz", gzip.compress(csv_of(rows(3), ";"))),
    "parquet": lambda at: parquet(at / "a", rows(3)),
}


@pytest.mark.parametrize("form", TABLES)
def test_rows_are_tagged_and_removed_ones_are_rows(form: str, tmp_path: Path) -> None:
    (archive,) = archives = archives_of(TABLES[form](tmp_path))
    verdicts_of = of_copies(archives)
    write(tmp_path / "tag", archives, verdicts_of, duplicates="tag")
    (copy,) = copies(tmp_path / "tag")
    (again,) = archives_of(copy)
    assert again.form == archive.form and [page.page for page in pages_of(again)] == [
        page.page for page in pages_of(archive)
    ]
    assert tags_in(copy) == [("unique", None), ("duplicate", url(0)), ("dead", None)]
    if form != "csv":  # tags of an earlier run are replaced
        write(tmp_path / "again", [again], placed(again, verdicts_of), duplicates="tag")
        assert tags_in(tmp_path / "again" / copy.name) == tags_in(copy)
    else:
        with pytest.raises(UsageError, match="has a column dedup_duplicate_of already"):
            write(tmp_path / "again", [again], placed(again, verdicts_of), duplicates="tag")
    write(tmp_path / "drop", archives, verdicts_of, removed=Folder(str(tmp_path / "removed")))
    name = copy.name
    assert [page.id for page in found(tmp_path / "drop" / name)] == ["n0"]
    assert [page.id for page in found(tmp_path / "removed" / name)] == ["n1", "n2"]


def placed(archive: Archive, verdicts_of: Sequence[Verdict]) -> list[Verdict]:
    """The same verdicts for the pages of a copy."""
    return [
        row.having(file=page.place.file, offset=page.place.offset)
        for row, page in zip(verdicts_of, pages_of(archive), strict=True)
    ]


def tags_in(path: Path) -> list[tuple[str, str | None]]:
    content = unpacked(path)
    if content.startswith(b"PAR1"):
        table = pq.read_table(path).to_pylist()
    elif path.name == "a.csv.gz":
        table = list(csv.DictReader(io.StringIO(content.decode()), delimiter=";"))
    else:
        text = content.decode("utf-16" if content.startswith(b"\xff\xfe") else "utf-8")
        table = json.loads(text) if text.startswith("[") else list(map(json.loads, text.splitlines()))
    return [(row["dedup_verdict"], row["dedup_duplicate_of"] or None) for row in table]


def test_what_a_form_cannot_say_is_refused(tmp_path: Path) -> None:
    for path, way, why in (
        (put(tmp_path, "a.html", html(1).encode()), "tag", "is files, which has no room for tags"),
        (put(tmp_path, "a.jsonl", jsonl(rows(1))), "revisit", "is jsonl, and only WARC has revisits"),
    ):
        archives = archives_of(path)
        with pytest.raises(UsageError, match=why):
            write(tmp_path / "out", archives, verdicts(archives, lambda _: True), duplicates=way)


def test_ids_that_lead_elsewhere_stay_in_the_folder(tmp_path: Path) -> None:
    put(tmp_path, "in/a.html", html(1).encode())
    archives = archives_of(tmp_path / "in")
    (row,) = verdicts(archives, lambda _: True)
    write(tmp_path / "out/deep", archives, [row.having(id="../../../a.html")])
    assert sorted(content_of_all(tmp_path / "out/deep")) == ["in/_/_/_/a.html"]
    assert not (tmp_path / "a.html").exists()


def test_archives_that_have_moved_are_read_where_they_are_now(tmp_path: Path) -> None:
    put(tmp_path, "old/in/a.html", html(1).encode())
    archives = archives_of(put(tmp_path, "old/a.jsonl", jsonl(rows(2))), tmp_path / "old/in")
    judged_as = verdicts(archives, lambda _: True)
    columns, sources = judged(tmp_path / "judged", archives, judged_as)
    (tmp_path / "old").rename(tmp_path / "new")
    moved = {f"{tmp_path}/old": f"{tmp_path}/new"}
    refs = [source.ref.moved(moved) for source in sources]
    sources = [JudgedArchive(ref, partial(ref.archive, MOST)) for ref in refs]
    done = write_archives(columns, sources, Writing(out=Folder(str(tmp_path / "out")), moved=moved))
    assert done.stay == 3 and sorted(content_of_all(tmp_path / "out")) == ["a.jsonl", "in/a.html"]


def test_an_object_store_is_read_and_written(bucket: str, many: list[Archive], tmp_path: Path) -> None:  # noqa: F811
    store = Folder(f"{bucket}/crawl")
    for name, path in (
        ("a.warc.gz", tmp_path / "a.warc.gz"),
        ("b.jsonl", tmp_path / "0/a.jsonl"),
        ("c.parquet", parquet(tmp_path / "c.parquet", rows(5))),
        ("d/e.html", tmp_path / "in/a.html"),
    ):
        store.write(name, path.read_bytes())
    archives = find_archives([f"{bucket}/crawl"], Fields(), most_bytes=MOST)
    assert [archive.form for archive in archives] == ["files", "warc+gz", "jsonl", "parquet"]
    judged_as = verdicts(archives, lambda number: number % 2 == 0)
    out, removed = Folder(f"{bucket}/kept"), Folder(f"{bucket}/removed")
    done, _ = write(tmp_path / "out", archives, judged_as, out=out, removed=removed)
    assert (done.archives, done.pages, done.stay) == (4, 13, 7)
    names = ["crawl/a.warc.gz", "crawl/b.jsonl", "crawl/c.parquet"]
    assert [name for name in out.names() if not name.startswith(PROGRESS)] == [*names, "crawl/d/e.html"]
    assert [name for name in removed.names() if not name.startswith(PROGRESS)] == names
    kept = [page for name in names for page in found_at(out.path(name))]
    gone = [page for name in names for page in found_at(removed.path(name))]
    assert (len(kept) + 1, len(gone)) == (7, 6)
    again, _ = write(tmp_path / "out", archives, judged_as, out=out, removed=removed)
    assert again.before == 4


def found_at(where: str) -> list[ArchivedPage]:
    return [page for archive in find_archives([where], Fields(), most_bytes=MOST) for page in pages_of(archive)]
