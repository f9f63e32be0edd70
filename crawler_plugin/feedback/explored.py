"""How many requests may be dropped, by the verdicts on pages that were fetched in spite of the evidence.

Dropping is for good. A group's *explored* pages are those that were requested after the group was known for copies.
After the last explored page that turned out to be a copy, at most ``most`` requests of the group are dropped. Nothing
is dropped before the first such verdict, and nothing after a new page. So a site that lays out copies first, and honest
pages of the same template behind them, loses at most ``most`` of the honest pages, however late verdicts come: a
request that may not be dropped is postponed, and made when nothing better waits, if its template has new pages by then.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, NamedTuple

from crawler_plugin.feedback.variations import spelt

MOST_AHEAD: Final = 100
"""The most requests dropped from one explored page to the next, however few are explored."""
MOST_ASKED: Final = 10_000
"""The most explored pages that wait for a verdict; some 2 MB. Pages that redirect elsewhere never get one."""


@dataclass(slots=True)
class _Group:
    dropped: int = 0
    allowed: int = 0
    """``dropped`` may rise to this number."""
    new: int = 0
    """The number of the last new page."""


class _Asked(NamedTuple):
    number: int
    group: str
    dropped: int
    """How many requests the group had dropped when the page was requested."""


class ExploredPages:
    """The explored pages of all groups. ``explore`` is the share of requests that are made in spite of the evidence."""

    def __init__(self, explore: float) -> None:
        self.most: Final = round(min(2 / explore, MOST_AHEAD))
        self._groups: dict[str, _Group] = {}
        self._asked: OrderedDict[str, _Asked] = OrderedDict()
        self._number = 0

    def ask(self, url: str, group: str) -> None:
        """Note a request that is made in spite of the evidence on its group."""
        self._number += 1
        known = self._groups.setdefault(group, _Group())
        self._asked[spelt(url)] = _Asked(self._number, group, known.dropped)
        if len(self._asked) > MOST_ASKED:
            self._asked.popitem(last=False)

    def learn(self, url: str, *, is_copy: bool) -> None:
        """Take in the verdict on a page, explored or not."""
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
        """Count a dropped request of the group."""
        self._groups[group].dropped += 1

    def forget(self, group: str) -> None:
        """Forget the group."""
        self._groups.pop(group, None)
