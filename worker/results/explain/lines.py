"""The causes of changed bits, slots and bands, and the rule that decided, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from worker.fingerprint.conditions import NearRule
from worker.fingerprint.sketch import BANDS, SLOTS
from worker.results.explain.causes import Causes, MovedPlaces
from worker.results.explain.side_by_side import TOP
from worker.results.report.difference import Run, TextDifference, how_much
from worker.terminal import aligned

SHOWN: Final = (
    "the texts come with different pictures, numbers or unread text, so that nothing in one is like anything in the "
    "other"
)


def difference_lines(found: TextDifference) -> list[str]:
    """The difference between the texts, each change with the words around it: ``[-only in A-]``, ``{+only in B+}``."""
    if not found.hunks:
        return ["texts", f"   no word differs{how_much(found)}"]
    more = (", and they go on" if found.cut else "") + how_much(found)
    head = f"texts: {found.same} words in both, {found.removed} only in A [-…-], {found.added} only in B {{+…+}}{more}"
    lines = [head]
    for hunk in found.hunks:
        for letter, runs, marks in (("A", hunk.left, "[--]"), ("B", hunk.right, "{++}")):
            lines.append(f"{letter}  {_marked(runs, marks)}")
    return lines


def cause_lines(causes: Causes | None, *, everything: bool = False) -> list[str]:
    """For each bit that differs its votes, and the features that moved it; then the n-grams of slots and bands."""
    if causes is None:
        return []
    if causes.shown:
        return [f"what moved them: {SHOWN}"]
    lines = ["bits that differ, their votes in A and B, and the features that moved them"]
    rows = []
    for bit in causes.bits:
        by = ", ".join(f"{share.feature} {share.change:+.2f}" for share in bit.by)
        rows.append((f"bit {bit.bit}", f"{bit.a:+.2f}", f"{bit.b:+.2f}", by))
    lines += aligned(rows, right=(1, 2), gap=3, indent="   ") or ["   (none)"]
    return [*lines, "", *_places(causes, everything)]


def rule_lines(rules: Sequence[NearRule]) -> list[str]:
    """Each rule with its conditions, and the first that holds."""
    decided = next((rule.name for rule in rules if rule.holds), None)
    lines = []
    for rule in rules:
        told = "holds, and decides" if rule.name == decided else "holds, too" if rule.holds else "does not hold"
        lines.append(f"rule {rule.name}: {told}")
        rows = [("yes" if asked.holds else "no", asked.asks, asked.found) for asked in rule.conditions]
        lines += aligned(rows, gap=3, indent="   ")
    return lines


def spelled(place: MovedPlaces) -> str:
    """The n-gram; a mark stands where a text begins or ends."""
    return " ".join(unit or "¶" for unit in place.ngram)


def numbers(of: Sequence[int]) -> str:
    """For a few places their numbers, for many how many."""
    return ", ".join(map(str, of)) if of else "-"


def _places(causes: Causes, everything: bool) -> list[str]:
    differ = "" if causes.slots is None else f"{causes.slots} of {SLOTS} slots and "
    lines = [f"{differ}{len(causes.bands)} of {BANDS} bands differ; these n-grams of one text alone hold them"]
    if causes.lengths:
        lines.append(
            f"   band {numbers(causes.lengths)}: of bigrams in the shorter text and of trigrams in the longer one"
        )
    shown = causes.places if everything else causes.places[:TOP]
    lines += [
        f"{place.side}  {spelled(place)}   slots {numbers(place.slots)}   bands {numbers(place.bands)}"
        for place in shown
    ]
    if len(shown) < len(causes.places):
        lines.append(f"   … {len(causes.places) - len(shown)} more: --all shows them")
    return lines


def _marked(runs: Sequence[Run], marks: str) -> str:
    """The words in a line, those of one text alone between marks."""
    found = (f"{marks[:2]}{run.text}{marks[2:]}" if run.kind == "changed" else run.text for run in runs)
    return " ".join("".join(found).split())
