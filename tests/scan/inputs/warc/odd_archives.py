"""WARC and ARC files with the oddities of other programs' test data, and the expected records of each.

They are made from a seed, so that they are the same each time; ``python -m tests.scan.inputs.warc.odd_archives FOLDER``
writes them for other readers.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import struct
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import brotli
from backports import zstd

SEED: Final = 35
_CRLF: Final = b"\r\n"


@dataclass(frozen=True)
class OddArchive:
    """A file, and the numbers of its records that are pages, passed over, or dead letters, by reason.

    ``warcio`` says why warcio finds another number of pages; empty where it finds the same number.
    """

    name: str
    content: bytes
    pages: int
    passed_over: Mapping[str, int] = field(default_factory=dict)
    dead: Mapping[str, int] = field(default_factory=dict)
    warcio: str = ""


class _Bodies:
    def __init__(self) -> None:
        self._random: Final = random.Random(SEED)
        self._count = 0

    def html(self) -> bytes:
        words = b" ".join(b"w%d" % self._random.randrange(10_000) for _ in range(self._random.randrange(50, 400)))
        return b"<!DOCTYPE html><html><body><p>%s</p></body></html>" % words

    def url(self) -> bytes:
        self._count += 1
        return b"http://host%d.example/page/%d" % (self._random.randrange(9), self._count)


_bodies = _Bodies()


def http(
    body: bytes | None = None,
    *fields: bytes,
    status: bytes = b"HTTP/1.1 200 OK",
    content_type: bytes | None = b"text/html",
    end: bytes = _CRLF,
) -> bytes:
    types = [] if content_type is None else [b"Content-Type: " + content_type]
    return end.join([status, *types, *fields, b"", _bodies.html() if body is None else body])


def warc(
    block: bytes | None = None,
    *fields: bytes,
    kind: bytes = b"response",
    version: bytes = b"1.0",
    url: bytes | None = b"",
    content_type: bytes | None = b"application/http; msgtype=response",
    length: bytes | None = b"",
    end: bytes = _CRLF,
) -> bytes:
    """A record with its end. An empty URL or length stands for a correct one, None for none."""
    block = http() if block is None else block
    head = [b"WARC/" + version, b"WARC-Type: " + kind, b"WARC-Date: 2026-01-02T03:04:05Z"]
    head += [] if url is None else [b"WARC-Target-URI: " + (url or _bodies.url())]
    head += [] if content_type is None else [b"Content-Type: " + content_type]
    head += fields
    head += [] if length is None else [b"Content-Length: " + (length or b"%d" % len(block))]
    return end.join(head) + 2 * end + block + 2 * end


def others() -> list[bytes]:
    """Records that are not pages, one of each type."""
    return [
        warc(b"software: a test\r\n", kind=b"warcinfo", url=None, content_type=b"application/warc-fields"),
        warc(b"GET / HTTP/1.1\r\n\r\n", kind=b"request", content_type=b"application/http; msgtype=request"),
        warc(b"a: b\r\n", kind=b"metadata", content_type=b"application/warc-fields"),
        warc(http(b""), kind=b"revisit"),
        warc(b"rest", kind=b"continuation"),
    ]


_OTHERS: Final = {"warcinfo": 1, "request": 1, "metadata": 1, "revisit": 1, "continuation": 1}


def arc(block: bytes | None = None, url: bytes = b"", more: bytes = b"", kind: bytes = b"text/html") -> bytes:
    """A record with its end; ``more`` holds the additional fields of version 2."""
    block = http() if block is None else block
    return b"%s 10.0.0.1 20010203040506 %s%s %d\n%s\n" % (url or _bodies.url(), kind, more, len(block), block)


def filedesc(version: bytes = b"1 0 a test\nURL IP-address Archive-date Content-type Archive-length\n") -> bytes:
    return b"filedesc://a.arc 0.0.0.0 20010203040506 text/plain %d\n%s\n" % (len(version), version)


V2: Final = b" 200 sha1:ABCDEF - 1234 a.arc"
SPEC2: Final = (
    b"2 0 a test\nURL IP-address Archive-date Content-type Result-code Checksum Location Offset Filename "
    b"Archive-length\n"
)


def chunked(body: bytes, end: bytes = _CRLF, more: int = 0) -> bytes:
    parts = [body[at : at + 300] for at in range(0, len(body), 300)]
    return b"".join(b"%x%s%s%s" % (len(part) + more, end, part, end) for part in parts) + b"0" + 2 * end


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


def members(records: Sequence[bytes]) -> bytes:
    return b"".join(gzip.compress(record, mtime=0) for record in records)


def with_name(content: bytes) -> bytes:
    """A gzip member with a name, a comment and an extra field in its header, as ``gzip`` and WARC 0.18 have them."""
    plain = gzip.compress(content, mtime=0)
    header = b"\x1f\x8b\x08\x1c" + plain[4:10] + struct.pack("<H", 4) + b"sl\0\0" + b"a.warc\0" + b"a comment\0"
    return header + plain[10:]


def plain_files() -> Iterator[OddArchive]:
    """Forms of a WARC's own headers, and of the bytes between its records."""
    three = [warc() for _ in range(3)]
    yield OddArchive("plain.warc", b"".join(three), 3)
    yield OddArchive("lf.warc", b"".join(warc(end=b"\n") for _ in range(3)), 3)
    for version in (b"0.17", b"0.18", b"1.1"):
        yield OddArchive(f"version-{version.decode()}.warc", b"".join(warc(version=version) for _ in range(2)), 2)
    yield OddArchive("types.warc", b"".join([*others(), warc()]), 1, _OTHERS)
    yield OddArchive("unknown-type.warc", warc(kind=b"screenshot") + warc(), 1, {"unknown": 1})
    upper = [warc(b"x", kind=b"resource", content_type=b"text/html") for _ in range(2)]
    for name, change in (("upper", bytes.upper), ("lower", bytes.lower)):
        heads = [head.split(b":", 1) for record in upper for head in record.split(b"\r\n")]
        lines = [b":".join([change(head[0]), head[1]]) if len(head) > 1 else head[0] for head in heads]
        yield OddArchive(f"{name}.warc", b"\r\n".join(lines), 2)
    yield OddArchive("folded.warc", warc(None, b"X-Long: a\r\n\tb\r\n c") + warc(), 2)
    yield OddArchive("latin-1.warc", warc(None, b"X-Name: \xe9\xff") + warc(url=b"http://a.example/\xe9"), 2)
    yield OddArchive("brackets.warc", warc(url=b"<http://a.example/>") + warc(), 2)
    yield OddArchive("blank-lines.warc", b"\r\n\n".join(three), 3)
    yield OddArchive("nothing-between.warc", b"".join(one.rstrip() for one in three), 3, warcio="takes a line for rest")
    yield OddArchive("bom.warc", b"\xef\xbb\xbf" + b"".join(three), 3, warcio="reads nothing behind the mark")
    yield OddArchive(
        "blank-beginning.warc", b"\r\n\r\n" + b"".join(three), 3, warcio="reads nothing behind blank lines"
    )
    yield OddArchive(
        "digests.warc", warc(None, b"WARC-Payload-Digest: sha1:WRONG", b"WARC-Block-Digest: md5:0") + warc(), 2
    )
    yield OddArchive("empty.warc", b"", 0, {"empty": 1})
    yield OddArchive(
        "no-url.warc", warc(url=None) + warc(), 1, dead={"damaged": 1}, warcio="cannot read a response without one"
    )
    web = [warc(b"127.0.0.1", kind=b"resource", url=b"dns:a.example", content_type=b"text/dns")]
    web += [warc(b"a log", kind=b"resource", url=b"metadata://a/b.log", content_type=b"text/plain")]
    web += [warc(b"<p>", kind=b"resource", url=b"urn:pageinfo:x", content_type=b"text/html")]
    web += [warc(b"10 A", kind=b"response", url=b"whois://a.example", content_type=b"application/whois")]
    yield OddArchive("schemes.warc", b"".join([*web, warc()]), 1, {"not-web": 4})
    texts = [warc(b"a text", kind=b"conversion", content_type=b"text/plain") for _ in range(3)]
    yield OddArchive("texts.wet", b"".join(texts), 3)


