"""``python -m benchmarks seeded-records``: files of records like those of real pages, any number, for ``judge``.

Four of each five pages have a text of their own; the fifth is a copy of an earlier page, chosen evenly among all before
it, on another site, with up to three bits of its fingerprint changed. One in ten texts is not announced by its title.
Numbers, URLs and ids are as long as in a web archive. The same arguments give the same files.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from worker.compose import parts
from worker.config import Settings
from worker.scan.records.files import RecordWriter
from worker.scan.records.schema import SCHEMA, stamped

U64 = NDArray[np.uint64]
_COPY_EACH: Final = 5
_DOUBTED_EACH: Final = 10
_SITES: Final = 100_000
_AT_ONCE: Final = 1 << 16
_ANY: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
_SLOTTED: Final = np.uint64(0x3FFFFFFFFFFFFFFF)
"""The highest two bits tell the kind of a sketch; random ones would mostly be no sketch of any text."""
_FLIPPED: Final = np.array([0, 1, 1 << 40, 1 | 1 << 33 | 1 << 50], np.uint64)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: how many, and where."""
    parser.add_argument("--records", type=int, default=1_000_000, metavar="N", help="in all (default: 1,000,000)")
    parser.add_argument("--file", type=int, default=1_000_000, metavar="N", help="in a file (default: 1,000,000)")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="for the files")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Write the files."""
    settings = load()
    scheme = parts.reading(settings, parts.recipe(settings))
    arguments.out.mkdir(parents=True, exist_ok=True)
    for number, begin in enumerate(range(0, arguments.records, arguments.file)):
        writer = RecordWriter(arguments.out / f"{number:05}.parquet", stamped(scheme))
        end = min(begin + arguments.file, arguments.records)
        for start in range(begin, end, _AT_ONCE):
            numbers = np.arange(start, min(start + _AT_ONCE, end), dtype=np.uint64)
            writer.write(seeded(numbers, f"crawl-data/segments/{number:05}.warc.gz", scheme.id.hex()))
        writer.close({})
    print(f"{arguments.records:,} records in {arguments.out}")
    return 0


def seeded(numbers: U64, file: str, scheme: str) -> pa.RecordBatch:
    """The records of the pages with these numbers."""
    count = len(numbers)
    copied = is_copy(numbers)
    original = np.where(copied, _original(numbers), numbers)
    site, of_original = _mixed(numbers, 3) % _SITES, _mixed(original, 4)
    fingerprint = _mixed(original, 5) ^ np.where(copied, _FLIPPED[_mixed(numbers, 6) % 4], np.uint64(0))
    title = _mixed(original, 7) & np.uint64(0xFFFFFFFE)
    columns = {
        "file": [file] * count,
        "offset": numbers.astype(np.int64) * 20_011,
        "id": [f"<urn:uuid:{high:016x}-{low:016x}>" for high, low in zip(_mixed(numbers, 8), numbers, strict=True)],
        "url": [
            f"https://www.site{one}.example/news/2026/{number % 366}/{number}-{words:016x}.html"
            for one, number, words in zip(site, numbers, of_original, strict=True)
        ],
        "fetched": 1_767_225_600_000 + numbers.astype(np.int64),
        "language": ["latin"] * count,
        "tokens": (100 + of_original % 900).astype(np.int64),
        "fingerprint": fingerprint.view(np.int64),
        "text_hash": (_mixed(original, 9) + copied * numbers).view(np.int64),
        "sketch": _bytes_of(original, 10, _SLOTTED),
        "bands": _bytes_of(original, 20),
        "site": (_mixed(site, 30) >> np.uint64(32)).astype(np.int64),
        "title": title.astype(np.int64),
        "title_words": (_mixed(title, 31) & _mixed(title, 32) & _mixed(title, 33)).view(np.int64),
        "doubt": (of_original % _DOUBTED_EACH == 0).astype(np.int64),
        "template": (_mixed(site, 34) >> np.uint64(32)).astype(np.int64),
        "scope": np.zeros(count, np.int64),
        "scheme": [scheme] * count,
    }
    arrays = [pa.array(columns.get(field.name, [None] * count), field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def is_copy(numbers: U64) -> NDArray[np.bool_]:
    """Which of the pages with these numbers are copies."""
    found: NDArray[np.bool_] = (_mixed(numbers, 1) % _COPY_EACH == 0) & (numbers > 0)
    return found


def _original(numbers: U64) -> U64:
    """An earlier page for each page; it is no copy itself."""
    found = _mixed(numbers, 2) % np.maximum(numbers, 1)
    while (copies := is_copy(found)).any():
        found = np.where(copies, found - np.uint64(1), found)
    return found


def _bytes_of(numbers: U64, seed: int, last: np.uint64 = _ANY) -> pa.Array:
    """Random bytes for each number, 32 each; ``last`` masks the last eight."""
    words = np.stack([_mixed(numbers, seed + word) for word in range(4)], axis=1)
    words[:, 3] &= last
    ends = pa.py_buffer(np.arange(0, 32 * (len(numbers) + 1), 32, dtype=np.int32))
    return pa.Array.from_buffers(pa.binary(), len(numbers), [None, ends, pa.py_buffer(words.tobytes())])


def _mixed(numbers: NDArray[np.integer], seed: int) -> U64:
    """SplitMix64 (Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        mixed = numbers.astype(np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 & (1 << 64) - 1)
        mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        return mixed ^ mixed >> np.uint64(31)
