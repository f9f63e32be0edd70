"""The bytes of a page in an item that is logged and exported, too."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, eq=False)
class PageBody:
    """Holds ``content`` and shows its size alone, in Scrapy's log of items and in feeds of every format.

    Bytes themselves are no value for a JSON feed, and fill the log with pages. A feed takes this for an item in the
    item, with one field: ``content`` is an attribute and none of the dataclass's fields.
    """

    size: int

    def __init__(self, content: bytes) -> None:
        self.size = len(content)
        self.content = content
