"""Header lines, however they are written."""

from __future__ import annotations

import pytest

from worker.scan.inputs.header_lines import headers_at


@pytest.mark.parametrize("line_end", [b"\r\n", b"\n"])
def test_lines_end_with_either_line_end(line_end: bytes) -> None:
    content = line_end.join([b"A: 1", b"B-c:2", b"a : 3", b"", b"body\n\nrest"])
    headers, end = headers_at(content, 0)
    assert headers.fields == (("a", "1"), ("b-c", "2"), ("a", "3"))
    assert headers.get("A") == "1" and headers.all("a") == ["1", "3"] and headers.get("b") is None
    assert end is not None and content[end:] == b"body\n\nrest"


def test_a_line_that_begins_with_a_blank_goes_on_with_the_one_before_it() -> None:
    headers, _ = headers_at(b" lost\nA: 1\r\n\t2\n 3\n\n", 0)
    assert headers.get("a") == "1 2 3"


def test_values_that_are_no_utf_8_are_latin_1() -> None:
    headers, _ = headers_at("A: é\nB: ".encode() + b"\xe9\n\n", 0)
    assert headers.fields == (("a", "é"), ("b", "é"))


@pytest.mark.parametrize(
    ("content", "rest"),
    [
        (b"A: 1\nno field\nB: 2\n\nbody", b"body"),
        (b"A: 1\n<html>\n\n", b"<html>\n\n"),
        (b"\nbody", b"body"),
        (b"A: 1\nB: 2\n", None),
        (b"A: 1\rB: 2\r\rbody", None),
        (b"", None),
    ],
)
def test_the_header_ends_at_a_blank_line_or_where_markup_begins(content: bytes, rest: bytes | None) -> None:
    _, end = headers_at(content, 0)
    assert (None if end is None else content[end:]) == rest
