"""An exported index: files of records with the order and the clock of each, and a manifest that is written last.

So an export without a manifest was not finished, and a file whose digest is not in it does not belong to the export.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO, Final

import msgspec
import numpy as np
import pyarrow as pa

from crawler_plugin.wire.errors import Refused, UnreadableRecord, UsageError
from crawler_plugin.wire.messages import Order
from worker.fingerprint.scheme import Scheme, in_words
from worker.fingerprint.sketch import as_keys, as_words
from worker.index.entries import COLUMNS, OPTIONAL, Entries
from worker.operations.copy_index import Row
from worker.operations.import_index import Export
from worker.places import Folder
from worker.scan.records.files import as_usage_error, parquet
from worker.scan.records.schema import SCHEMA, refuse_incomplete

MANIFEST: Final = "_export.json"
"""Readers of a folder of Parquet skip files whose name begins with this."""
EXPORTED: Final = pa.schema([*SCHEMA, *((name, pa.int64()) for name in ("batch", "place", "clock"))])
"""Columns of a survivor's record: ``SCHEMA``, its order, and the watermark just after its batch, in milliseconds."""
_VERSION: Final = 1
_AT_ONCE: Final = 1 << 14


class ExportedFile(msgspec.Struct, frozen=True):
    """A file of an export; ``sha256`` in hexadecimal digits."""

    name: str
    rows: int
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The content of an export: all survivors up to batch ``up_to`` in the order of its files.

    ``watermark`` is as of just after that batch, in milliseconds. ``scheme`` is that of the verdicts, in words, as if
    there were one shard. ``suspects`` are the survivors that were found suspect.
    """

    version: int = _VERSION
    scheme: str
    up_to: int
    watermark: int
    files: Sequence[ExportedFile]
    suspects: Sequence[Order]


class _Sealed(msgspec.Struct):
    manifest: msgspec.Raw
    sha256: str


def seal(target: Folder, manifest: Manifest) -> None:
    """Write the manifest, which ends an export."""
    content = msgspec.json.encode(manifest)
    sealed = _Sealed(msgspec.Raw(content), hashlib.sha256(content).hexdigest())
    target.write(MANIFEST, msgspec.json.encode(sealed))


def whole(source: Folder, scheme: Scheme) -> Export:
    """An export, after its manifest was read and all files were checked against it.

    Raises:
        UsageError: there is no export, or only a part of one.
        Refused: a file is damaged or missing, or the export is of other settings than ``scheme``; the message says
            which.
        Unavailable: the disk, or the network, fails.
    """
    content = source.read(MANIFEST)
    if content is None:
        raise UsageError(
            f"{source} has no {MANIFEST}, which is written when an export is complete: run `python -m worker index "
            "export` again to complete it, or copy all of its files"
        )
    manifest, digest = _manifest(source, content)
    words = Scheme.decode(manifest.scheme.encode())
    if differs := "; ".join(map(in_words, scheme.differences(words))):
        raise Refused(
            f"{source} was exported with other settings: {differs}. Import it with those, or have its survivors judged "
            f"again by the settings in force: `python -m worker index seed {source}`"
        )
    for file in manifest.files:
        if (why := _wrong(source, file)) is not None:
            raise Refused(f"{source}/{file.name} of this export is {why}: copy it again from where it was exported")
    return Export(digest, manifest.watermark, frozenset(manifest.suspects), partial(_all_rows, source, manifest))


def digest_of(file: BinaryIO) -> str:
    """The SHA-256 of all of a file, in hexadecimal digits."""
    file.seek(0)
    digest = hashlib.sha256()
    while part := file.read(1 << 20):
        digest.update(part)
    return digest.hexdigest()


def _wrong(source: Folder, file: ExportedFile) -> str | None:
    size = source.size(file.name)
    if size != file.bytes:
        return "missing" if size is None else "damaged"
    with source.open(file.name) as stream:
        return None if digest_of(stream) == file.sha256 else "damaged"


def _manifest(source: Folder, content: bytes) -> tuple[Manifest, bytes]:
    try:
        sealed = msgspec.json.decode(content, type=_Sealed)
        digest = hashlib.sha256(sealed.manifest).digest()
        if digest.hex() != sealed.sha256:
            raise UnreadableRecord("its checksum does not fit")
        manifest = msgspec.json.decode(sealed.manifest, type=Manifest)
        if manifest.version != _VERSION:
            raise UnreadableRecord(f"format version {manifest.version}, this program reads {_VERSION}")
        Scheme.decode(manifest.scheme.encode())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, UnreadableRecord) as error:
        raise Refused(f"{source}/{MANIFEST} is damaged ({error}): copy it again from where it was exported") from error
    return manifest, digest


def _all_rows(source: Folder, manifest: Manifest) -> Iterator[Row]:
    """All survivors; raises ``UsageError`` if a file holds something else."""
    for file in manifest.files:
        name = f"{source}/{file.name}"
        with source.open(file.name) as stream, as_usage_error(name), parquet(stream) as found:
            if not found.schema_arrow.equals(EXPORTED):
                raise UsageError(f"{name} does not have the columns of an export: export anew")
            for batch in found.iter_batches(_AT_ONCE):
                refuse_incomplete(name, batch)
                yield from _rows(batch)


def _rows(records: pa.RecordBatch) -> Iterator[Row]:
    columns: dict[str, Any] = {
        name: records.column(name).to_numpy().astype((COLUMNS | OPTIONAL)[name])
        for name in ("batch", "place", "tokens", "fetched", "site", "title", "doubt")
    }
    columns |= {
        name: records.column(name).fill_null(0).to_numpy().view(np.uint64)
        for name in ("fingerprint", "text_hash", "scope", "title_words")
    }
    entries = Entries(
        **columns,
        bare=records.column("fingerprint").is_null().to_numpy(zero_copy_only=False),
        url_hash=np.zeros(len(records), np.uint64),  # blocks are made of survivors, which have their URLs
        urls=records.column("url").to_pylist(),
        bands=as_keys(records.column("bands").to_pylist()),
        sketch=as_words(records.column("sketch").to_pylist()),
    )
    for survivor, clock in zip(entries, records.column("clock").to_pylist(), strict=True):
        yield survivor.order, clock, survivor
