"""The table of titles in readable form, with which tests compare the compiled one, mark for mark and row for row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from crawler_plugin.wire.messages import EVIDENCE_BYTES, Claim
from worker.fingerprint.scoped import ANNOUNCED, TEMPLATE, alike
from worker.fingerprint.sketch import BANDS
from worker.verdict.titles_of_texts import START

SEVERAL: Final = 2
_KEPT: Final = 3
_PAIRS: Final = tuple(combinations((0, 16, 32, 48), 2))
_QUARTER: Final = (1 << 16) - 1
_KEYS: Final = Struct(f"<{BANDS}I")
_ROW: Final = Struct(f"<QIIQ{BANDS}I")
_TURN: Final = bytes(EVIDENCE_BYTES)
_M32: Final = (1 << 32) - 1


class _Title(NamedTuple):
    """The numbers that stand in a claim for a title and for its words."""

    title: int
    words: int


_Generation: TypeAlias = dict[int, tuple[_Title, ...]]
"""Maps a key, with the site and scope of its text, to its titles."""
_Keys: TypeAlias = tuple[int, ...]


class TitlesByDefinition:
    """A table of at most ``most`` keys, and as many earlier ones.

    A key is searched in the young generation, then in the old one, from which it is moved to the young one. When the
    young generation is full, it becomes the old one, and the keys of the previous old one are forgotten.
    """

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._young: _Generation = {}
        self._old: _Generation = {}
        self._count = 0
        self.told = b""

    def __len__(self) -> int:
        """The number of keys in the young generation."""
        return self._count

    def mark(self, claim: Claim) -> int:
        """How far the claim's text is doubted by the counts so far. Then the claim is counted too, and ``told`` has the
        rows with which ``learn`` gets to the same state, none where nothing changed."""
        self.told = b""
        if not claim.site or claim.doubt == TEMPLATE:
            return claim.doubt
        whose, title, keys = _whose(claim), _Title(claim.title, claim.title_words), _keys_of(claim)
        is_template = self._is_template(whose, title, claim.doubt, keys)
        self.told = self._count_page(whose, title, keys)
        return TEMPLATE if is_template else claim.doubt

    def learn(self, evidence: bytes) -> None:
        """Count the content of rows of evidence."""
        for scope, site, title, words, *keys in _ROW.iter_unpack(evidence):
            if title:
                self._see(scope << 32 | site, _Title(title, words), tuple(keys))
            else:
                self._turn()
                self._old = {} if scope else self._old

    def evidence(self) -> bytes:
        """Rows with which ``learn`` brings any table to this state: at most as many rows as the table holds titles of
        keys."""
        if not self._young and not self._old:
            return b""
        young = b"".join(_rows_of(self._young))
        return START + (b"".join(_rows_of(self._old)) + _TURN + young if self._old else young)

    def _is_template(self, whose: int, title: _Title, doubt: int, keys: _Keys) -> bool:
        if doubt == ANNOUNCED and not title.words:
            return False
        others = [title]
        for place in _places(whose, keys):
            for each in self._young.get(place) or self._old.get(place, ()):
                if _is_another(each, others, doubt):
                    others.append(each)
                    if len(others) > SEVERAL:
                        return True
        return False

    def _count_page(self, whose: int, title: _Title, keys: _Keys) -> bytes:
        if not title.title or not any(keys):
            return b""
        turned = b""
        if self._count >= self._most:
            self._turn()
            turned = _TURN
        changed = self._see(whose, title, keys)
        return turned + _ROW.pack(whose >> 32, whose & _M32, *title, *keys) if changed else turned

    def _see(self, whose: int, title: _Title, keys: _Keys) -> bool:
        """Add a title to its keys; whether the young generation did not know it yet."""
        changed = False
        only = (title,)
        for place in _places(whose, keys):
            held = self._young.get(place)
            titles = self._old.get(place, ()) if held is None else held
            if not titles:
                titles = only
            elif _is_wanted(title, titles):
                titles = (*titles, title)
            if titles is not held:
                self._young[place] = titles
                self._count += held is None
                changed = True
        return changed

    def _turn(self) -> None:
        self._young, self._old, self._count = {}, self._young, 0


def _is_another(title: _Title, than: Iterable[_Title], doubt: int) -> bool:
    """Whether a title is none of these titles; for an announced text, whether it is also similar to none."""
    if doubt == ANNOUNCED:
        return not any(alike(title.words, each.words) for each in than)
    return all(title.title != each.title for each in than)


def _is_wanted(title: _Title, held: tuple[_Title, ...]) -> bool:
    """Whether a title is remembered in addition to the held ones. The first few are; later ones if they are similar to
    none."""
    if any(title.title == each.title for each in held):
        return False
    if len(held) < _KEPT:
        return True
    apart: list[_Title] = []
    for each in held:
        if _is_another(each, apart, ANNOUNCED):
            apart.append(each)
    return len(apart) < _KEPT and _is_another(title, held, ANNOUNCED)


def _whose(claim: Claim) -> int:
    """The site, within the scope in which pages are compared."""
    return claim.scope << 32 | claim.site


def _keys_of(claim: Claim) -> _Keys:
    """The claim's eight keys, 32 bits each, 0 for none."""
    if claim.bands:
        return _KEYS.unpack(claim.bands)
    text = claim.text_hash if claim.fingerprint is None else claim.fingerprint
    return (*((text >> one & _QUARTER) << 16 | text >> other & _QUARTER for one, other in _PAIRS), 0, 0)


def _places(whose: int, keys: _Keys) -> Iterator[int]:
    """The places at which a table has these keys of a site."""
    for number, key in enumerate(keys, whose << 3):
        if key:
            yield number << 32 | key


def _rows_of(generation: _Generation) -> Iterator[bytes]:
    """Rows with everything in a generation. Rows of a key's first titles come first."""
    rows: dict[tuple[int, int, _Title, int], list[int]] = {}
    before: Counter[tuple[int, int, _Title, int]] = Counter()
    for place, titles in generation.items():
        whose, number, key = place >> 35, place >> 32 & BANDS - 1, place & _M32
        for rank, title in enumerate(titles):
            row = before[rank, whose, title, number]
            before[rank, whose, title, number] += 1
            rows.setdefault((rank, whose, title, row), [0] * BANDS)[number] = key
    for (_, whose, title, _), keys in sorted(rows.items(), key=lambda row: row[0][0]):
        yield _ROW.pack(whose >> 32, whose & _M32, *title, *keys)
