"""What a crawl knows of its groups of requests: as much as fits, and what became of requests by what it knew."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from crawler_plugin.feedback.decision import FeedbackPolicy, RequestDecision, decide, draw_of
from crawler_plugin.feedback.evidence import GroupCounts, count_verdict, weigh
from crawler_plugin.feedback.explored import ExploredPages
from crawler_plugin.feedback.url_groups import groups_of

MOST_GROUPS: Final = 10_000
"""Some 4 MB. Those that were used last stay."""


class TemplateMemory:
    """Counts by group. Belongs to one thread."""

    def __init__(
        self, policy: FeedbackPolicy, known: Mapping[str, GroupCounts] | None = None, *, most: int = MOST_GROUPS
    ) -> None:
        self._policy = policy
        self._most = most
        self._groups = OrderedDict(known or {})
        self._decisions: dict[str, Counter[RequestDecision]] = {}
        self._explored = ExploredPages(policy.explore)

    def __iter__(self) -> Iterator[tuple[str, GroupCounts]]:
        """All groups, those that were used last at the end."""
        return iter(self._groups.items())

    def __len__(self) -> int:
        return len(self._groups)

    def get(self, group: str) -> GroupCounts | None:
        """What is known of it."""
        return self._groups.get(group)

    def learn(self, url: str, verdict: str) -> None:
        """The page has its verdict. One that could not be read says nothing of the next one."""
        self._explored.learn(url, is_copy=verdict == "duplicate")
        if verdict in ("unique", "refetch", "duplicate"):
            known = [self._used(group) for group in groups_of(url).all]
            count_verdict(known, self._policy.least, is_new=verdict != "duplicate")
            self._forget()

    def decide(self, url: str, *, was_postponed: bool = False) -> RequestDecision:
        """What is to become of a request, by the verdicts and the budgets of its groups."""
        groups = groups_of(url)
        if self._is_over_budget(groups.own):
            return RequestDecision.OVER_BUDGET
        evidence = weigh([self._groups.get(group) for group in groups.all], self._policy.least)
        if evidence is None or not evidence.says_copies:
            return RequestDecision.LET_GO
        group = groups.all[evidence.depth]
        draw = draw_of(url, self._policy.seed)
        may_drop = self._explored.may_drop(group)
        decision = decide(evidence, self._policy, draw, may_drop=may_drop, was_postponed=was_postponed)
        if decision is RequestDecision.DROPPED:
            self._explored.drop(group)
        elif decision is not RequestDecision.POSTPONED:
            self._explored.ask(url, group)
        if decision is not RequestDecision.LET_GO:
            self._note(group, decision)
        return decision

    def _is_over_budget(self, own: Sequence[str]) -> bool:
        for group in own if self._policy.budget else ():
            counts = self._groups.get(group)
            if counts is not None and counts.fetched >= self._policy.budget:
                self._note(group, RequestDecision.OVER_BUDGET)
                return True
        return False

    def let_go(self, url: str) -> None:
        """The request is made."""
        for group in groups_of(url).own:
            self._used(group).fetched += 1
        self._forget()

    def decisions(self) -> list[tuple[str, GroupCounts, Counter[RequestDecision]]]:
        """What was decided on what each group knew, or on its budget, those with the most first."""
        found = [(group, self._groups[group], counted) for group, counted in self._decisions.items()]
        return sorted(found, key=lambda each: (-each[2].total(), each[0]))

    def _note(self, group: str, decision: RequestDecision) -> None:
        self._used(group)
        self._decisions.setdefault(group, Counter())[decision] += 1
        self._forget()

    def _used(self, group: str) -> GroupCounts:
        counts = self._groups.setdefault(group, GroupCounts())
        self._groups.move_to_end(group)
        return counts

    def _forget(self) -> None:
        while len(self._groups) > self._most:
            group, _ = self._groups.popitem(last=False)
            self._decisions.pop(group, None)
            self._explored.forget(group)