def lengths() -> Iterator[OddArchive]:
    """Lengths that a record may state."""
    block, two = http(), warc() + warc()
    size = len(block)
    yield OddArchive("length-plus.warc", warc(block, length=b"+%d" % size) + two, 3)
    yield OddArchive("length-spaces.warc", warc(block, length=b"  %d \t" % size) + two, 3)
    yield OddArchive("length-zeros.warc", warc(block, length=b"000%d" % size) + two, 3)
    for name, length in (("trillion", b"1000000000000"), ("sixty-digits", b"9" * 60)):
        content = warc(block, length=length) + two
        yield OddArchive(f"length-{name}.warc", content, 2, dead={"too-large": 1}, warcio="takes the rest for one page")
        content = members([warc(block, length=length), warc(), warc()])
        yield OddArchive(
            f"length-{name}.warc.gz", content, 2, dead={"too-large": 1}, warcio="judges a page that is cut"
        )
    for name, said in (("negative", b"-5"), ("word", b"many"), ("float", b"5.0"), ("none", None)):
        content = warc(block, length=said) + two
        yield OddArchive(f"length-{name}.warc", content, 2, dead={"damaged": 1}, warcio="loses its place")
    content = warc(b"") + two
    yield OddArchive("length-zero.warc", content, 2, dead={"damaged": 1})
    for name, difference in (("short", -5), ("long", 10)):
        content = warc(block, length=b"%d" % (size + difference)) + two
        yield OddArchive(
            f"length-too-{name}.warc", content, 2, dead={"damaged": 1}, warcio="judges what is no whole page"
        )


