"""The first row of a table, and the lines that may precede it."""

from __future__ import annotations

import pytest

from worker.scan.inputs.tables.header import delimiter_of, lines_before_rows


def test_a_column_that_the_user_named_makes_a_table() -> None:
    assert delimiter_of(b"a;b|c;d\n") is None
    assert delimiter_of(b"a;b|c;d\n", ["b|c"]) == ";"


@pytest.mark.parametrize(
    ("header", "delimiter"),
    [
        (b",text\n", ","),  # the index of a data frame
        (b"url,text,text\n", ","),
        (b"url;;text\n", ";"),
        (b"text,,\n", None),
        (b"text,text\n", None),
        (b"sep=;\r\nurl;text\r\n", ";"),
        (b"\xef\xbb\xbf\r\n \nurl\ttext\n", "\t"),
    ],
)
def test_names_may_be_missing_or_stand_there_twice_where_others_say_what_it_is(
    header: bytes, delimiter: str | None
) -> None:
    assert delimiter_of(header) == delimiter


def test_a_header_may_have_lines_in_its_names_and_others_before_it() -> None:
    first = [b"\xef\xbb\xbfsep=,\n", b"\n", b'url,"main\n', b'text",id\n', b"a,b,c\n"]
    assert lines_before_rows(first, ",") == (4, ["url", "main\ntext", "id"])
    assert lines_before_rows([b'url,"text\n', b"a,b\n"], ",")[0] == 1, "a quote that nothing closes"
    assert lines_before_rows([], ",") == (0, [])
