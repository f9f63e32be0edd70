"""Which titles stand over one text of a site: the evidence by which a claim calls a text a template's.

For the pages that came last, a table records under which titles of a site a text, or a text near to it, was seen. A
text that was seen under two other titles belongs to the site, not to the page: its claim says ``TEMPLATE``, and only
pages of its own title are near to it (``worker.fingerprint.scoped``). For a doubted text all titles but its own are
others, for an announced one those that are not alike: so in either case pages that are not near to each other come to
lie apart in an index, and no bucket of it has more than a few of them.

The mark stands in the claim, and a page's first claim counts. So verdicts are a function of the log, whatever the table
of the claiming worker knows. The table is a function of the claims that were counted, in their order.

Two texts are *near* if they share a key: one of the eight bands of a sketch (``worker.fingerprint.sketch``); without
bands, two of the four quarters of a fingerprint. Fingerprints that differ in two bits have at least one such pair in
common.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from types import ModuleType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawler_plugin.wire.messages import EVIDENCE_BYTES
from worker.fingerprint.sketch import BANDS
from worker.verdict.claims import Claims

_MOST: Final = 64_000
"""Keys of each of the two generations: the texts of the last 8,000 to 16,000 pages, without copies, in 17 MB. With
fewer the table does not recognise a site whose pages come seldom."""
_PAIRS: Final = tuple(combinations((0, 16, 32, 48), 2))
_QUARTER: Final = np.uint64((1 << 16) - 1)
_HALF: Final = np.uint64(32)
_ROW: Final = np.dtype(("<u8", EVIDENCE_BYTES // 8))
_TURN: Final = bytes(EVIDENCE_BYTES)
"""A row that says that the young generation became the old one."""
START: Final = b"\1" + bytes(EVIDENCE_BYTES - 1)
"""A row that says that nothing is known yet: the rows after it hold all that is known."""
_NOTHING: Final = np.empty(0, np.int32)


@cache
def _kernels() -> ModuleType:
    from worker.compiling import load_entries, must_compile

    must_compile()
    from worker.verdict.kernels import titles

    load_entries("worker.verdict")
    return titles


class _Generation:
    """At most ``room`` keys, each with its titles; ``known`` is the description that kernels get."""

    def __init__(self, room: int) -> None:
        kernels = _kernels()
        self._slots: Final = np.zeros(2 << max(0, room - 1).bit_length(), np.uint64)
        self._entries: Final = np.empty((room, kernels.ENTRY_WORDS), np.uint64)
        self.known: Final = np.zeros(kernels.GENERATION_WORDS, np.int64)
        self.known[kernels.SLOTS], self.known[kernels.MASK] = self._slots.ctypes.data, len(self._slots) - 1
        self.known[kernels.ENTRIES], self.known[kernels.ROOM] = self._entries.ctypes.data, room

    def __len__(self) -> int:
        return int(self.known[_kernels().COUNT])

    @property
    def entries(self) -> NDArray[np.uint64]:
        """The entries of its keys."""
        return self._entries[: len(self)]

    def grown(self, secret: NDArray[np.uint64]) -> _Generation:
        """The same generation with more room."""
        kernels, larger = _kernels(), _Generation(2 * (len(self) + BANDS))
        larger._entries[: len(self)] = self.entries
        larger.known[kernels.COUNT] = len(self)
        kernels.link(secret, larger.known)
        return larger


@dataclass(frozen=True, eq=False)
class _Trial:
    """The state before claims that are counted provisionally, and what counting them changed."""

    young: _Generation
    old: _Generation
    entries: int
    lengthened: NDArray[np.int32]
    rows: NDArray[np.uint64]
    said: NDArray[np.uint8]


class TitlesOfTexts:
    """A table of at most ``most`` keys, and as many from before.

    With a ``secret`` no one who lacks it can make texts whose keys all lie in one chain; the table's findings do not
    depend on it.

    A key is looked for in the young generation, then in the old one, from which it is copied into the young one. A full
    young generation becomes the old one, and the table forgets the old one's keys.

    Raises:
        UsageError: numba cannot run here.
    """

    def __init__(self, most: int = _MOST, *, secret: bytes = b"") -> None:
        self._most: Final = most
        kernels = _kernels()
        words = hashlib.shake_256(secret).digest(8 * kernels.SECRET_WORDS)
        self._secret: Final = np.frombuffer(words, np.uint64).copy()
        self._found: Final = np.empty((BANDS, kernels.KEY_WORDS), np.uint64)
        self._old = _Generation(0)
        self._young = self._empty()
        self._trial: _Trial | None = None

    def __len__(self) -> int:
        """Keys in the young generation."""
        self._take_back()
        return len(self._young)

    def mark(self, claims: Claims) -> NDArray[np.uint8]:
        """How far the text of each of these claims is doubted, uint8 (n,): it is a template's if the texts counted
        before make it one. Then the text itself is counted, if it is one that is stored; but unless ``keep`` is called
        next, none of these counts stay."""
        assert claims.pages.doubt is not None
        doubts, rows, stored = claims.pages.doubt.astype(np.uint8), _rows_of(claims), claims.stored
        if stored.all():
            return self._try(rows, doubts)
        doubts[~stored] = self._try(rows[~stored], doubts[~stored])
        doubts[stored] = self._try(rows[stored], doubts[stored])
        return doubts

    def _try(self, rows: NDArray[np.uint64], doubts: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Count these rows, and no others that are not kept; changes ``doubts`` and returns it."""
        self._take_back()
        kernels, said = _kernels(), np.zeros(len(rows), np.uint8)
        before = len(self._young)
        self._young.known[kernels.LENGTHENED] = 0
        lengthened = np.empty(BANDS * len(rows), np.int32)
        self._trial = _Trial(self._young, self._old, before, lengthened, rows, said)
        place = marked = 0
        while True:
            young, old = self._young, self._old
            place = kernels.mark(
                self._secret, young.known, old.known, lengthened, before, self._most, rows, doubts, place, marked, said,
                self._found,
            )  # fmt: skip
            if place == len(rows):
                return doubts
            said[place] = kernels.TURNED
            marked = place + 1
            self._turn()
            before = 0

    def keep(self) -> bytes:
        """Keep the counts of the claims that were marked last. Returns rows from which ``learn`` reaches the same
        state; none where nothing changed."""
        trial, self._trial = self._trial, None
        assert trial is not None
        kernels = _kernels()
        seen = trial.said & kernels.SEEN
        ends = np.cumsum(seen + trial.said // kernels.TURNED)
        evidence = np.zeros(int(ends[-1]) if len(ends) else 0, _ROW)
        evidence[ends[seen != 0] - 1] = trial.rows[seen != 0]
        return evidence.tobytes()

    def learn(self, evidence: bytes) -> None:
        """Count the texts in rows of evidence.

        Args:
            evidence: 56 bytes a row, little endian: scope uint64, site and title uint32, words of the title uint64, 8
                keys uint32, 0 for none. A row of zeros says that the generation was full, ``START`` that all is told
                anew.
        """
        self._take_back()
        kernels, rows = _kernels(), np.frombuffer(evidence, _ROW).astype(np.uint64)
        place = 0
        while True:
            young, old = self._young, self._old
            place = kernels.learn(self._secret, young.known, old.known, _NOTHING, rows, place, self._found)
            if place == len(rows):
                return
            if rows[place, kernels.SITE_TITLE] >> _HALF:
                self._young = young.grown(self._secret)  # for more than a table of this kind holds
            else:
                self._turn()
                self._old = _Generation(0) if rows[place, kernels.SCOPE] else self._old
                place += 1

    def evidence(self) -> bytes:
        """Rows from which ``learn`` brings any table to this state: at most as many as it holds titles of keys."""
        self._take_back()
        if not len(self._young) and not len(self._old):
            return b""
        young = self._told(self._young)
        return START + (self._told(self._old) + _TURN + young if len(self._old) else young)

    def _told(self, generation: _Generation) -> bytes:
        kernels, entries = _kernels(), generation.entries
        rows = np.zeros((int(entries[:, kernels.HELD].sum()), kernels.ROW_WORDS), np.uint64)
        return rows[: kernels.tell(self._secret, entries, rows)].astype("<u8").tobytes()

    def _take_back(self) -> None:
        """Remove counts that were not kept."""
        trial = self._trial
        if trial is not None:
            young = trial.young
            _kernels().take_back(self._secret, young.known, trial.lengthened, trial.entries)
            self._young, self._old = young, trial.old
            self._trial = None

    def _turn(self) -> None:
        self._young, self._old = self._empty(), self._young

    def _empty(self) -> _Generation:
        return _Generation(self._most + BANDS)


def _rows_of(claims: Claims) -> NDArray[np.uint64]:
    """The rows of these claims: uint64 (n, 7)."""
    pages = claims.pages
    assert pages.scope is not None and pages.site is not None and pages.bands is not None
    assert pages.title is not None and pages.title_words is not None
    rows: NDArray[np.uint64] = np.empty((len(claims), EVIDENCE_BYTES // 8), np.uint64)
    rows[:, 0] = pages.scope
    rows[:, 1] = pages.site | pages.title.astype(np.uint64) << _HALF
    rows[:, 2] = pages.title_words
    keys = rows.view("<u4")[:, -BANDS:]
    keys[:] = pages.bands
    without = np.flatnonzero(~pages.bands.any(axis=1))
    if len(without):
        text = np.where(pages.bare, pages.text_hash, pages.fingerprint)[without]
        for number, (one, other) in enumerate(_PAIRS):
            pair = (text >> np.uint64(one) & _QUARTER) << np.uint64(16) | text >> np.uint64(other) & _QUARTER
            keys[without, number] = pair
    return rows
