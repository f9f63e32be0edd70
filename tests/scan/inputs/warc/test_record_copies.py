"""Records are copied as they are stored; only bytes that cannot be split into records are lost."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.scan.inputs.written import Warc, archive_of, html, put, url, write_kept
from worker.scan.inputs.unpacking import GZIP
from worker.scan.inputs.warc.record_copies import RecordCopies
from worker.scan.inputs.warc.record_search import FoundRecord

LARGE = bytes(range(256)) * 4000
MOST = 500_000


def types(content: bytes) -> list[tuple[str, int]]:
    return [
        (one.rec_headers.get_header("WARC-Target-URI"), len(one.raw_stream.read()))
        for one in ArchiveIterator(io.BytesIO(content), no_record_parse=True)
    ]


def test_what_stays_and_what_does_not_go_two_ways() -> None:
    source = io.BytesIO(b"..stored..")
    kept, removed = io.BytesIO(), io.BytesIO()
    copies = RecordCopies(source, None, [kept, removed], b"\n\n")
    copies.copy(FoundRecord(0, 0, b"a"), True)
    copies.write(b"b", False)
    copies.copy_span(2, 8, True)
    copies.copy_span(8, None, False)
    assert (kept.getvalue(), removed.getvalue()) == (b"a\n\nstored", b"b\n\n..")
    RecordCopies(source, None, [kept], b"\n\n").write(b"c", False)
    packed = io.BytesIO()
    copies = RecordCopies(source, GZIP, [packed], b"\n")
    copies.copy(FoundRecord(0, 0, b"x", stored=(2, 8)), True)
    copies.write(b"d", True)
    assert packed.getvalue()[:6] == b"stored" and gzip.decompress(packed.getvalue()[6:]) == b"d\n"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("is_last", [False, True])
def test_a_record_that_is_too_large_to_be_held_is_copied_as_it_is(packed: bool, is_last: bool, tmp_path: Path) -> None:
    warc = Warc(packed=packed)
    warc.add(url(0), html(0).encode())
    warc.add(url(1), LARGE, http=[("Content-Type", "video/mp4")])
    warc.add(url(2), LARGE, "resource", content_type="video/mp4")
    if not is_last:
        warc.add(url(3), html(3).encode())
    archive = archive_of(put(tmp_path, "a.warc", warc.content), MOST)
    assert write_kept(archive, tmp_path / "b", lambda _: True) == []
    assert (tmp_path / "b").read_bytes() == warc.content
    assert write_kept(archive, tmp_path / "c", lambda _: False, tmp_path / "d") == []
    assert [name for name, _ in types((tmp_path / "c").read_bytes())] == [url(1), url(2)]
    assert [name for name, _ in types((tmp_path / "d").read_bytes())] == [url(0), url(3)][: 2 - is_last]


def test_one_that_is_packed_together_with_others_is_named(tmp_path: Path) -> None:
    warc = Warc()
    for number in range(3):
        warc.add(url(number), LARGE if number == 1 else html(number).encode(), WARC_Record_ID=f"<urn:{number}>")
    archive = archive_of(put(tmp_path, "a.warc.gz", gzip.compress(warc.content)), MOST)
    (lost,) = write_kept(archive, tmp_path / "b", lambda _: True)
    assert (lost.reason, lost.id) == ("too-large", "urn:1")
    assert [name for name, _ in types((tmp_path / "b").read_bytes())] == [url(0), url(2)]


def test_records_that_are_no_pages_stay_whatever_they_are(tmp_path: Path) -> None:
    warc = Warc(packed=True)
    warc.info()
    warc.add(url(0), html(0).encode(), WARC_Record_ID="<urn:0>")
    warc.add(url(1), b"", status="404 Not Found")
    warc.add(url(2), b"GIF89a", http=[("Content-Type", "image/gif")])
    warc.add("dns:host.example", b"10.0.0.1", "resource", content_type="text/dns")
    warc.add(url(3), b"", "revisit", WARC_Refers_To="<urn:0>", WARC_Profile="http://netpreserve.org/warc/1.0/revisit")
    warc.add(url(4), b"no HTTP", "response", http=())
    archive = archive_of(put(tmp_path, "a.warc.gz", warc.content))
    write_kept(archive, tmp_path / "b", lambda _: False)
    assert [name for name, _ in types((tmp_path / "b").read_bytes())] == [
        None,
        url(1),
        url(2),
        "dns:host.example",
        url(3),
    ]
