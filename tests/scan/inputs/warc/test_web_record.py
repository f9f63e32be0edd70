"""The data in the headers of WARC and ARC records."""

from __future__ import annotations

import pytest

from worker.scan.inputs.warc.web_record import ARC, WARC

HEAD = b"WARC/1.0\r\nWARC-Type: response\r\n"


@pytest.mark.parametrize(
    ("field", "size"),
    [
        (b"Content-Length: 5", 5),
        (b"content-length:5", 5),
        (b"CONTENT-LENGTH : +5  ", 5),
        (b"Content-Length:\r\n 5", 5),
        (b"Content-Length: 0005", 5),
        (b"Content-Length: 0", 0),
        (b"Content-Length: 1000000000000", 10**12),
        (b"Content-Length: 1" + b"0" * 60, 10**60),
        (b"Content-Length: 5\r\nContent-Length: 7", 5),
        (b"Content-Length: -5", None),
        (b"Content-Length: 5.0", None),
        (b"Content-Length: 0x5", None),
        (b"Content-Length: 1" + b"0" * 5000, None),
        (b"Content-Length:", None),
        (b"Content-Longth: 5", None),
        (b"WARC-Date: x\r\nWARC/1.0\r\nWARC-Type: response\r\nContent-Length: 5", None),
    ],
)
def test_the_size_of_a_warc_record_is_its_header_s(field: bytes, size: int | None) -> None:
    record = HEAD + field + b"\r\n\r\n"
    found = WARC.size(record + b"abcde\r\n\r\n", len(record) + 9)
    assert found == (None if size is None else len(record) + size)
    assert WARC.size(record, len(record) - 1) is None


@pytest.mark.parametrize("version", [b"0.17", b"0.18", b"1.0", b"1.1", b"1.1 "])
@pytest.mark.parametrize("line_end", [b"\r\n", b"\n"])
def test_every_version_of_a_warc_begins_a_record(version: bytes, line_end: bytes) -> None:
    record = line_end.join(
        [b"WARC/" + version, b"WARC-Type : Response", "WARC-Target-URI: <http://a.example/é>".encode()]
    )
    record += line_end + b"content-length: 1" + line_end * 2 + b"x"
    assert WARC.begins(record, 0) and WARC.start.search(b"junk" + record)
    assert WARC.size(record, len(record)) == len(record)
    found = WARC.read(record)
    assert (found.kind, found.url, found.block) == ("response", "http://a.example/é", b"x")


def test_a_type_that_no_standard_knows_is_unknown() -> None:
    assert WARC.read(b"WARC/1.0\r\nWARC-Type: of-its-own\r\n\r\n").kind == "unknown"
    assert WARC.read(b"WARC/1.0\r\n\r\n").kind == "unknown"


ARC_LINES = {
    b"http://a.example/ 1.2.3.4 20010203040506 text/html 5\n": ("response", "http://a.example/"),
    b"http://a.example/b c 1.2.3.4 20010203040506 text/html; charset=x 5\n": ("response", "http://a.example/b c"),
    b"http://a.example/ 1.2.3.4 20010203040506 text/html 200 sha1:ABC - 77 a.arc 5\r\n": (
        "response",
        "http://a.example/",
    ),
    b"https://a.example/ 2001:db8::1 20010203040506  5\n": ("response", "https://a.example/"),
    b"dns:a.example - 20010203040506 text/dns 5\n": ("resource", "dns:a.example"),
    b"ftp://a.example/x 0.0.0.0 20010203040506 text/html 5\n": ("resource", "ftp://a.example/x"),
    b"filedesc://a.arc 0.0.0.0 20010203040506 text/plain 5\n": ("warcinfo", "filedesc://a.arc"),
}


@pytest.mark.parametrize("line", list(ARC_LINES))
def test_an_arc_record_is_a_line_and_as_many_bytes_as_that_says(line: bytes) -> None:
    kind, url = ARC_LINES[line]
    assert ARC.begins(line, 0) and ARC.size(line + b"abcde\n", len(line)) == len(line) + 5
    found = ARC.read(line + b"abcde")
    assert (found.kind, found.url, found.block, found.fetched) == (kind, url, b"abcde", 981173106000)
    if b"; " not in line and b"  " not in line:
        assert ARC.start.search(b"junk\n" + line)
    assert not ARC.start.search(b"junk " + line)


@pytest.mark.parametrize(
    "line",
    [
        b"http://a.example/ 1.2.3.4 20010203040506 text/html 5",
        b"http://a.example/ 1.2.3.4 20010203040506 text/html -5\n",
        b"http://a.example/ 1.2.3.4 text/html 5\n",
        b"a sentence: of 1.2.3.4 words\n",
        b"http://" + b"a" * 5000 + b" 1.2.3.4 20010203040506 text/html 5\n",
        b"\n",
        b"",
    ],
)
def test_other_lines_begin_no_arc_record(line: bytes) -> None:
    assert not ARC.begins(line, 0) and ARC.size(line, len(line)) is None


def test_an_arc_s_date_may_be_short_or_none() -> None:
    read = [ARC.read(b"http://a.example/ 1.2.3.4 %s text/html 0\n" % date) for date in (b"20010203", b"20011303040506")]
    assert [one.fetched for one in read] == [981158400000, None]
