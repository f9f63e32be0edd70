"""MHTML: which part is the page, and its transfer encoding."""

from __future__ import annotations

import base64
import quopri

import pytest

from worker.scan.inputs.mhtml import is_mhtml, saved_page

PAGE = "<html><body><p>é = ü, a line that is longer than a line of a mail may be, so it is broken</p></body></html>"
HEAD = (
    "From: <Saved by Blink>\nSnapshot-Content-Location: https://a.example/b\nSubject: =?utf-8?Q?c?=\n"
    "Date: Mon, 1 Jan 2024 10:00:00 -0000\nMIME-Version: 1.0\n"
)


def part(content: bytes, *fields: str) -> bytes:
    return "\n".join([*fields, "", ""]).encode() + content


def mail(
    *parts: bytes, head: str = HEAD, kind: str = 'multipart/related;\n\ttype="text/html";\n\tboundary="--x y"'
) -> bytes:
    body = b"".join(b"\n----x y\n" + one for one in parts)
    return f"{head}Content-Type: {kind}\n\n".encode() + body + b"\n----x y--\n"


HTML = part(PAGE.encode(), "Content-Type: text/html; charset=utf-8", "Content-Location: https://a.example/b")
SINGLE = part(PAGE.encode(), "MIME-Version: 1.0", "Content-Location: https://a.example/b", "Content-Type: text/html")
FRAME = part(
    b"<p>a frame</p>", "Content-Type: text/html", "Content-ID: <frame>", "Content-Location: https://c.example/"
)
PICTURE = part(b"\x89PNG\n\n--x y", "Content-Type: image/png", "Content-Transfer-Encoding: binary")


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    ("sent", "coding"),
    [
        (PAGE.encode(), "8bit"),
        (PAGE.encode(), "of-its-own"),
        (quopri.encodestring(PAGE.encode()), "Quoted-Printable"),
        (base64.encodebytes(PAGE.encode()), "BASE64"),
        (base64.encodebytes(PAGE.encode()).replace(b"\n", b"\n \n"), "base64"),
    ],
)
def test_the_page_is_as_it_was_before_it_was_sent(sent: bytes, coding: str, line_end: bytes) -> None:
    html = part(sent, "Content-Type: text/html; charset=utf-8", f"Content-Transfer-Encoding: {coding}")
    content = mail(PICTURE, html).replace(b"\n", line_end)
    assert is_mhtml(content[: 64 * 1024])
    found = saved_page(content)
    assert found is not None and found.url == "https://a.example/b" and found.fetched == 1704103200000
    assert found.body.rstrip().decode() == PAGE and found.content_type == "text/html; charset=utf-8"


@pytest.mark.parametrize(
    ("content", "body", "url"),
    [
        (mail(FRAME, HTML), PAGE, "https://a.example/b"),
        (mail(HTML, FRAME), PAGE, "https://a.example/b"),
        (mail(HTML, FRAME, kind='multipart/related; start="<frame>"; boundary="--x y"'), "<p>a frame</p>", "https://a.example/b"),
        (mail(FRAME, HTML, head="MIME-Version: 1.0\n"), "<p>a frame</p>", "https://c.example/"),
        (mail(part(b"text", "Content-Type: text/plain"), FRAME, head="MIME-Version: 1.0\n"), "<p>a frame</p>", "https://c.example/"),
        (mail(part(b"text", "Content-Type: text/plain"), PICTURE, head="MIME-Version: 1.0\n"), "text", None),
        (mail(HTML)[: -len(b"\n----x y--\n")], PAGE, "https://a.example/b"),
        (mail(mail(HTML, head="", kind="multipart/alternative; boundary=in").replace(b"--x y", b"in"), FRAME), PAGE, "https://a.example/b"),
        (SINGLE, PAGE, "https://a.example/b"),
        (mail(FRAME, head="MIME-Version: 1.0\nSnapshot-Content-Location: cid:frame\n"), "<p>a frame</p>", "https://c.example/"),
    ],
)  # fmt: skip
def test_the_page_is_the_part_that_the_file_starts_with(content: bytes, body: str, url: str | None) -> None:
    assert is_mhtml(content)
    found = saved_page(content)
    assert found is not None and (found.body.decode(), found.url) == (body, url)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"MIME-Version: 1.0\n",
        b"A text: it has\nMIME-Version: 1.0\nwithin it.\n",
        b"Subject: a mail\nMIME-Version: 1.0\nContent-Type: text/plain\n\nHello",
        b"Content-Type: text/html\n\nMIME-Version: 1.0",
    ],
)
def test_other_text_is_no_mhtml(content: bytes) -> None:
    assert not is_mhtml(content)


@pytest.mark.parametrize(
    "content",
    [
        mail(PICTURE),
        mail(),
        mail(HTML, kind="multipart/related"),
        mail(HTML, kind='multipart/related; boundary=""'),
        mail(HTML, kind="multipart/related; boundary=" + ";" * 60_000),
        HEAD.encode() + b"Content-Type: multipart/related; boundary=x\n\n--x\n" * 50_000,
        mail(*[part(b"", "Content-Type: image/png")] * 50_000),
    ],
)  # fmt: skip
@pytest.mark.timeout(60)
def test_a_file_without_a_page_is_told_so_however_it_is_made(content: bytes) -> None:
    assert saved_page(content) is None


def test_a_date_that_is_none_is_left_out() -> None:
    for said in ("", "yesterday", "Mon, 99 Jan 2024 10:00:00 -0000", "9" * 10_000):
        found = saved_page(mail(HTML, head=f"MIME-Version: 1.0\nDate: {said}\n"))
        assert found is not None and found.fetched is None
