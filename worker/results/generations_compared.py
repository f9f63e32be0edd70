"""What other settings would change: the verdicts of two generations on the same pages, side by side."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.url_templates import address_of
from worker.terminal import aligned
from worker.verdict.decide import UNIQUE

_TOLD: Final = ("verdict", "duplicate_of", "distance", "similarity", "reason", "detail")
_MOST_NAMES: Final = 50_000
"""Hosts, and URL templates, that are counted separately: those that came first."""
_SHOWN: Final = 10
_EXAMPLES: Final = 3
"""Examples of each kind of change, chosen evenly."""
_OTHER_PAGE: Final = "duplicate of another page"
_FATES: Final = {
    UNIQUE: "survive there, too",
    "duplicate": "are duplicates there: an earlier page survives in their place",
    "refetch": "are refetches there: an earlier page of their URL survives",
    "dead": "are dead letters there",
}
"""What becomes of survivors, by the verdict of the other generation."""
_UNKNOWN: Final = "were not judged there so far: unless they are, a later copy of them will be unique"


class Changed(NamedTuple):
    """A page that the two generations judge differently."""

    was: Verdict
    now: Verdict

    @property
    def kind(self) -> tuple[str, str]:
        """The verdict before and the one now."""
        return self.was.verdict, _OTHER_PAGE if self.was.verdict == self.now.verdict else self.now.verdict

    def row(self) -> dict[str, Any]:
        """URL and place of the page, and both verdicts."""
        return {
            "url": self.now.url,
            "source": self.now.source,
            "was": self.was.row(_TOLD),
            "now": self.now.row(_TOLD),
        }

    def in_words(self) -> str:
        """For people: the page, and the survivors that it is or was near to."""
        near = [
            f"{when} {each.verdict} of {each.duplicate_of} ({each.reason})"
            for when, each in (("was", self.was), ("now", self.now))
            if each.duplicate_of is not None
        ]
        return f"{self.now.url}: {', '.join(near) or self.now.reason}"


@dataclass
class _Examples:
    count: int
    kept: list[Changed]


class GenerationsCompared:
    """Takes verdicts in any order; keeps those that only one of the two has given so far. ``seed`` chooses examples."""

    def __init__(self, seed: int = 0) -> None:
        self.same = 0
        """Pages with the same verdict in both."""
        self._fates: Final[Counter[str]] = Counter()
        self._risen = 0
        self._waiting: Final[tuple[dict[tuple[int, int], Verdict], ...]] = ({}, {})
        self._kinds: Final[dict[tuple[str, str], _Examples]] = {}
        self._hosts: Final[Counter[str]] = Counter()
        self._templates: Final[Counter[str]] = Counter()
        self._chance: Final = random.Random(seed)

    def changes(self, before: Iterable[Verdict], after: Iterable[Verdict]) -> Iterator[Changed]:
        """The pages that both judge, with different verdicts, in the order in which the difference shows."""
        for pair in zip_longest(before, after):
            for side, verdict in enumerate(pair):
                changed = None if verdict is None else self._take(side, verdict)
                if changed is not None:
                    self._count(changed)
                    yield changed

    def rows(self, before: Iterable[Verdict], after: Iterable[Verdict]) -> Iterator[dict[str, Any]]:
        """``Changed.row`` of all ``changes``, then one for each ``unknown`` survivor, whose ``now`` is None."""
        for changed in self.changes(before, after):
            yield changed.row()
        for verdict in self.unknown():
            yield {"url": verdict.url, "source": verdict.source, "was": verdict.row(_TOLD), "now": None}

    def unknown(self) -> Iterator[Verdict]:
        """The survivors of the first generation that the other has not judged so far."""
        return (verdict for verdict in self._waiting[0].values() if verdict.verdict == UNIQUE)

    @property
    def changed(self) -> int:
        """Pages that they judge differently."""
        return sum(kind.count for kind in self._kinds.values())

    def lines(self, names: Sequence[str]) -> Iterator[str]:
        """For people; ``names`` are those of the two."""
        both = self.same + self.changed
        yield f"{counted(both, 'page was', 'pages were')} judged by both; {self.changed:,} of them differently"
        for name, waiting in zip(names, self._waiting, strict=True):
            if waiting:
                yield f"{len(waiting):,} were judged only by {name} so far"
        yield from self._survivors(names)
        if not self.changed:
            return
        kinds = sorted(self._kinds.items(), key=lambda item: -item[1].count)
        rows = [(was, now, f"{kind.count:,}", f"{kind.count / both:.2%}") for (was, now), kind in kinds]
        yield from ("", *aligned([("was", "now", "pages", "of all"), *rows], right=(2, 3)))
        for what, counter in (("host", self._hosts), ("URL template", self._templates)):
            most = [(name, f"{count:,}") for name, count in counter.most_common(_SHOWN)]
            yield from ("", *aligned([(what, "pages"), *most], right=(1,)))
        for (was, now), kind in kinds:
            yield from ("", f"{was}, now {now}, for example:")
            yield from (f"  {each.in_words()}" for each in kind.kept)

    def _survivors(self, names: Sequence[str]) -> Iterator[str]:
        unknown = sum(1 for _ in self.unknown())
        rows = [(f"{self._fates[verdict]:,}", fate) for verdict, fate in _FATES.items() if self._fates[verdict]]
        rows += [(f"{unknown:,}", _UNKNOWN)] if unknown else []
        if rows:
            survivors = self._fates.total() + unknown
            yield from (
                "",
                f"{counted(survivors, 'page survives', 'pages survive')} by {names[0]}; of these by {names[1]}",
                *aligned(rows, right=(0,)),
            )
        if self._risen:
            yield f"{self._risen:,} more survive by {names[1]} alone"

    def _take(self, side: int, verdict: Verdict) -> Changed | None:
        ours, theirs = self._waiting[side], self._waiting[1 - side]
        other = theirs.pop(verdict.source, None)
        if other is None:
            ours[verdict.source] = verdict
            return None
        was, now = (other, verdict) if side else (verdict, other)
        if was.verdict == UNIQUE:
            self._fates[now.verdict] += 1
        self._risen += now.verdict == UNIQUE != was.verdict
        if (was.verdict, was.duplicate_of) == (now.verdict, now.duplicate_of):
            self.same += 1
            return None
        return Changed(was, now)

    def _count(self, changed: Changed) -> None:
        address = address_of(changed.now.url)
        for counter, name in ((self._hosts, address.host or "(no host)"), (self._templates, address.template)):
            if name in counter or len(counter) < _MOST_NAMES:
                counter[name] += 1
        kind = self._kinds.setdefault(changed.kind, _Examples(0, []))
        kind.count += 1
        if len(kind.kept) < _EXAMPLES:
            kind.kept.append(changed)
        elif (place := self._chance.randrange(kind.count)) < _EXAMPLES:  # Vitter 1985, algorithm R
            kind.kept[place] = changed
