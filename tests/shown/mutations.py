"""Pages as broken templates, proxies and full disks produce them: seeded changes to the bytes of real pages."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Final

_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]*>")
_MOST: Final = 8
"""The most changes of one page."""


def mutated(markup: str, seed: int) -> str:
    """The page with some changes of one or several kinds; the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(chance.randint(1, _MOST)):
        markup = chance.choice(_CHANGES)(markup, chance)
    return markup


def _tag(markup: str, chance: random.Random) -> tuple[int, int]:
    """The place of some tag; an empty place where there is none."""
    found = _TAG.search(markup, chance.randrange(len(markup) + 1)) or _TAG.search(markup)
    return found.span() if found else (0, 0)


def _drop(markup: str, chance: random.Random) -> str:
    begin, end = _tag(markup, chance)
    return markup[:begin] + markup[end:]


def _double(markup: str, chance: random.Random) -> str:
    begin, end = _tag(markup, chance)
    return markup[:end] + markup[begin:]


def _swap(markup: str, chance: random.Random) -> str:
    (a, b), (c, d) = sorted((_tag(markup, chance), _tag(markup, chance)))
    return markup[:a] + markup[c:d] + markup[b:c] + markup[a:b] + markup[d:] if b <= c else markup


def _move(markup: str, chance: random.Random) -> str:
    begin, end = _tag(markup, chance)
    tag, rest = markup[begin:end], markup[:begin] + markup[end:]
    place = _tag(rest, chance)[0]
    return rest[:place] + tag + rest[place:]


def _break_attributes(markup: str, chance: random.Random) -> str:
    begin, end = _tag(markup, chance)
    if end - begin < 4:
        return markup
    place = chance.randrange(begin + 2, end - 1)
    return markup[:place] + chance.choice(("'", '"', "=", " ", "/", "<", "\0", "\n")) + markup[place:]


def _cut(markup: str, chance: random.Random) -> str:
    return markup[: chance.randrange(len(markup) // 2, len(markup) + 1)]


def _take_out(markup: str, chance: random.Random) -> str:
    begin = chance.randrange(len(markup) + 1)
    return markup[:begin] + markup[begin + chance.randrange(2000) :]


def _flip(markup: str, chance: random.Random) -> str:
    if not markup:
        return markup
    place = chance.randrange(len(markup))
    return markup[:place] + chr(ord(markup[place]) ^ 1 << chance.randrange(7)) + markup[place + 1 :]


_CHANGES: Final[tuple[Callable[[str, random.Random], str], ...]] = (
    *(_drop, _drop, _double, _swap, _move, _break_attributes, _flip, _cut, _take_out),
)
