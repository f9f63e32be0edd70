"""Finds the kind of a file by its first bytes. Its name counts only where they say nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final, Literal

from worker.scan.inputs.mhtml import is_mhtml
from worker.scan.inputs.opening import StoredFile
from worker.scan.inputs.tables.header import delimiter_of
from worker.scan.inputs.transcoding import as_utf_8, encoding_of
from worker.scan.inputs.unpacking import BZIP2, GZIP, XZ, ZSTD, Compression, compression_of, pieces
from worker.scan.inputs.wacz import ZIP_STARTS
from worker.scan.inputs.warc.web_record import ARC, WARC

Kind = Literal[
    "warc", "arc", "jsonl", "array", "csv", "parquet", "zip", "html", "mhtml", "text", "json", "empty", "damaged",
    "unknown",
]  # fmt: skip

_SAMPLE: Final = 64 * 1024
_PARQUET: Final = b"PAR1"
_OBJECT: Final = re.compile(rb'[ \t]*\{[ \t]*["}]')
_ARRAY: Final = re.compile(rb'\s*+\[\s*+(?:[{"]|\[\s*+[{"]|\]\s*+\Z)')
_ONE_OBJECT: Final = re.compile(rb"\s*+\{[ \t\r]*+\n")
_ROWS: Final = ("jsonl", "array", "csv")
_MARKUP: Final = re.compile(rb"\s*<[a-z!?/]", re.IGNORECASE)
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
"""Bytes that occur in no text except UTF-16; escape sequences of ISO-2022 do not count."""
_BOMS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_BY_NAME: Final[dict[str, Kind]] = {
    ".warc": "warc",
    ".wet": "warc",
    ".wat": "warc",
    ".arc": "arc",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".jl": "jsonl",
}
_SAID_BY_NAME: Final = {
    ".warc": "WARC",
    ".wet": "WARC",
    ".wat": "WARC",
    ".arc": "ARC",
    ".wacz": "WACZ",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".jl": "JSON lines",
    ".json": "JSON",
    ".parquet": "Parquet",
    ".csv": "CSV",
    ".tsv": "CSV",
}
"""Names of files that hold many pages."""
_PAGES: Final[Mapping[Kind, str]] = {"html": "HTML", "mhtml": "MHTML", "text": "text"}
_PACKED_BY_NAME: Final = {".gz": GZIP, ".zst": ZSTD, ".xz": XZ, ".bz2": BZIP2}


def kind_of(
    file: StoredFile, names: Collection[str | None] = (), encoding: str | None = None
) -> tuple[Kind, Compression | None]:
    """The kind of a file, and its packing. ``names`` are columns that the user expects, in addition to the known ones,
    ``encoding`` is that of files of rows.

    Raises:
        UsageError: it cannot be opened.
        Unavailable: it cannot be read.
    """
    reading = file.open()
    try:
        beginning = reading.read(_SAMPLE)
    finally:
        reading.close()
    if not beginning:
        return "empty", None
    if beginning.startswith(_PARQUET):
        return "parquet", None
    if beginning.startswith(ZIP_STARTS):
        return "zip", None
    stem, packed_by_name = _parts(file.name)
    compression = compression_of(beginning)
    content, is_damaged = (beginning, False) if compression is None else _unpacked(file, compression)
    if is_damaged and not content:
        return "damaged", compression
    kind = _kind_in(encoding_of(content, encoding), content, names)
    if kind in ("unknown", "empty") and stem in _BY_NAME:
        # Its first bytes are damaged: the rest may be whole.
        return _BY_NAME[stem], compression or packed_by_name
    if kind == "text" and stem in (".csv", ".tsv"):
        return "csv", compression  # its columns have unknown names: the error message names them
    return kind, compression


def contradiction(name: str, kind: Kind) -> str:
    """Why a file does not count as one page although its name says that it holds many; empty where it does.

    Such a file is an error page that was saved in the place of an archive, or an archive with a damaged beginning: one
    page from it would hide that all others are missing.
    """
    said = _SAID_BY_NAME.get(_parts(name)[0])
    if said is None or kind not in _PAGES:
        return ""
    return (
        f"{name} has the name of {said}, but its content is one page of {_PAGES[kind]}: get the file anew, or give it "
        "a name that fits"
    )


def kind_of_content(content: bytes, names: Collection[str | None] = ()) -> Kind:
    """The kind of a file that begins with these bytes, unpacked."""
    if not content.strip():
        return "empty"
    begin = len(content) - len(content.removeprefix(_BOMS[0]).lstrip())
    if WARC.begins(content, begin):
        return "warc"
    if ARC.begins(content, begin):
        return "arc"
    text = content.removeprefix(_BOMS[0])
    is_text = content.startswith(_BOMS) or not _CONTROL.search(content)
    later = [bool(_OBJECT.match(line)) for line in text.split(b"\n")[1:] if line.strip()]
    are_most = sum(later) > len(later) // 2
    if _ARRAY.match(text) and not (are_most and text.split(b"\n", 1)[0].rstrip().endswith(b"]")):
        return "array"
    if _OBJECT.match(text.lstrip()) or are_most:
        return "jsonl"
    if _MARKUP.match(text) and is_text:
        return "html"
    if is_mhtml(text):
        return "mhtml"
    for form in (WARC, ARC):
        if form.start.search(content):  # after a damaged beginning
            return form.name
    if not is_text:  # zero bytes within cells are no reason to refuse a table
        first = text.split(b"\n")[0]
        return "csv" if not _CONTROL.search(first) and delimiter_of(first, names) else "unknown"
    if _ONE_OBJECT.match(text):
        return "json"
    return "csv" if delimiter_of(text, names) else "text"


def _kind_in(encoding: str | None, content: bytes, names: Collection[str | None]) -> Kind:
    """The kind of a file whose rows are in this encoding; a page in it stays as it is."""
    if encoding is not None and (kind := kind_of_content(as_utf_8(content, encoding), names)) in _ROWS:
        return kind
    return kind_of_content(content, names)


def _unpacked(file: StoredFile, compression: Compression) -> tuple[bytes, bool]:
    """The first bytes that can be unpacked, and whether there is damage before them."""
    reading = file.open()
    content, is_damaged = b"", False
    try:
        for piece in pieces(reading, compression):
            content += piece.content
            is_damaged |= bool(piece.damage)
            if len(content) >= _SAMPLE or (reading.position > 64 * _SAMPLE and not content):
                break
    finally:
        reading.close()
    return content[:_SAMPLE], is_damaged


def _parts(name: str) -> tuple[str, Compression | None]:
    """The suffix of the form, and the packing by the suffix after it."""
    words = name.lower().rpartition("/")[2].split(".")
    packed = _PACKED_BY_NAME.get("." + words[-1])
    if packed is not None:
        words.pop()
    return ("." + words[-1] if len(words) > 1 else ""), packed
