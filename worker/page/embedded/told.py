"""What JSON tells of one thing: its title and its texts."""

from __future__ import annotations

from typing import NamedTuple


def names(spelled: str) -> frozenset[str]:
    """Those in a list of them."""
    return frozenset(spelled.split())


class Told(NamedTuple):
    """``texts`` are as they stand in the JSON, in its order, ``words`` how many they have as shown."""

    title: str | None
    texts: tuple[str, ...]
    words: int
    origin: str
