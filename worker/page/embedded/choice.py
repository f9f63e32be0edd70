"""Which of the things that a page's scripts tell of is the page's own, and whether it stands for the visible text.

1. An article of JSON-LD with its body; of several the one that the page announces, else the longest.
2. The longest of the things that the page announces, of JSON-LD before those of a state: by the title, in which the
   thing's own one stands or whose words stand in its texts, or by a visible sentence that it has as well. One that is
   much shorter than others is the site's description of itself.
3. What else JSON-LD is about, then the thing with the most text.

It stands for a visible text of few words, of which it has many times as much: that is the shell of a page which
scripts fill. Where they have filled it, the visible text counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from worker.page.elements.markup import Parsed
from worker.page.embedded.linked_data import linked_data
from worker.page.embedded.literals import literals
from worker.page.embedded.prose import number_of_words, plain
from worker.page.embedded.scripts import scripts_of
from worker.page.embedded.state import is_wanted, things
from worker.page.embedded.told import Told
from worker.page.main_text.tally import LONG_LINE
from worker.page.main_text.title import LONGEST_TITLE, is_announced, read_title

MOST_OF_A_SHELL: Final = 80
"""Words, links included, of a visible text that may be a shell's."""
TIMES: Final = 2
"""How many times the words of the shell the text in the scripts has. A summary beside the article has fewer."""
LEAST_WORDS: Final = 10
"""Words of a text in the scripts, as of a page that is compared by more than its whole text."""
LEAST_MEAN: Final = 25
"""Words of the strings of something without a title, in the mean. Messages of programs have fewer."""
LEAST_NAMED: Final = 0.2
LEAST_SAID: Final = 0.5
"""Share of the longest thing's words that one has which the page's title names; and one that has words of the title, or
a visible sentence, in its texts."""


def told_instead(page: Parsed, title: str | None, visible: str, words: int) -> Told | None:
    """What the page's scripts tell in place of its visible text of so many words, None where that counts."""
    if words > MOST_OF_A_SHELL:
        return None
    scripts = scripts_of(page)
    if not scripts.linked_data and not scripts.states:
        return None
    of_page = linked_data(literals(scripts.linked_data))
    told = _longest(_announced(of_page.bodies, title, visible)) or _longest(of_page.bodies)
    told = told or _longest(_announced(of_page.others, title, visible))
    if told is None:
        state = things(literals(scripts.states, is_wanted))
        state = [each for each in state if each.title or _is_of_long_strings(each)]
        told = _longest(_announced([*of_page.others, *state], title, visible))
        told = told or _longest(of_page.others) or _longest(filter(_announces_itself, state))
    return told if told is not None and told.words >= max(LEAST_WORDS, TIMES * words) else None


def _is_of_long_strings(told: Told) -> bool:
    return told.words >= LEAST_MEAN * len(told.texts)


def _announces_itself(told: Told) -> bool:
    """Whether its title does; what has none does."""
    return not told.title or is_announced("\n".join(map(plain, told.texts)), told.title)


def _longest(told: Iterable[Told]) -> Told | None:
    return max(told, key=lambda each: each.words, default=None)


def _announced(told: list[Told], title: str | None, visible: str) -> list[Told]:
    most = max((each.words for each in told), default=0)
    spelled = " ".join((title or "").split()).casefold()
    return [each for each in told if _announcing(each, spelled, visible) * each.words >= most]


def _announcing(told: Told, title: str, visible: str) -> float:
    """How many times as long others may be; 0 where the page does not announce it."""
    own = " ".join((told.title or "").split()).casefold()
    if title and own and (own in title or (read_title(title).first or title) in own):
        return 1 / LEAST_NAMED
    text = "\n".join(map(plain, told.texts))
    if is_announced(text, title[:LONGEST_TITLE]):
        return 1 / LEAST_SAID
    said = (line for line in visible.splitlines() if number_of_words(line) >= LONG_LINE)
    return 1 / LEAST_SAID if any(line in text for line in said) else 0
