"""Where verdicts and main texts fail today, class by class, with an example of each: a page of the handbook.

Only free texts are quoted, in a few words. Examples from other sets are named by ids and numbers.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tests.fingerprint.definition.segment import characters_and_words
from tools.quality.extraction import Extraction
from worker.evaluate.evaluation import Evaluation
from worker.evaluate.labels.labelled import META, Pair
from worker.fingerprint.fingerprinter import Fingerprinter
from worker.page.words.normalise import normalise

PREDICATE: Final = "accurate"
FREE: Final = "web"
"""The set that may be quoted. The texts of the other set belong to others."""
QUOTED: Final = 60
"""Characters of a text that are shown."""
WELL: Final = 0.8
"""The F1 of tokens from which on a text counts as well extracted: below it, two copies may have too little in common to
be near."""

SOURCES: Final = """\
Quotations are from [WCXB, the Web Content Extraction Benchmark](https://github.com/Murrough-Foley/web-content-extraction-benchmark),
version 1.0, by Murrough Foley (2026), and from the [Open Source Guides](https://github.com/github/opensource.guide), ©
their authors, both under [CC-BY-4.0](https://creativecommons.org/licenses/by/4.0/): shortened, and of derived pages put
into other templates."""


@dataclass(frozen=True)
class Side:
    """A page of a pair: its extracted text, and the right text."""

    id: str
    text: str
    truth: str

    @property
    def f1(self) -> float:
        """F1 of tokens, Chinese ones character by character."""
        found, truth = _tokens(self.text), _tokens(self.truth)
        return 2 * (found & truth).total() / max(1, found.total() + truth.total())


@dataclass(frozen=True)
class Failing:
    """Pairs of one class that are called wrongly, with one example.

    ``badly`` counts the pairs with a badly extracted side, ``same`` the pairs whose extracted texts are equal.
    ``similarity`` is the similarity of the example's sketches.
    """

    label: Literal[0, 1]
    name: str
    of: int
    languages: Counter[str]
    badly: int
    same: int
    example: tuple[Side, Side]
    similarity: float | None


def failing(by_html: Evaluation, by_text: Evaluation, fingerprinter: Fingerprinter) -> list[Failing]:
    """The wrongly called pairs by label and class, or by relation where pairs have no class, with ``PREDICATE`` on
    their HTML."""
    result = next(result for result in by_html.results if result.method.name == PREDICATE)
    groups: dict[tuple[Literal[0, 1], str], list[tuple[Pair, float | None]]] = {}
    of: Counter[tuple[Literal[0, 1], str]] = Counter()
    for pair, call in zip(by_html.labelled.pairs, result.calls, strict=True):
        if pair.label is None:
            continue
        key = pair.label, pair.facets.get("class") or pair.facets.get("relation", "")
        of[key] += 1
        if call.near != bool(pair.label):
            groups.setdefault(key, []).append((pair, call.sketch))

    def side(key: str) -> Side:
        documents = by_html.labelled.documents
        text = fingerprinter.text_of(documents[key].body.encode("utf-8", "replace"), META["html"].at(key))
        return Side(key, text, by_text.labelled.documents[key].body)

    found = []
    shown: set[str] = set()
    for (label, name), pairs in sorted(groups.items()):
        sides = [(side(pair.keys[0]), side(pair.keys[1])) for pair, _ in pairs]
        unseen = (place for place, (pair, _) in enumerate(pairs) if not shown.intersection(pair.keys))
        example = next(unseen, 0)
        shown.update(pairs[example][0].keys)
        found.append(
            Failing(
                label=label,
                name=name,
                of=of[label, name],
                languages=Counter(pair.language for pair, _ in pairs),
                badly=sum(min(a.f1, b.f1) < WELL for a, b in sides),
                same=sum(normalise(a.text) == normalise(b.text) for a, b in sides),
                example=sides[example],
                similarity=pairs[example][1],
            )
        )
    return found


def as_page(failed: Mapping[str, Sequence[Failing]], worst: Sequence[Extraction]) -> str:
    """The page, as Markdown."""
    parts = [
        "# Where it fails",
        "Written by `python -m tools.quality --publish`. Verdicts are those of `near.predicate=accurate` on HTML, by "
        f"default settings. A text is taken out *badly* if the F1 of its tokens is below {WELL}; the *same* text is "
        "taken out of both pages if their texts are equal after normalising. The example of a class is its first pair "
        "whose pages are not in an earlier example.",
    ]
    for name, groups in failed.items():
        for label, title in ((1, "near-duplicates that are not found"), (0, "other pages that are called near")):
            chosen = [group for group in groups if group.label == label]
            parts.append(f"## {name}: {title}")
            parts.append(_overview(chosen) if chosen else "None.")
            parts += [_example(group, quoted=name == FREE) for group in chosen]
    if worst:
        parts += ["## Main text: the worst page of each type", _worst(worst)]
    return "\n\n".join([*parts, "## Where quotations are from", SOURCES]) + "\n"


def _overview(groups: Sequence[Failing]) -> str:
    rows = [
        "| class | pairs | wrong | by language | text taken out badly | same text taken out |",
        "|---|---:|---:|---|---:|---:|",
    ]
    rows += [
        f"| `{group.name}` | {group.of:,} | {group.languages.total():,} | {_most(group.languages)} "
        f"| {group.badly:,} | {group.same:,} |"
        for group in sorted(groups, key=lambda group: -group.languages.total())
    ]
    return "\n".join(rows)


def _example(group: Failing, *, quoted: bool) -> str:
    similarity = "" if group.similarity is None else f", estimated similarity {group.similarity:.2f}"
    rows = [f"`{group.name}`{similarity}:", "", "| page | F1 | taken out | main content |", "|---|---:|---|---|"]
    rows += [
        f"| `{side.id}` | {side.f1:.2f} | {_told(side.text, quoted)} | {_told(side.truth, quoted)} |"
        for side in group.example
    ]
    return "\n".join(rows)


def _worst(pages: Sequence[Extraction]) -> str:
    rows = ["| type | page | F1 | taken out | main content |", "|---|---|---:|---|---|"]
    rows += [
        f"| {page.type} | `{page.id}`, {_safe(page.url, QUOTED)} | {page.f1:.2f} | {_told(page.text, True)} "
        f"| {_told(page.truth, True)} |"
        for page in pages
    ]
    return "\n".join(rows)


def _told(text: str, quoted: bool) -> str:
    count = f"{_tokens(text).total():,} tokens"
    return f"“{_safe(text, QUOTED)}”, {count}" if quoted and text.strip() else count


def _safe(text: str, most: int) -> str:
    """The beginning of a text in one line, without meaning in Markdown."""
    line = " ".join(text.split())
    shown = line if len(line) <= most else line[:most].rstrip() + "…"
    return re.sub(r"[\\`*_\[\]|~:#@]", lambda found: f"&#{ord(found[0])};", html.escape(shown, quote=False))


def _most(counted: Counter[str]) -> str:
    most = ", ".join(f"{name or '?'} {count:,}" for name, count in counted.most_common(4))
    return most + (f" and {len(counted) - 4} more" if len(counted) > 4 else "")


def _tokens(text: str) -> Counter[str]:
    return Counter(characters_and_words(normalise(text)))
