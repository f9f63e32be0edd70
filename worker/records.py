"""Records of pages for engines that have files and machines of their own: Spark, Ray, Dask, a shell.

``pages`` reads archives as ``python -m worker scan`` does, ``fingerprint`` makes records of pages, and
``python -m worker judge`` gives verdicts on any number of records. All of it is in ``worker.scan.records``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from worker.config import Settings
from worker.scan.inputs.fields import Fields
from worker.scan.records.pages import PAGES, archived, records_of
from worker.scan.records.schema import SCHEMA

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PAGES", "SCHEMA", "fingerprint", "pages"]


def fingerprint(batch: pa.RecordBatch, settings: Settings | None = None) -> pa.RecordBatch:
    """The records of pages: a row of ``SCHEMA`` for each row of ``PAGES``, in their order.

    A pure function, which reads no files except those that ``settings`` name: without any settings, the defaults hold,
    whatever settings lie on this machine. A page that cannot be read is a record that says so. Pages are read in this
    process, and only their length bounds the time and memory; the first call of a process takes a second, and on a
    machine that has never run it half a minute more.

    Raises:
        ValueError: a column is not one of a page's, or has a type that cannot become that of the page's.
        UsageError: a file that the settings name cannot be read.

    >>> import pyarrow
    >>> batch = pyarrow.RecordBatch.from_pylist([{"url": "https://a.example/", "text": "the same words " * 30}])
    >>> records = fingerprint(batch)
    >>> records["tokens"].to_pylist(), records["language"].to_pylist()
    ([90], ['latin'])
    """
    return records_of(batch, settings or Settings())


def pages(*inputs: str, settings: Settings | None = None, **fields: str) -> Iterator[pa.RecordBatch]:
    """The pages of archives, in batches of the schema ``PAGES``.

    Args:
        inputs: files, folders, patterns and URLs, as for ``python -m worker scan``.
        settings: ``topics.max_message_bytes`` of these bounds a page.
        fields: ``url``, ``body``, ``text`` or ``id`` = the name of the column or field that holds it.

    Raises:
        UsageError: an input is not there, cannot be read, or has no known form.
        Unavailable: the disk, or the network, fails while it is read.
    """
    return archived(inputs, settings or Settings(), Fields(**fields))
