"""Why two pages are near or not, as one file of HTML that loads nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from worker.evaluate.literature.comparison import Comparison
from worker.evaluate.literature.explained import Explained
from worker.evaluate.literature.simhash import bit_string
from worker.fingerprint.conditions import NearRule
from worker.fingerprint.sketch import BANDS, SLOTS, similarity
from worker.results.explain.causes import Causes
from worker.results.explain.lines import SHOWN, numbers, spelled
from worker.results.report.difference import TextDifference, how_much
from worker.results.report.differences_shown import hunks_shown
from worker.results.report.document import document
from worker.results.report.markup import Markup, joined, shortened, table, tag, whole

_TOP: Final = 100
"""Rows of a table."""
_MOST_CHARACTERS: Final = 60_000
"""Characters of a text that is shown as a whole."""


@dataclass(frozen=True)
class Explanation:
    """Two pages with these names, and everything between them. ``texts`` and ``causes`` are None if only records of the
    pages are known."""

    names: tuple[str, str]
    comparison: Comparison
    rules: Sequence[NearRule]
    texts: TextDifference | None = None
    causes: Causes | None = None


def explanation_page(explanation: Explanation) -> str:
    """The whole file. Equal explanations make equal bytes."""
    title = "Two pages and their differences"
    parts = {
        "verdict": ("Verdict", _verdict(explanation)),
        "texts": ("Texts", _texts(explanation)),
        "bits": ("Bits of the fingerprints", _bits(explanation)),
        "places": ("Slots and bands of the sketches", _places(explanation.causes)),
        "features": ("Features", _features(explanation.comparison)),
    }
    return document(
        title,
        joined(tag("h1", title), _sides(explanation)),
        parts,
        skip=("main", "Skip to the verdict"),
        style=files("worker.results.report").joinpath("report.css").read_text("utf-8")
        + files("worker.results.explain").joinpath("explanation.css").read_text("utf-8"),
        script="",
    )


def _sides(explanation: Explanation) -> Markup:
    sides = []
    for letter, name, side in zip("AB", explanation.names, _both(explanation.comparison), strict=True):
        told = [f"{whole(side.tokens)} tokens"]
        if explanation.texts is not None:
            told = [side.language, *told, f"{whole(len(side.features))} features"]
        if side.fingerprint is None:
            told.append(f"no fingerprint, because: {side.reason or 'too few features'}")
        if side.bounds:
            told.append(shortened(side.bounds))
        named = tag("bdi", shortened(name, 300))
        sides.append(tag("p", tag("strong", letter), " ", named, " ", tag("span", ", ".join(told), class_="quiet")))
    return tag("div", *sides, class_="sides")


def _verdict(explanation: Explanation) -> Markup:
    comparison, match = explanation.comparison, explanation.comparison.match
    measures = comparison.measures
    figures = []
    if measures is not None:
        figures.append(("bits that differ", f"{measures.distance} of {comparison.a.bits}"))
        if measures.blocks is not None:
            figures.append(("blocks in common", f"{len(measures.blocks)} of {comparison.layout.count}"))
    if comparison.agreement is not None:
        figures.append(("slots that agree", f"{comparison.agreement} of {SLOTS}"))
        figures.append(("similarity", f"{min(1.0, max(0.0, similarity(comparison.agreement))):.2f}"))
        figures.append(("bands in common", f"{comparison.bands} of {BANDS}"))
    told = "The pages are not near: no rule holds." if match is None else f"The pages are near, by {match.reason}."
    decided = next((rule for rule in explanation.rules if rule.holds), None)
    rows = [
        [
            joined(tag("span", rule.name, class_="together"), " (decides)" if rule is decided else ""),
            condition.asks,
            condition.found,
            "yes" if condition.holds else tag("strong", "no"),
        ]
        for rule in explanation.rules
        for condition in rule.conditions
    ]
    return joined(
        tag("p", told, class_="verdict"),
        tag(
            "dl",
            *(tag("div", tag("dt", name), tag("dd", tag("strong", value))) for name, value in figures),
            class_="figures",
        ),
        tag("p", "A rule holds if all its conditions hold; the first rule that holds decides.", class_="quiet"),
        table(["rule", "asks", "found", "holds"], rows, "The rules and their conditions"),
    )


def _texts(explanation: Explanation) -> Markup:
    found = explanation.texts
    if found is None:
        return tag("p", "Only the records of these pages are known, and records hold no text.")
    told = (
        f"{whole(found.same)} words are in both, {whole(found.removed)} only in A, {whole(found.added)} only in B. "
        f"Words of one text alone are marked{how_much(found)}."
    )
    wholes = [
        tag(
            "details",
            tag("summary", f"The main text of {letter}, line by line as it was kept"),
            tag("div", *(tag("p", line) for line in _kept(side)), class_="text", dir="auto"),
        )
        for letter, side in zip("AB", _both(explanation.comparison), strict=True)
    ]
    return joined(tag("p", told, class_="quiet"), hunks_shown(found), *wholes)


def _kept(side: Explained) -> list[str]:
    lines = [line for line in side.text[:_MOST_CHARACTERS].splitlines() if line.strip()]
    return [*lines, "…"] if len(side.text) > _MOST_CHARACTERS else lines


def _bits(explanation: Explanation) -> Markup:
    comparison, causes = explanation.comparison, explanation.causes
    a, b = comparison.a, comparison.b
    if a.fingerprint is None or b.fingerprint is None:
        return tag("p", "At least one of the pages has no fingerprint.")
    rows = bit_string(a.fingerprint, a.bits), bit_string(b.fingerprint, b.bits)
    width = comparison.layout.width if comparison.layout.bits == a.bits else 16
    groups = []
    for begin in range(0, a.bits, width):
        pair = [row[begin : begin + width] for row in rows]
        highest = a.bits - 1 - begin
        named = f"bits {max(0, highest - width + 1)}-{highest}"
        groups.append(tag("div", tag("small", named), _digits(pair[0], pair[1]), _digits(pair[1], pair[0])))
    shown = tag("div", *groups, class_="bits")
    if causes is None:
        return shown
    if causes.shown:
        return joined(shown, tag("p", f"{SHOWN}."))
    moved = [
        [
            f"{bit.bit}",
            *(tag("span", f"{votes:+.2f}", class_="together") for votes in (bit.a, bit.b)),
            joined(*_listed([f"{share.feature} {share.change:+.2f}" for share in bit.by])),
        ]
        for bit in causes.bits
    ]
    told = (
        "Each feature votes in each bit with its weight, for a one or a zero. For each bit that differs: the sums of "
        "the votes in A and B, and the features whose votes changed most towards B's."
    )
    heads = ["bit", "A", "B", "moved by"]
    return joined(shown, tag("p", told, class_="quiet"), table(heads, moved, "Bits that differ"))


def _digits(ours: str, theirs: str) -> Markup:
    digits = (
        own if own == other else tag("span", own, class_="moved") for own, other in zip(ours, theirs, strict=True)
    )
    return tag("code", *digits)


def _places(causes: Causes | None) -> Markup:
    if causes is None or causes.shown:
        return tag("p", "The n-grams that hold slots and bands are not known.")
    parts = []
    if causes.slots is not None:
        parts.append(f"{causes.slots} of {SLOTS} slots differ.")
    parts.append(f"{len(causes.bands)} of {BANDS} bands differ.")
    if causes.lengths:
        parts.append(
            f"Bands {numbers(causes.lengths)} are of bigrams in the shorter text and of trigrams in the longer one."
        )
    rows = [
        [tag("bdi", shortened(spelled(place))), place.side, numbers(place.slots), numbers(place.bands)]
        for place in causes.places[:_TOP]
    ]
    if len(causes.places) > _TOP:
        parts.append(f"The table has the first {_TOP} of {whole(len(causes.places))} n-grams.")
    told = (
        "These n-grams of one text alone hold the slots and bands that differ; ¶ marks the beginning or end of a text."
    )
    heads = ["n-gram", "only in", "slots", "bands"]
    return joined(
        tag("p", " ".join(parts)),
        tag("p", told, class_="quiet"),
        table(heads, rows, "N-grams that hold the slots and bands that differ"),
    )


def _features(comparison: Comparison) -> Markup:
    of_a, of_b = dict(comparison.a.features), dict(comparison.b.features)
    if not of_a and not of_b:
        return tag("p", "None are known.")
    both = sorted(of_a | of_b, key=lambda word: (-abs(of_a.get(word, 0.0) - of_b.get(word, 0.0)), word))
    differing = [word for word in both if of_a.get(word) != of_b.get(word)]
    told = (
        f"{whole(len(both) - len(differing))} features have the same weight in both, {whole(len(differing))} do not"
        f"{f'; the first {_TOP} of these' if len(differing) > _TOP else ''}."
    )
    rows = [
        [tag("bdi", shortened(word)), _weight(of_a.get(word)), _weight(of_b.get(word))] for word in differing[:_TOP]
    ]
    return joined(tag("p", told), table(["feature", "A", "B"], rows, "Features whose weights differ"))


def _listed(parts: Sequence[str]) -> list[Markup]:
    return [joined(", " if number else "", tag("bdi", shortened(part))) for number, part in enumerate(parts)]


def _weight(weight: float | None) -> str:
    return "–" if weight is None else f"{weight:.2f}"


def _both(comparison: Comparison) -> tuple[Explained, Explained]:
    return comparison.a, comparison.b
