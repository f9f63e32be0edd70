"""A file of dropped items, so that an item that was dropped wrongly is not lost."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from itemadapter import ItemAdapter
from scrapy.exporters import JsonLinesItemExporter


class DroppedItems:
    """Appends JSON lines as Scrapy's feeds have them, each written before its item is dropped.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self._file: Final = Path(path).open("ab+", buffering=0)  # noqa: SIM115  # ``close`` closes it
        self._exporter: Final = JsonLinesItemExporter(self._file, encoding="utf-8")  # type: ignore[arg-type]  # declared too narrowly
        if self._file.tell():  # a crawl that was killed may have left a part of a line
            self._file.seek(-1, os.SEEK_END)
            if self._file.read(1) != b"\n":
                self._file.write(b"\n")

    def write(self, item: Any, field: str | None, told: Mapping[str, Any]) -> None:
        """Add an item with its verdict in the field of this name, whether or not the item declares that field.

        Raises:
            OSError: there is no room.
            Exception: what Scrapy raises for an item that cannot be written as JSON.
        """
        row = ItemAdapter(item).asdict()
        self._exporter.export_item(row if field is None else row | {field: told})

    def close(self) -> None:
        """Close the file: no item is dropped any more."""
        self._file.close()
