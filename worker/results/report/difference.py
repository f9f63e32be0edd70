"""Two texts side by side: hunks of differences, with some words around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import Final, Literal, NamedTuple

from worker.results.report.words import Cut, Word, words

_MOST_WORDS: Final = 20_000
_MOST_CHARACTERS: Final = 400_000
"""Characters of a text; people want to read the difference, and text without a blank is cut in one go."""
AROUND: Final = 12
"""Words that are shown on either side of a difference."""
_MOST_COMPARED: Final = 1500
"""Words between the first and the last difference that are compared; the time grows with their square."""
_MOST_SHOWN: Final = 500
"""Words of a side."""

Kind = Literal["same", "changed"]


class Run(NamedTuple):
    """Words that are in both, or in this one alone; ``text`` may leave some of them out."""

    kind: Kind
    text: str
    words: int


@dataclass(frozen=True)
class Hunk:
    """The two sides of a hunk."""

    left: tuple[Run, ...]
    right: tuple[Run, ...]


@dataclass(frozen=True)
class TextDifference:
    """``same`` counts words that are in both, ``removed`` and ``added`` those of one side alone. ``cut`` says that the
    texts go on: the rest is neither compared nor counted."""

    hunks: tuple[Hunk, ...]
    same: int
    removed: int
    added: int
    cut: bool


class _Change(NamedTuple):
    a: int
    a_end: int
    b: int
    b_end: int


def difference_of(a: str, b: str, cut: Cut) -> TextDifference:
    """The difference of two texts in words, in their spelling; of long texts only the beginnings."""
    return difference(*(tuple(islice(words(text[:_MOST_CHARACTERS], cut), _MOST_WORDS)) for text in (a, b)))


def how_much(found: TextDifference) -> str:
    """The message if the texts are longer than the part that was compared; nothing if they are not."""
    longer = found.same + max(found.removed, found.added)
    return f" (of the first {_MOST_WORDS:,} words)" if longer >= _MOST_WORDS else ""


def difference(a: Sequence[Word], b: Sequence[Word]) -> TextDifference:
    """The fewest changes that are easily found, in the order of the texts."""
    changes, end_a, cut = _changes(a, b)
    removed, added = (sum(c.a_end - c.a for c in changes), sum(c.b_end - c.b for c in changes))
    hunks: list[Hunk] = []
    shown = 0
    for group in _grouped(changes):
        hunk = _hunk(a, b, group, min(AROUND, group[0].a), min(AROUND, end_a - group[-1].a_end))
        hunks.append(hunk)
        shown += sum(run.words for run in (*hunk.left, *hunk.right))
        if shown > 2 * _MOST_SHOWN:
            cut = True
            break
    return TextDifference(tuple(hunks), end_a - removed, removed, added, cut)


def _changes(a: Sequence[Word], b: Sequence[Word]) -> tuple[list[_Change], int, bool]:
    """The changes up to where the texts are compared: the place in ``a``, and whether they go on."""
    keys_a, keys_b = [word.key for word in a], [word.key for word in b]
    least = min(len(keys_a), len(keys_b))
    begin = next((n for n in range(least) if keys_a[n] != keys_b[n]), least)
    behind = next((n for n in range(least - begin) if keys_a[-1 - n] != keys_b[-1 - n]), least - begin)
    end_a, end_b = len(a) - behind, len(b) - behind
    cut = max(end_a, end_b) - begin > _MOST_COMPARED
    if cut:
        end_a, end_b = min(end_a, begin + _MOST_COMPARED), min(end_b, begin + _MOST_COMPARED)
    matcher = SequenceMatcher(None, keys_a[begin:end_a], keys_b[begin:end_b], autojunk=False)
    changes = [
        _Change(begin + i, begin + i_end, begin + j, begin + j_end)
        for kind, i, i_end, j, j_end in matcher.get_opcodes()
        if kind != "equal"
    ]
    return changes, end_a if cut else len(a), cut


def _grouped(changes: Sequence[_Change]) -> list[list[_Change]]:
    """Changes with fewer equal words between them than would be shown around them."""
    groups: list[list[_Change]] = []
    for change in changes:
        if groups and change.a - groups[-1][-1].a_end <= 2 * AROUND:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(a: Sequence[Word], b: Sequence[Word], group: Sequence[_Change], before: int, behind: int) -> Hunk:
    """Both sides of a group of changes, with this many equal words before and after it."""
    left, right = [_run("same", a, group[0].a - before, group[0].a)], [_run("same", b, group[0].b - before, group[0].b)]
    for number, change in enumerate(group):
        left += _changed(a, change.a, change.a_end)
        right += _changed(b, change.b, change.b_end)
        length = group[number + 1].a - change.a_end if number + 1 < len(group) else behind
        left.append(_run("same", a, change.a_end, change.a_end + length))
        right.append(_run("same", b, change.b_end, change.b_end + length))
    kept = (tuple(run for run in runs if run.text) for runs in (left, right))
    return Hunk(*kept)


def _run(kind: Kind, text: Sequence[Word], begin: int, end: int) -> Run:
    return Run(kind, "".join(word.text + word.behind for word in text[begin:end]), end - begin)


def _changed(text: Sequence[Word], begin: int, end: int) -> list[Run]:
    """Words of one side alone, and the text after the last of them, which is no word and not marked. A text that is in
    one page alone may be as long as the page."""
    if begin == end:
        return []
    shown = min(end, begin + _MOST_SHOWN // 2)
    last = text[shown - 1]
    more = f" … ({end - shown:,} more) " if shown < end else ""
    before = _run("changed", text, begin, shown - 1).text
    return [Run("changed", before + last.text + more, end - begin), Run("same", last.behind, 0)]
