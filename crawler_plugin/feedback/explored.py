"""How many requests may be dropped, by what the pages have shown that were made in spite of what is known.

Dropping is for good. So a group has at most ``most`` requests dropped after the last of its *explored* pages (those
asked for since it is known for copies) whose verdict says that it is one. Before the first such verdict nothing is
dropped, and nothing after a page that is new. A site that lays out copies first, and honest pages of the same template
behind them, so loses at most ``most`` of these, however late verdicts come: what may not be dropped is postponed, and
made when nothing better waits, if its template has new pages by then.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, NamedTuple

from crawler_plugin.feedback.variations import spelt

MOST_AHEAD: Final = 100
"""Requests that are dropped at most from one explored page to the next, however few are explored."""
MOST_ASKED: Final = 10_000
"""Explored pages whose verdicts are to come; some 2 MB. Those that redirect elsewhere never have one."""


@dataclass(slots=True)
class _Group:
    dropped: int = 0
    allowed: int = 0
    """Up to so many of ``dropped``."""
    new: int = 0
    """The number of the last page that was new."""


class _Asked(NamedTuple):
    number: int
    group: str
    dropped: int
    """What the group had dropped when the page was asked for."""


class ExploredPages:
    """Of all groups. ``explore`` is the share of requests that is made in spite of what is known."""

    def __init__(self, explore: float) -> None:
        self.most: Final = round(min(2 / explore, MOST_AHEAD))
        self._groups: dict[str, _Group] = {}
        self._asked: OrderedDict[str, _Asked] = OrderedDict()
        self._number = 0

    def ask(self, url: str, group: str) -> None:
        """A request is made in spite of what is known of the group."""
        self._number += 1
        known = self._groups.setdefault(group, _Group())
        self._asked[spelt(url)] = _Asked(self._number, group, known.dropped)
        if len(self._asked) > MOST_ASKED:
            self._asked.popitem(last=False)

    def learn(self, url: str, *, is_copy: bool) -> None:
        """A page has its verdict, an explored one or another."""
        asked = self._asked.pop(spelt(url), None) if self._asked else None
        known = None if asked is None else self._groups.get(asked.group)
        if asked is None or known is None:
            return
        if not is_copy:
            known.new = max(known.new, asked.number)
            known.allowed = 0
        elif asked.number > known.new:
            known.allowed = max(known.allowed, asked.dropped + self.most)

    def may_drop(self, group: str) -> bool:
        """Whether one more request of the group may be dropped."""
        known = self._groups.get(group)
        return known is not None and known.dropped < known.allowed

    def drop(self, group: str) -> None:
        """It is."""
        self._groups[group].dropped += 1

    def forget(self, group: str) -> None:
        """Nothing is known of the group any more."""
        self._groups.pop(group, None)
