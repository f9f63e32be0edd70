"""The scheme: everything that a verdict depends on, in words and as an id of eight bytes.

Two workers may judge pages together only if their schemes are equal; the id stands in every batch and block, and with
the words next to it a worker can say which setting differs.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from crawler_plugin.wire.errors import UnreadableRecord
from worker.fingerprint.sketch import similarity

Value: TypeAlias = str | int | float | bool | None

ID_BYTES: Final = 8
ABSENT: Final = "(unknown there)"
"""Stands for the value of a name that only the other scheme has, as after an upgrade."""


class SchemeDifference(NamedTuple):
    """One name whose values differ."""

    name: str
    ours: Value
    theirs: Value


@dataclass(frozen=True)
class Scheme:
    """Names and values of all that ``near``, ``decide`` and URL canonicalisation read, in the order for display.

    Equal names and values give equal ids, in whatever order they stand. Values are text, numbers, truth values or
    None; 1 and 1.0 are different values.
    """

    entries: tuple[tuple[str, Value], ...]

    def __post_init__(self) -> None:
        if len(dict(self.entries)) != len(self.entries):
            raise ValueError("a scheme names everything once; give each name one value")

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> Scheme:
        """The scheme with these values."""
        return cls(tuple(values.items()))

    @cached_property
    def id(self) -> bytes:
        """8 bytes: BLAKE2b of the canonical JSON (keys sorted, no spaces, UTF-8)."""
        canonical = _json(dict(self.entries), sort_keys=True)
        return hashlib.blake2b(canonical, digest_size=ID_BYTES).digest()

    def encode(self) -> bytes:
        """One JSON object in UTF-8, in the order of the entries: the value of a record's header."""
        return _json(dict(self.entries), sort_keys=False)

    @classmethod
    def decode(cls, encoded: bytes) -> Scheme:
        """Read the output of ``encode``, with any names.

        Raises:
            UnreadableRecord: not a JSON object of plain values.
        """
        try:
            values = json.loads(encoded)
        except (ValueError, RecursionError) as error:
            raise UnreadableRecord(f"not a scheme: {error}") from error
        if not isinstance(values, dict) or any(isinstance(value, dict | list) for value in values.values()):
            raise UnreadableRecord(f"not a scheme: {encoded[:200]!r}")
        return cls.of(values)

    def differences(self, other: Scheme) -> list[SchemeDifference]:
        """The names whose values differ: first ours in our order, then those that only ``other`` has."""
        ours, theirs = dict(self.entries), dict(other.entries)
        rows = (SchemeDifference(name, ours.get(name, ABSENT), theirs.get(name, ABSENT)) for name in ours | theirs)
        return [row for row in rows if _json(row.ours) != _json(row.theirs)]


def in_words(difference: SchemeDifference) -> str:
    """The difference, by the setting that a user gives and in its unit."""
    name, *values = difference
    if name == "near: threshold":
        name, values = "near.threshold", [_as_threshold(value) for value in values]
    ours, theirs = ("not set" if value is None else value for value in values)
    return f"{name} is {ours} here and {theirs} there"


def _as_threshold(slots: Value) -> Value:
    """The least similarity, in hundredths, for this many equal slots; two are more than one apart."""
    return math.floor(100 * similarity(slots) + 1e-9) / 100 if isinstance(slots, int) else slots


def content_hash(items: Iterable[str]) -> str:
    """16 hex digits that stand for a set of words or lines in a scheme: their order and repetition do not count."""
    digest = hashlib.blake2b(digest_size=ID_BYTES)
    for item in sorted({item.encode("utf-8", "surrogatepass") for item in items}):
        digest.update(len(item).to_bytes(8, "little") + item)
    return digest.hexdigest()


def _json(value: object, *, sort_keys: bool = False) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=sort_keys)
    return text.encode()