def responses() -> Iterator[OddArchive]:
    """Forms of HTTP around a page."""
    page, end = _bodies.html(), b"\n"
    yield OddArchive("http-lf.warc", warc(http(end=end)) + warc(http(end=end)), 2)
    yield OddArchive("http-folded.warc", warc(http(None, b"Set-Cookie: a\r\n b")) + warc(), 2)
    yield OddArchive("http-latin-1.warc", warc(http(None, b"Server: \xe9")) + warc(), 2)
    yield OddArchive("http-junk-line.warc", warc(http(None, b"no field at all")) + warc(), 2)
    statuses = [
        b"HTTP/1.0 200 OK",
        b"HTTP/1.1 200",
        b"HTTP/1.1 404 Not Found",
        b"HTTP/1.1 301 Moved",
        b"HTTP/1.1 500 x",
    ]
    yield OddArchive("http-statuses.warc", b"".join(warc(http(status=one)) for one in statuses), 2, {"not-200": 3})
    newer = warc(http(status=b"HTTP/2 200 ")) + warc(http(status=b"http/1.1 200 ok"))
    yield OddArchive("http-2.warc", newer, 2)
    interim = b"HTTP/1.1 100 Continue\r\n\r\n" + http()
    yield OddArchive("http-continue.warc", warc(interim) + warc(), 2, warcio="takes the interim response for the last")
    yield OddArchive("http-none.warc", warc(page) + warc(), 1, dead={"damaged": 1})
    cut = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
    yield OddArchive("http-no-end.warc", warc(cut) + warc(), 1, dead={"damaged": 1})
    types = [
        http(content_type=one) for one in (None, b"image/png", b"text/css", b"application/xhtml+xml", b"TEXT/HTML")
    ]
    yield OddArchive("http-types.warc", b"".join(map(warc, types)), 3, {"not-text": 2})
    for name, payload, *fields in (
        ("chunks", chunked(page), b"Transfer-Encoding: chunked"),
        ("chunks-lf", chunked(page, end), b"transfer-encoding: Chunked"),
        ("chunks-none", page, b"Transfer-Encoding: chunked"),
        ("chunks-wrong", chunked(page, more=7), b"Transfer-Encoding: chunked"),
        ("chunks-cut", chunked(page)[:-9], b"Transfer-Encoding: chunked"),
        ("gzip", gzip.compress(page, mtime=0), b"Content-Encoding: gzip"),
        ("x-gzip", gzip.compress(page, mtime=0), b"Content-Encoding: x-gzip"),
        ("gzip-cut", gzip.compress(page, mtime=0)[:-9], b"Content-Encoding: gzip"),
        (
            "gzip-chunks",
            chunked(gzip.compress(page, mtime=0)),
            b"Content-Encoding: gzip",
            b"Transfer-Encoding: chunked",
        ),
        ("zlib", zlib.compress(page), b"Content-Encoding: deflate"),
        ("raw-deflate", raw_deflate(page), b"Content-Encoding: deflate"),
        ("brotli", brotli.compress(page), b"Content-Encoding: br"),
        ("zstd", zstd.compress(page), b"Content-Encoding: zstd"),
        ("not-gzip", page, b"Content-Encoding: gzip"),
        ("twice", gzip.compress(brotli.compress(page), mtime=0), b"Content-Encoding: br, gzip"),
    ):
        why = "knows an earlier release of brotli" if name == "brotli" else ""
        yield OddArchive(f"http-{name}.warc", warc(http(payload, *fields)) + warc(), 2, warcio=why)


