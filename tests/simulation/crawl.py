"""The pages of a simulated crawl, which carry their fingerprint with them, and their claims."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from crawler_plugin.wire.messages import NOT_STORED, PARDONED, Claim
from tests.fingerprint.definition.sketch import bands, sketch
from worker.fingerprint.hashing import hash_words
from worker.pool.process_pool import PoolUsage
from worker.stream.log import Record
from worker.stream.partition.commit import OVERSIZE
from worker.verdict.clock import bounded_clock

FLAKY: Final = 0.02
"""Share of pages that one worker cannot read although another can: parsing is the only step that is not repeatable."""
IMPOSSIBLE: Final = (2**62, 10**13, -1, -(2**62), 0)
"""Fetch times of pages of a hostile crawl, in addition to normal ones."""


class Text(NamedTuple):
    """The data of a text that ``AccurateNear`` reads in addition to its fingerprint."""

    sketch: bytes
    bands: bytes
    tokens: int


def _texts() -> tuple[Text, ...]:
    """Texts that are near to their neighbours but not to those further off: windows that move over an endless text.

    There is a walk for each kind of sketch, with longer and shorter windows; the last text has no sketch.
    """
    endless = hash_words([f"word {number}" for number in range(200)])
    windows = [
        endless[start : start + length]
        for length, step in ((10, 1), (8, 1), (18, 2), (44, 5), (33, 5))
        for start in range(0, 5 * step, step)
    ]
    return (*(Text(sketch(tokens), bands(tokens), len(tokens)) for tokens in windows), Text(b"", b"", 9))


TEXTS = _texts()
LEAST_ACROSS: Final = 15
"""A number of tokens, as ``ScopedNear.least_across``: some of these texts have fewer."""


TEMPLATES: Final = (15, 20)
"""Texts of many pages in a titled crawl."""


FLAGS: Final = (0, 0, 0, 0, NOT_STORED, PARDONED, PARDONED, NOT_STORED | PARDONED)
"""Flags of the pages of a flagged crawl."""


def _site(url: str) -> int:
    """One of two sites, or none."""
    return sum(url.encode()) % 5 % 3


def _title(url: str, chance: random.Random) -> int:
    """One of a few titles, or a title that stands for the URL."""
    return chance.choice((2, 4, 6, 8, 10, 12, 2 * sum(url.encode()) + 1))


@dataclass(frozen=True)
class Crawl:
    """The kind of pages of a crawl: their number, the bits of their fingerprints, and how far copies may be apart.

    In an ``accurate`` crawl they have sketches, bands and scopes. In a ``hostile`` one some have impossible fetch
    times. In a ``titled`` one they have sites and titles, and most come from templates. In a ``flagged`` one some are
    not to be stored, pardoned, or both.
    """

    count: int
    bits: int
    radius: int
    accurate: bool
    hostile: bool
    titled: bool = False
    flagged: bool = False

    def pages(self, chance: random.Random, beside: random.Random) -> list[tuple[bytes, bytes]]:
        """The pages in the order in which they are published: (key, value).

        The values that only some crawls have are drawn from ``beside``, so that the other crawls stay as they are.
        """
        urls = [f"http://{n}.example/" for n in range(max(3, self.count // chance.choice((1, 2, 4))))]
        centres = [chance.getrandbits(self.bits) for _ in range(max(2, len(urls) // 2))]
        content: dict[str, tuple[str, int, int, str]] = {}
        scopes = beside.choice((1, 1, 2))
        pages = []
        for tick in range(self.count):
            url = chance.choice(urls)
            if url not in content or chance.random() < 0.4:
                fingerprint = chance.choice(centres)
                for _ in range(chance.randint(0, self.radius + 1)):
                    fingerprint ^= 1 << chance.randrange(self.bits)
                kind = chance.random()
                shown = "big" if kind < 0.02 else "dead" if kind < 0.06 else "bare" if kind < 0.16 else str(fingerprint)
                text_hash = chance.randrange(3) if shown == "bare" else fingerprint
                text = beside.randrange(len(TEXTS)) if self.accurate else -1
                standing = ""
                if self.titled:
                    template = beside.randrange(2)
                    if of_template := beside.random() < 0.7:
                        fingerprint = centres[template] ^ (beside.random() < 0.2)
                        shown, text = str(fingerprint), TEMPLATES[template]
                    if shown != "bare":  # equal texts have equal fingerprints and equal sketches
                        text_hash = (len(TEXTS) * fingerprint + text) % (1 << 64)
                    standing = f"|{_site(url)}|{_title(url, beside)}|{int(of_template or beside.random() < 0.3)}"
                content[url] = shown, text_hash, text, standing
            shown, text_hash, text, standing = content[url]
            scope = sum(url.encode()) % scopes if self.accurate else 0
            fetched = chance.choice((str(4 * tick), str(4 * tick), str(max(0, 4 * tick - chance.randrange(60))), ""))
            if self.hostile and beside.random() < 0.1:
                fetched = str(beside.choice(IMPOSSIBLE))
            if self.flagged:
                standing = (standing or "|0|0|0") + f"|{beside.choice(FLAGS)}"
            pages.append((url.encode(), f"{shown}|{text_hash}|{fetched}|{text}|{scope}{standing}".encode()))
        return pages


class Shown(NamedTuple):
    """The content of a simulated page's value."""

    fingerprint: str
    text_hash: int
    fetched: int | None
    text: int
    scope: int
    site: int = 0
    title: int = 0
    doubt: int = 0
    flags: int = 0

    @classmethod
    def of(cls, record: Record) -> Shown:
        """Parse the record's value."""
        fingerprint, text_hash, fetched, *others = (record.value or b"").decode().split("|")
        return cls(fingerprint, int(text_hash), int(fetched) if fetched else None, *map(int, others))


