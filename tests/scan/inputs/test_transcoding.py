"""Files of rows in other encodings than UTF-8."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import UsageError
from worker.scan.inputs.transcoding import Transcoder, as_utf_8, encoding_of, named_encoding, transcoded
from worker.scan.inputs.unpacking import UnpackedPiece

WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
ROUND: tuple[str, ...] = ("utf-16-le", "utf-16-be", "cp1252", "cp500", "gb18030", "koi8-r")


def pieces(content: bytes, step: int) -> list[UnpackedPiece]:
    return [UnpackedPiece(content[at : at + step]) for at in range(0, len(content), step)]


@given(st.binary(max_size=60), st.sampled_from(ROUND), st.integers(1, 9))
def test_whatever_is_read_is_written_as_it_was(content: bytes, encoding: str, step: int) -> None:
    found = list(transcoded(pieces(content, step), encoding))
    out = io.BytesIO()
    Transcoder(out, encoding).write(b"".join(piece.content for piece in found))
    cut = [piece for piece in found if piece.damage]
    assert content.startswith(out.getvalue())
    assert bool(cut) == (len(out.getvalue()) < len(content)) and len(content) - len(out.getvalue()) < 4


@given(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30),
    st.sampled_from(["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]),
)
def test_a_mark_says_the_encoding_whatever_was_named(text: str, encoding: str) -> None:
    content = ("\ufeff" + text).encode(encoding)
    assert encoding_of(content, "cp1252") == encoding
    assert as_utf_8(content, encoding) == ("\ufeff" + text).encode()


@pytest.mark.parametrize("encoding", WIDE)
def test_without_a_mark_zero_bytes_say_it(encoding: str) -> None:
    assert {encoding_of(text.encode(encoding), None) for text in ('{"a": 1}', "url,text\n", "\n[\n")} == {encoding}


def test_other_files_are_read_as_they_are() -> None:
    for content in (b"", b"a", b"url,text\n", "ü,中文".encode(), b"\0\0\0\0", b"\xef\xbb\xbfa", b"PAR1"):
        assert encoding_of(content, None) is None
    assert encoding_of(b"a,b", "cp1252") == "cp1252" and encoding_of(b"a,b", "utf-8") is None


@pytest.mark.parametrize(("label", "codec"), [("latin1", "cp1252"), ("UTF-16", "utf-16-le"), ("cp500", "cp500")])
def test_an_encoding_has_the_names_that_browsers_and_python_know(label: str, codec: str) -> None:
    assert named_encoding(label) == codec


@pytest.mark.parametrize("label", ["nope", "hex", "rot13", "idna", "undefined", "", "\0", "é"])
def test_what_is_no_encoding_of_text_is_refused(label: str) -> None:
    with pytest.raises(UsageError, match="no encoding has this name; give one as in `windows-1252`"):
        named_encoding(label)


def test_a_file_that_ends_within_a_character_is_damaged_there() -> None:
    *_, last = transcoded([UnpackedPiece("ab".encode("utf-16-le") + b"c", ends=5)], "utf-16-le")
    assert "the file ends within a character of utf-16-le" in last.damage and last.begins == 5