def packed_files() -> Iterator[OddArchive]:
    """Ways in which records lie in members."""
    three = [warc() for _ in range(3)]
    whole = b"".join(three)
    yield OddArchive("members.warc.gz", members(three), 3)
    yield OddArchive("as-a-whole.warc.gz", gzip.compress(whole, mtime=0), 3, warcio="refuses it")
    yield OddArchive("two-a-member.warc.gz", members([three[0] + three[1], three[2]]), 3, warcio="refuses it")
    across = [whole[at : at + 700] for at in range(0, len(whole), 700)]
    yield OddArchive("across-members.warc.gz", members(across), 3)
    yield OddArchive("empty-members.warc.gz", members([three[0], b"", three[1], b"", b"", three[2]]), 3)
    yield OddArchive("names.warc.gz", b"".join(map(with_name, three)), 3)
    yield OddArchive("nothing.warc.gz", gzip.compress(b"", mtime=0), 0)
    yield OddArchive("no-blank-lines.warc.gz", members([one.rstrip() for one in three]), 3)
    yield OddArchive("level-0.warc.gz", b"".join(gzip.compress(one, 0, mtime=0) for one in three), 3)
    yield OddArchive("zeros-behind.warc.gz", members(three) + bytes(512), 3, warcio="cannot read such a file on")
    yield OddArchive("as-a-whole.warc.xz", lzma.compress(whole), 3, warcio="cannot read it")
    yield OddArchive("as-a-whole.warc.bz2", bz2.compress(whole), 3, warcio="cannot read it")
    yield OddArchive("members.warc.zst", b"".join(map(zstd.compress, three)), 3, warcio="cannot read it")


