"""Files of rows in other encodings than UTF-8: they are read, and written, as if they were in UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import IO, Final

from crawler_plugin.wire.errors import UsageError
from worker.page.charsets import codec_of
from worker.scan.inputs.unpacking import UnpackedPiece

BOM: Final = codecs.BOM_UTF8
_MARKS: Final = (  # those of UTF-32 first: that of UTF-16 is a part of one
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE: Final = {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}


def named_encoding(label: str) -> str:
    """Python's codec for the user's name of an encoding.

    Raises:
        UsageError: there is no encoding of this name.
    """
    name = codec_of(label)
    if name is None:
        with suppress(LookupError, ValueError):
            b"a".decode(label, "replace")  # codecs that turn bytes into bytes are refused
            codecs.getincrementaldecoder(label)(_errors(label)).decode(b"a")
            name = codecs.lookup(label).name
    if name is None:
        raise UsageError(f"--encoding {label}: no encoding has this name; give one as in `windows-1252` or `utf-16`")
    return _WIDE.get(name, name)


def encoding_of(beginning: bytes, named: str | None) -> str | None:
    """The encoding that a file with this beginning must be transcoded from; None if its bytes are read as they are.

    A byte order mark counts first, then the user's choice, then the zero bytes of the first two characters in UTF-16
    and UTF-32: these characters are ASCII in every table and all JSON.
    """
    for mark, codec in _MARKS:
        if beginning.startswith(mark):
            return codec
    if beginning.startswith(BOM):
        return None
    if named is not None:
        return None if named.startswith("utf-8") else named
    for step, little, big in ((4, "utf-32-le", "utf-32-be"), (2, "utf-16-le", "utf-16-be")):
        zeros = [not byte for byte in beginning[: 2 * step]]
        if len(zeros) == 2 * step and zeros.count(False) == 2:
            if not (zeros[0] or zeros[step]):
                return little
            if not (zeros[step - 1] or zeros[-1]):
                return big
    return None


def as_utf_8(beginning: bytes, encoding: str) -> bytes:
    """The first bytes of a file, as ``transcoded`` yields them."""
    decoder = codecs.getincrementaldecoder(encoding)(_errors(encoding))
    return _utf_8(decoder.decode(beginning), encoding)


def transcoded(pieces: Iterable[UnpackedPiece], encoding: str) -> Iterator[UnpackedPiece]:
    """The pieces of a file in UTF-8. Bytes that are no character of the encoding are not UTF-8, either, and
    ``Transcoder`` writes them as they were; the same goes for all characters that share one code."""
    decoder = codecs.getincrementaldecoder(encoding)(_errors(encoding))
    ends = 0
    for piece in pieces:
        ends = piece.ends or ends
        if piece.damage:
            decoder.reset()
            yield piece
        else:
            yield piece._replace(content=_utf_8(decoder.decode(piece.content), encoding))
    if decoder.getstate()[0]:
        yield UnpackedPiece(b"", ends, damage=f"the file ends within a character of {encoding}")
    else:
        yield UnpackedPiece(_utf_8(decoder.decode(b"", final=True), encoding))


class Transcoder:
    """Writes whole lines of UTF-8 in another encoding."""

    def __init__(self, target: IO[bytes], encoding: str) -> None:
        self._target: Final = target
        self._encoding: Final = encoding

    def write(self, content: bytes) -> None:
        """Write ``content``, which must end where a character does."""
        errors = _errors(self._encoding)
        self._target.write(content.decode("utf-8", errors).encode(self._encoding, errors))


def _utf_8(text: str, encoding: str) -> bytes:
    return text.encode("utf-8", _errors(encoding))


def _errors(encoding: str) -> str:
    """Apart from characters, UTF-16 and UTF-32 can hold only halves of surrogate pairs."""
    return "dedup-pass" if encoding.startswith(("utf-16", "utf-32")) else "dedup-escape"


def _or_replace(handler: str) -> Callable[[UnicodeError], tuple[str | bytes, int]]:
    """An error handler that handles everything that the named one does not."""
    named, replace = codecs.lookup_error(handler), codecs.lookup_error("replace")

    def handle(error: UnicodeError) -> tuple[str | bytes, int]:
        try:
            return named(error)
        except UnicodeError:
            return replace(error)

    return handle


codecs.register_error("dedup-pass", _or_replace("surrogatepass"))
codecs.register_error("dedup-escape", _or_replace("surrogateescape"))
