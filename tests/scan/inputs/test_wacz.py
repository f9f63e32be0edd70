"""WACZ: the WARCs in it are read as if they lay in a folder, whatever else the ZIP holds."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import UsageError
from tests.scan.inputs.written import MOST, broken_of, html, pages_of, put, url, warc_of, write_kept
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.inputs.opening import DamagedFile, stored
from worker.scan.inputs.records import Archive
from worker.scan.inputs.wacz import wacz_members

WARC = warc_of(3, packed=True)
AROUND = {
    "datapackage.json": b"{}",
    "indexes/index.cdx.gz": gzip.compress(b"cdx"),
    "pages/pages.jsonl": b'{"url": "a"}\n',
}


def wacz(members: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return out.getvalue()


def found_in(path: Path) -> list[Archive]:
    return find_archives([str(path)], Fields(), most_bytes=MOST)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_each_warc_of_a_wacz_is_an_archive(method: int, tmp_path: Path) -> None:
    content = wacz(AROUND | {"archive/a.warc.gz": WARC, "archive/b.warc": warc_of(2), "archive/": b""}, method)
    path = put(tmp_path, "c.wacz", content)
    first, second = found_in(path)
    assert (first.name, first.form) == (f"{path}/archive/a.warc.gz", "warc+gz")
    assert (second.name, second.form, second.bytes_in_all) == (f"{path}/archive/b.warc", "warc", len(warc_of(2)))
    assert [page.page.url for page in pages_of(first)] == [url(0), url(1), url(2)]
    assert [page.page.url for page in pages_of(second)] == [url(0), url(1)]
    assert list(first.records()) == list(first.records()) and not broken_of(first)
    offset = pages_of(first)[1].place.offset
    assert gzip.decompress(WARC[offset:]).startswith(b"WARC/1.")


def test_pages_that_stay_are_written_as_warcs_in_a_folder_of_the_wacz_s_name(tmp_path: Path) -> None:
    (archive,) = found_in(put(tmp_path, "c.wacz", wacz({"archive/a.warc.gz": WARC})))
    assert archive.below == "c.wacz/a.warc.gz"
    write_kept(archive, tmp_path / "kept", lambda page: page.page.url != url(1))
    (kept,) = found_in(tmp_path / "kept")
    assert [page.page.url for page in pages_of(kept)] == [url(0), url(2)]


def test_within_a_folder_a_wacz_costs_no_other_file(tmp_path: Path) -> None:
    put(tmp_path, "in/a.html", html(1).encode())
    put(tmp_path, "in/b.wacz", wacz({"archive/a.warc": warc_of(2), "archive/no.warc": b"<html>not found</html>"}))
    put(tmp_path, "in/c.zip", wacz({"a.html": b"<p>"}))
    put(tmp_path, "in/d.wacz", wacz({"archive/a.warc": warc_of(2)})[:-30])
    pages, warc = found_in(tmp_path / "in")
    assert [page.id for page in pages_of(pages)] == ["a.html"] and len(pages_of(warc)) == 2
    assert [(one.reason, one.place.file.removeprefix(f"{tmp_path}/in/")) for one in broken_of(pages)] == [
        ("no-page", "b.wacz/archive/no.warc"),
        ("no-page", "c.zip"),
        ("damaged", "d.wacz"),
    ]


def test_a_zip_without_warcs_is_refused_where_it_was_named(tmp_path: Path) -> None:
    for members in ({}, AROUND, {"a.html": b"<p>"}):
        with pytest.raises(UsageError, match="no WARC in it: unpack it"):
            found_in(put(tmp_path, "c.zip", wacz(members)))


def test_names_in_a_zip_lead_nowhere_else(tmp_path: Path) -> None:
    names = [
        "archive/../../../up.warc",
        "/root.warc",
        "archive/..",
        "archive/" + "n" * 300 + ".warc",
        "archive/a\nb.warc",
    ]
    members = wacz_members(stored(str(put(tmp_path, "c.wacz", wacz(dict.fromkeys(names, warc_of(1)))))))
    assert [member.below for member in members] == [
        "c.wacz/up.warc", "c.wacz/root.warc", "c.wacz/member", "c.wacz/" + "n" * 55 + ".warc", "c.wacz/a\nb.warc"
    ]  # fmt: skip


def test_a_member_without_a_name_is_passed_over(tmp_path: Path) -> None:
    content = wacz({"QQ": b"", "archive/": b"", "archive/a.warc": warc_of(1)}).replace(b"QQ", b"\0Q")
    assert [member.below for member in wacz_members(stored(str(put(tmp_path, "c.wacz", content))))] == ["c.wacz/a.warc"]


def test_a_wacz_within_a_wacz_is_named(tmp_path: Path) -> None:
    inner = wacz({"archive/a.warc": warc_of(1)})
    broken, warc = found_in(put(tmp_path, "c.wacz", wacz({"one.wacz": inner, "archive/b.warc": warc_of(1)})))
    assert len(pages_of(warc)) == 1
    (one,) = broken_of(broken)
    assert one.reason == "no-page"
    assert one.detail.startswith(f"{tmp_path}/c.wacz/one.wacz lies where a WACZ has WARCs, but is none")


def test_what_is_packed_twice_to_unpack_to_anything_is_named_and_not_unpacked(tmp_path: Path) -> None:
    bomb = gzip.compress(warc_of(1) + bytes(50_000_000))
    (archive,) = found_in(put(tmp_path, "c.wacz", wacz({"archive/a.warc.gz": bomb}, zipfile.ZIP_DEFLATED)))
    assert [one.reason for one in broken_of(archive)] == ["damaged"] and not pages_of(archive)


def test_a_list_of_members_that_is_too_large_is_not_held(tmp_path: Path) -> None:
    content = wacz(dict.fromkeys((f"archive/{'n' * 60_000}{number}.warc" for number in range(150)), b""))
    with pytest.raises(DamagedFile, match="list of members has 9"):
        wacz_members(stored(str(put(tmp_path, "c.wacz", content))))


def with_central(content: bytes, offset: int, value: bytes) -> bytes:
    """The ZIP with other bytes in the entry of the first member in the list at its end."""
    begin = content.rindex(b"PK\x01\x02") + offset
    return content[:begin] + value + content[begin + len(value) :]


ONE = wacz({"archive/a.warc": warc_of(3)}, zipfile.ZIP_DEFLATED)
DATA = ONE.index(b"a.warc") + 30


@pytest.mark.parametrize(
    "content",
    [
        ONE[:DATA] + b"\xff" * 20 + ONE[DATA + 20 :],  # the packed bytes
        with_central(ONE, 16, b"\1\2\3\4"),  # its checksum
        with_central(ONE, 8, b"\1\0"),  # a password
        with_central(ONE, 10, struct.pack("<H", 14)),  # LZMA
        with_central(ONE, 10, struct.pack("<H", 99)),
        with_central(ONE, 42, b"\xff\xff\xff\x7f"),  # its offset
        with_central(ONE, 24, struct.pack("<I", 100)),  # its size
        with_central(ONE, 20, struct.pack("<I", 100)),
        ONE[:4] + b"\0" * 26 + ONE[30:],
    ],
)
def test_a_member_that_cannot_be_read_is_named(content: bytes, tmp_path: Path) -> None:
    found = found_in(put(tmp_path, "c.wacz", content))
    assert not any(pages_of(archive) for archive in found)
    broken = [one for archive in found for one in broken_of(archive)]
    assert broken and {one.reason for one in broken} == {"damaged"}


def test_no_file_stays_open(tmp_path: Path) -> None:
    path = put(tmp_path, "c.wacz", wacz({f"archive/{number}.warc": warc_of(1) for number in range(5)}))
    before = len(list(Path("/proc/self/fd").iterdir()))
    archives = found_in(path)
    for archive in archives:
        assert len(pages_of(archive)) == 1
    assert len(list(Path("/proc/self/fd").iterdir())) == before