def damaged_files() -> Iterator[OddArchive]:
    """Files that end too early, or hold foreign bytes."""
    first, block = warc(), http()
    last = warc(block)
    at_block = len(last) - len(block) - 4
    for name, cut in (("version", 4), ("header", 60), ("http", at_block + 20), ("body", at_block + len(block) - 30)):
        content, dead = first + last[:cut], {"damaged": 1}
        why = {"http": "", "body": "judges a page that is cut"}.get(name, "gives up at such an end")
        yield OddArchive(f"cut-in-{name}.warc", content, 1, dead=dead, warcio=why)
    yield OddArchive("cut-in-end.warc", first + last[:-3], 2)
    member = gzip.compress(last, mtime=0)
    for name, cut in (("gzip-header", 6), ("member", len(member) // 2), ("checksum", len(member) - 3)):
        content = gzip.compress(first, mtime=0) + member[:cut]
        why = "" if name == "gzip-header" else "judges a page that is cut"
        yield OddArchive(f"cut-in-{name}.warc.gz", content, 1, dead={"damaged": 1}, warcio=why)
    yield OddArchive(
        "junk-behind.warc", first + last + b"trailing junk", 2, dead={"damaged": 1}, warcio="cannot read such a file on"
    )
    yield OddArchive(
        "junk-behind.warc.gz",
        members([first, last]) + b"trailing junk",
        2,
        dead={"damaged": 1},
        warcio="cannot read such a file on",
    )
    content = first + b"junk\r\n" * 30 + last
    yield OddArchive("junk-between.warc", content, 2, dead={"damaged": 1}, warcio="cannot read such a file on")
    broken = gzip.compress(last, mtime=0)
    broken = broken[: len(broken) // 2] + bytes(20) + broken[len(broken) // 2 + 20 :]
    content = gzip.compress(first, mtime=0) + broken + gzip.compress(warc(), mtime=0)
    yield OddArchive("broken-member.warc.gz", content, 2, dead={"damaged": 1}, warcio="cannot read such a file on")


def arc_files() -> Iterator[OddArchive]:
    """ARC, of both versions."""
    info, three = {"warcinfo": 1}, [arc() for _ in range(3)]
    yield OddArchive("version-1.arc", b"".join([filedesc(), *three]), 3, info)
    yield OddArchive("version-1.arc.gz", members([filedesc(), *three]), 3, info)
    yield OddArchive(
        "version-2.arc",
        b"".join([filedesc(SPEC2), arc(more=V2), arc(more=V2)]),
        2,
        info,
    )
    dns = arc(b"20010203 10.0.0.1", b"dns:a.example", kind=b"text/dns")
    yield OddArchive("dns.arc", b"".join([filedesc(), dns, *three]), 3, {**info, "not-web": 1})
    yield OddArchive("no-filedesc.arc", b"".join(three), 3)
    yield OddArchive("blank-in-url.arc", filedesc() + arc(url=b"http://a.example/b c") + three[0], 2, info)
    yield OddArchive("http-lf.arc", filedesc() + arc(http(end=b"\n")) + three[0], 2, info)
    yield OddArchive(
        "nothing-between.arc", filedesc() + b"".join(one[:-1] for one in three), 3, info, warcio="takes a line for rest"
    )
    yield OddArchive("blank-lines.arc", b"\n\n".join([filedesc(), *three]), 3, info)
    statuses = [arc(http(status=b"HTTP/1.0 404 no")), arc(http(content_type=b"image/gif"), kind=b"image/gif")]
    yield OddArchive(
        "statuses.arc", b"".join([filedesc(), *statuses, *three]), 3, {**info, "not-200": 1, "not-text": 1}
    )
    cut = b"".join([filedesc(), *three])[:-100]
    yield OddArchive("cut.arc", cut, 2, info, {"damaged": 1}, warcio="judges a page that is cut")
    content = b"".join([filedesc(), three[0], b"junk\n" * 20, three[1]])
    yield OddArchive("junk-between.arc", content, 2, info, {"damaged": 1}, warcio="cannot read such a file on")
    huge = b"http://a.example/ 10.0.0.1 20010203040506 text/html 1000000000000\n" + http() + b"\n"
    content = b"".join([filedesc(), huge, *three])
    yield OddArchive("length-trillion.arc", content, 3, info, {"too-large": 1}, warcio="takes the rest for one page")
    content = b"".join([filedesc(), arc(_bodies.html()), *three])
    yield OddArchive("http-none.arc", content, 3, info, {"damaged": 1})


def odd_archives() -> list[OddArchive]:
    """All archives, the same at each call."""
    global _bodies
    _bodies = _Bodies()
    groups = (plain_files, lengths, responses, packed_files, damaged_files, arc_files)
    return [odd for group in groups for odd in group()]


def main(folder: Path) -> None:
    """Write the archives, and print their contents."""
    folder.mkdir(parents=True, exist_ok=True)
    for odd in odd_archives():
        (folder / odd.name).write_bytes(odd.content)
        print(f"{odd.name}: {odd.pages} pages, {dict(odd.passed_over)}, {dict(odd.dead)} {odd.warcio}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