UNREADABLE: Final = {"dead": "parser-raised: in the script", "big": f"{OVERSIZE}: in the script"}
"""The reason why a page cannot be fingerprinted, by the word in place of its fingerprint."""


class TableFingerprinting:
    """Fingerprints of the simulated crawl's pages, which carry them; the results come back late and in any order."""

    usage = PoolUsage()

    def __init__(self, chance: random.Random, ttl: int | None) -> None:
        self.chance = chance
        self.ttl = ttl
        self.waiting: list[Claim] = []

    def submit(self, record: Record) -> None:
        claim = claim_of(record, self.ttl)
        if self.chance.random() < FLAKY:
            claim = msgspec.structs.replace(claim, dead="parser-timeout: on this worker, this time")
        self.waiting.append(claim)

    def claims(self, wait: float = 0.0) -> list[Claim]:
        self.chance.shuffle(self.waiting)
        keep = self.chance.choice((0, 0, len(self.waiting) // 2))
        done, self.waiting = self.waiting[keep:], self.waiting[:keep]
        return done


def claim_of(record: Record, ttl: int | None = None) -> Claim:
    """The claim of a simulated page; a pure function of its record."""
    shown = Shown.of(record)
    empty = shown.fingerprint == "bare" and shown.text_hash == 0
    text = Text(b"", b"", 0) if empty else TEXTS[shown.text]
    return Claim(
        partition=record.partition,
        offset=record.offset,
        clock=bounded_clock(shown.fetched, record.timestamp, ttl),
        url=(record.key or b"").decode(),
        fingerprint=int(shown.fingerprint) if shown.fingerprint.isdecimal() else None,
        text_hash=shown.text_hash,
        tokens=text.tokens,
        dead=UNREADABLE.get(shown.fingerprint),
        sketch=text.sketch,
        bands=text.bands,
        scope=shown.scope,
        site=shown.site,
        title=shown.title,
        doubt=shown.doubt,
        flags=shown.flags,
    )
