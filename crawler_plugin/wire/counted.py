"""Numbers of things in messages. A leaf."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """The number in front of its words, as in ``1 page`` and ``2,000 pages``; without ``many`` an s is added."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
