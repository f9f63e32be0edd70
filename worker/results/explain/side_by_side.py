"""A comparison for people, aligned column by column, and for programs, as one object."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.cells import cell_len

from worker.evaluate.literature.comparison import Comparison
from worker.evaluate.literature.explained import Explained
from worker.evaluate.literature.measures import BlockLayout, hamming
from worker.evaluate.literature.simhash import bit_string
from worker.fingerprint.sketch import BANDS, SLOTS
from worker.terminal import aligned

TOP: Final = 20
"""Features, and tokens of a side, that are shown unless all are asked for."""
BITS_A_ROW: Final = 64
_WIDTH: Final = 77
"""Columns at which tokens are broken, so that they fit into 80 after their letter. Rows of bits fit as well."""


def as_text(comparison: Comparison, names: tuple[str, str], *, everything: bool = False) -> str:
    """Lines for a terminal. ``everything`` shows all tokens and features, not only the first ones."""
    a, b = comparison.a, comparison.b
    parts = [
        _heads(a, b, names),
        _tokens(a, b, everything),
        _features(a, b, everything),
        _fingerprints(comparison),
        *(_ordinary(comparison, name) for name in comparison.ordinary),
        _measures(comparison),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts)


def of_records(comparison: Comparison, names: tuple[str, str]) -> str:
    """The same if only the records of the pages are known: no words, no features."""
    sides = zip("AB", names, (comparison.a, comparison.b), strict=True)
    heads = aligned((letter, name, f"{side.tokens} tokens") for letter, name, side in sides)
    return "\n\n".join("\n".join(lines) for lines in (heads, _fingerprints(comparison), _measures(comparison)))


def as_object(comparison: Comparison, names: tuple[str, str]) -> dict[str, Any]:
    """The same as plain values for JSON. Bits are text, most significant first; sums stand in the same order."""
    measures, match = comparison.measures, comparison.match
    return {
        "bits": comparison.a.bits,
        "a": _side(comparison.a, names[0]),
        "b": _side(comparison.b, names[1]),
        "distance": measures and measures.distance,
        "share_of_equal_bits": measures and measures.equal_bits,
        "blocks": {"layout": str(comparison.layout), "in_common": measures and measures.blocks},
        "angle_degrees": measures and measures.angle,
        "angle_radians": measures and math.radians(measures.angle),
        "cosine": measures and measures.cosine,
        "ordinary_hash_distance": comparison.ordinary,
        "agreement_of_sketches": comparison.agreement,
        "bands_in_common": comparison.bands,
        "k": comparison.k,
        "near": match is not None,
        "reason": match and match.reason,
    }


def _side(side: Explained, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "language": side.language,
        "tokens": side.words,
        "features": [{"word": word, "weight": weight} for word, weight in side.features],
        "sums": side.sums,
        "fingerprint": None if side.fingerprint is None else bit_string(side.fingerprint, side.bits),
        "no_fingerprint_because": side.reason,
        "site": side.site_name,
        "title": side.thing,
        "doubt": side.doubt,
        "shown_with": side.shown,
        "text_hash": f"{side.text_hash:016x}",
        "ordinary_hashes": {hashed: bit_string(value, side.bits) for hashed, value in side.ordinary.items()},
    }


def _heads(a: Explained, b: Explained, names: tuple[str, str]) -> list[str]:
    rows = []
    for letter, name, side in zip("AB", names, (a, b), strict=True):
        told = f"{side.language}, {len(side.words)} tokens, {len(side.features)} features"
        rows.append((letter, name, f"{told}, {side.bounds}" if side.bounds else told))
    return aligned(rows)


def _tokens(a: Explained, b: Explained, everything: bool) -> list[str]:
    lines = ["tokens"]
    for letter, side in (("A", a), ("B", b)):
        shown = side.words if everything else side.words[: 2 * TOP]
        hidden = len(side.words) - len(shown)
        rows = _broken([*shown, f"… {hidden} more: --all shows them"] if hidden else shown)
        lines += [f"{letter if first else ' '}  {row}" for first, row in _with_first(rows or ["(none)"])]
    return lines


def _features(a: Explained, b: Explained, everything: bool) -> list[str]:
    of_a, of_b = dict(a.features), dict(b.features)
    words = sorted(of_a | of_b, key=lambda word: -max(of_a.get(word, 0.0), of_b.get(word, 0.0)))
    if not words:
        return ["features with their weights", "   (none)"]
    shown = words if everything else words[:TOP]
    rows = [("features with their weights", "A", "B")]
    rows += [(f"   {word}", _weight(of_a.get(word)), _weight(of_b.get(word))) for word in shown]
    lines = aligned(rows, right=(1, 2))
    if len(shown) < len(words):
        lines.append(f"   … {len(words) - len(shown)} more: --all shows them")
    return lines


def _weight(weight: float | None) -> str:
    return "-" if weight is None else f"{weight:.2f}"


def _fingerprints(comparison: Comparison) -> list[str]:
    a, b = comparison.a, comparison.b
    title = f"fingerprints (SimHash, {a.bits} bits, most significant first)"
    if a.fingerprint is not None and b.fingerprint is not None:
        return [title, *_bits(a.fingerprint, b.fingerprint, a.bits, comparison.layout)]
    lines = [title]
    for letter, side in (("A", a), ("B", b)):
        if side.fingerprint is None:
            lines.append(f"{letter}  no fingerprint, because: {side.reason}")
        else:
            rows = _rows(bit_string(side.fingerprint, side.bits), _group(side.bits, comparison.layout))
            lines += [f"{letter if first else ' '}  {row}" for first, row in _with_first(rows)]
    return lines


def _ordinary(comparison: Comparison, name: str) -> list[str]:
    a, b = comparison.a, comparison.b
    pair = a.ordinary[name], b.ordinary[name]
    return [f"an ordinary hash of the text ({name}) for comparison", *_bits(*pair, a.bits, comparison.layout)]


def _bits(a: int, b: int, bits: int, layout: BlockLayout) -> list[str]:
    """Both values row by row, a ^ under each bit that differs, and the distance."""
    group = _group(bits, layout)
    marks = bit_string(a ^ b, bits).replace("0", " ").replace("1", "^")
    rows = zip(_rows(bit_string(a, bits), group), _rows(bit_string(b, bits), group), _rows(marks, group), strict=True)
    lines = []
    for ours, theirs, differing in rows:
        lines += [f"A  {ours}", f"B  {theirs}", f"   {differing}".rstrip()]
    distance = hamming(a, b)
    return [*lines, f"   {distance} of {bits} bits differ"]


def _rows(digits: str, group: int) -> list[str]:
    """At most ``BITS_A_ROW`` digits a row, with a space between groups that are counted from the right."""
    first = len(digits) % group
    starts = [0] * bool(first) + list(range(first, len(digits), group))
    groups = [digits[start:end] for start, end in zip(starts, [*starts[1:], len(digits)], strict=True)]
    a_row = BITS_A_ROW // group
    return [" ".join(groups[start : start + a_row]) for start in range(0, len(groups), a_row)]


def _group(bits: int, layout: BlockLayout) -> int:
    return layout.width if layout.bits == bits else 8


def _measures(comparison: Comparison) -> list[str]:
    measures, match, k = comparison.measures, comparison.match, comparison.k
    rows: list[tuple[str, str]] = []
    if measures is not None:
        rows += [
            ("Hamming distance", f"{measures.distance} bits"),
            ("share of equal bits", f"{measures.equal_bits:.3f}"),
            (f"blocks in common, {comparison.layout}", _blocks(measures.blocks, comparison)),
            ("angle, π·d/f", f"{measures.angle:.1f}°"),
            ("cosine of that angle", f"{measures.cosine:.3f}"),
        ]
    if comparison.agreement is not None:
        rows += [
            ("agreement of sketches", f"{comparison.agreement} of {SLOTS}"),
            ("bands in common", f"{comparison.bands} of {BANDS}"),
        ]
    reason = "" if match is None else f" ({match.reason})"
    rows.append((f"verdict at k = {k}", "near" + reason if match is not None else "not near"))
    return aligned(rows, gap=3)


def _blocks(common: tuple[int, ...] | None, comparison: Comparison) -> str:
    layout = comparison.layout
    if common is None:
        return f"the index cuts {layout.bits} bits, these are {comparison.a.bits}"
    names = ", ".join(f"{number} (bits {number * layout.width}-{(number + 1) * layout.width - 1})" for number in common)
    return f"{len(common)} of {layout.count}" + (f": {names}" if common else "")


def _broken(words: Sequence[str]) -> list[str]:
    """Words in rows of at most ``_WIDTH`` columns; a longer word has a row of its own."""
    rows: list[str] = []
    used = _WIDTH
    for word in words:
        if used + 1 + cell_len(word) > _WIDTH:
            rows.append(word)
            used = cell_len(word)
        else:
            rows[-1] += " " + word
            used += 1 + cell_len(word)
    return rows


def _with_first(rows: Iterable[str]) -> list[tuple[bool, str]]:
    return [(place == 0, row) for place, row in enumerate(rows)]
