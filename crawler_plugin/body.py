"""The bytes of a page in an item that is also logged and exported."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, eq=False)
class PageBody:
    """Holds ``content`` and shows only its size, in Scrapy's log of items and in feeds of every format.

    A JSON feed cannot hold bytes, and in the log they would print whole pages. A feed takes this object for an item in
    the item, with one field: ``content`` is an attribute and not one of the dataclass's fields.
    """

    size: int

    def __init__(self, content: bytes) -> None:
        self.size = len(content)
        self.content = content
