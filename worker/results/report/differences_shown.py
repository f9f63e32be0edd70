"""Pairs of pages side by side, words of one side alone marked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from worker.results.report.difference import Hunk, Run, TextDifference, difference_of
from worker.results.report.markup import Markup, address, escaped, joined, shortened, tag, whole
from worker.results.report.samples import SampledPair, TextKey, key_of
from worker.results.report.words import Cut

MOST_BYTES: Final = 1_300_000
"""Bytes of all pairs together; a report has to open at once, and to be sent by mail."""
_MOST_CHARACTERS: Final = 4_000
"""Characters of a run: a word may be as long as its page."""
_EMPTY_LINES: Final = re.compile(r"[^\S\n]*\n\s*\n")


def side_by_side(samples: Sequence[SampledPair], texts: Mapping[TextKey, str], cut: Cut) -> Markup:
    """A closed part for each pair, the first one open."""
    shown: list[Markup] = []
    size = 0
    for sample in samples:
        pair = _pair(sample, texts, cut, is_open=not shown)
        size += len(pair.encode())
        if size > MOST_BYTES:
            left = len(samples) - len(shown)
            shown.append(tag("p", f"{whole(left)} more pairs are left out, which would make this file too large."))
            break
        shown.append(pair)
    return joined(*shown)


def _pair(sample: SampledPair, texts: Mapping[TextKey, str], cut: Cut, *, is_open: bool) -> Markup:
    page = sample.page
    near = ["no fingerprint" if page.distance is None else f"distance {page.distance}"]
    near += [f"similarity {page.similarity:.2f}"] if page.similarity is not None else []
    near.append(page.reason)
    kept, copy = (texts.get(key_of(row)) for row in (sample.survivor, page))
    if kept is None or copy is None:
        told, body = "", tag("p", "This page is not in the input any more.", class_="quiet")
    else:
        found = difference_of(kept, copy, cut)
        told, body = f" · {_in_words(found)}", hunks_shown(found)
    heads = tag(
        "div",
        tag("p", tag("strong", "kept "), address(sample.survivor.url)),
        tag("p", tag("strong", "duplicate "), address(page.url)),
        class_="sides",
    )
    summary = tag("summary", tag("strong", near[0]), " · ", " · ".join(near[1:]), told)
    return tag("details", summary, heads, body, open="" if is_open else None, class_="pair")


def _in_words(found: TextDifference) -> str:
    if not found.removed and not found.added:
        return f"the same {whole(found.same)} words"
    more = " so far" if found.cut else ""
    return f"{whole(found.same)} words in both, {whole(found.removed)} removed, {whole(found.added)} added{more}"


def hunks_shown(found: TextDifference) -> Markup:
    """The differences, with the words around them; on the left words of the first text alone are marked."""
    if not found.hunks:
        return tag(
            "p", "No word differs; the pages may differ in parts that are not compared, such as menus.", class_="quiet"
        )
    hunks = [tag("div", _side(hunk, "del"), _side(hunk, "ins"), class_="sides hunk") for hunk in found.hunks]
    if found.cut:
        hunks.append(tag("p", "The texts go on, and differ further on as well.", class_="quiet"))
    return joined(*hunks)


def _side(hunk: Hunk, name: str) -> Markup:
    runs = hunk.left if name == "del" else hunk.right
    return tag("p", *(_run(run, name) for run in runs), dir="auto")


def _run(run: Run, name: str) -> Markup:
    text = _EMPTY_LINES.sub("\n", shortened(run.text, _MOST_CHARACTERS))
    return tag(name, text) if run.kind == "changed" else escaped(text)
