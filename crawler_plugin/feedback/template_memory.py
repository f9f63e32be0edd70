"""A crawl's memory of its groups of requests, as much as fits, and of the decisions on requests."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from crawler_plugin.feedback.decision import FeedbackPolicy, RequestDecision, decide, draw_of
from crawler_plugin.feedback.evidence import Evidence, GroupCounts, count_verdict, weigh
from crawler_plugin.feedback.explored import ExploredPages
from crawler_plugin.feedback.same_pages import SamePages
from crawler_plugin.feedback.url_groups import groups_of
from crawler_plugin.feedback.variation_evidence import VariationEvidence
from crawler_plugin.feedback.variations import spelt, variations_of

MOST_GROUPS: Final = 10_000
"""Some 4 MB. The groups that were used last are kept."""

MOST_LEFT_OUT: Final = 4
"""Parts of one URL that are left out, one after the other, to find the page that it is a variation of."""


class TemplateMemory:
    """Counts by group. Belongs to one thread."""

    def __init__(
        self,
        policy: FeedbackPolicy,
        known: Mapping[str, GroupCounts] | None = None,
        variations: VariationEvidence | None = None,
        *,
        most: int = MOST_GROUPS,
    ) -> None:
        self._policy = policy
        self._most = most
        self._groups = OrderedDict(known or {})
        self._decisions: dict[str, Counter[RequestDecision]] = {}
        self._explored = ExploredPages(policy.explore)
        self._pages = SamePages()
        self.variations = variations or VariationEvidence()
        """Evidence on variations that is never dropped."""

    def __iter__(self) -> Iterator[tuple[str, GroupCounts]]:
        """All groups, the last used at the end."""
        return iter(self._groups.items())

    def __len__(self) -> int:
        return len(self._groups)

    def get(self, group: str) -> GroupCounts | None:
        """The counts of the group."""
        return self._groups.get(group)

    def learn(self, url: str, verdict: str, duplicate_of: str | None = None) -> None:
        """Learn from a page's verdict. A page that could not be read says nothing of the next one."""
        self._explored.learn(url, is_copy=verdict == "duplicate")
        if verdict not in ("unique", "refetch", "duplicate"):
            return
        self._count(groups_of(url).all, is_new=verdict != "duplicate")
        if verdict == "unique" or duplicate_of:
            for compared in self._pages.learn(spelt(url), duplicate_of or spelt(url)):
                self._count(compared.variation.groups, is_new=not compared.is_same)
                self.variations.learn(compared)

    def _count(self, groups: Sequence[str], *, is_new: bool) -> None:
        count_verdict([self._used(group) for group in groups], self._policy.least, is_new=is_new)
        self._forget()

    def decide(self, url: str, was: RequestDecision | None = None) -> RequestDecision:
        """Decide on a request, by the verdicts and the budgets of its groups, and by the earlier decision on it."""
        groups = groups_of(url)
        if self._is_over_budget(groups.own):
            return RequestDecision.OVER_BUDGET
        draw = draw_of(url, self._policy.seed)
        found, base = self._weighed(groups.all), None
        if found is None:
            found, base = self._varied(spelt(url))
            found = found if self._pages.is_asked(base) else None
        if found is None:
            return self._waiting(url, groups.own, draw, was)
        group, evidence = found
        may_drop = self._explored.may_drop(group) and (base is None or self._pages.is_seen(base))
        was_postponed = was is RequestDecision.POSTPONED
        decision = decide(evidence, self._policy, draw, may_drop=may_drop, was_postponed=was_postponed)
        if decision is RequestDecision.DROPPED:
            self._explored.drop(group)
        elif decision is not RequestDecision.POSTPONED:
            self._explored.ask(url, group)
        if decision is not RequestDecision.LET_GO:
            self._note(group, decision)
        return decision

    def _weighed(self, groups: Sequence[str]) -> tuple[str, Evidence] | None:
        """The group whose evidence says that the next page is a copy, with that evidence."""
        evidence = weigh([self._groups.get(group) for group in groups], self._policy.least)
        return (groups[evidence.depth], evidence) if evidence is not None and evidence.says_copies else None

    def _varied(self, url: str) -> tuple[tuple[str, Evidence] | None, str]:
        """The kind of variation that says so, if there is one, and the URL without that variation."""
        found = None
        for _ in range(MOST_LEFT_OUT):
            for variation in variations_of(url):
                known = self._weighed(variation.groups) if variation.wide_group in self._groups else None
                if known is not None:
                    found, url = known, variation.base
                    break
            else:
                break
        return found, url

    def _waiting(self, url: str, own: Sequence[str], draw: float, was: RequestDecision | None) -> RequestDecision:
        """Whether to put a request behind more promising ones, while little is known."""
        decision = RequestDecision.LET_GO
        for group in (*own[:1], *self._kinds_of(url)):
            counts = self._groups.get(group)
            if counts is None:
                continue
            if counts.is_doubted(self._policy.least):
                if draw >= self._policy.explore and was is not RequestDecision.DOUBTED:
                    return RequestDecision.DOUBTED
            elif was is None and counts.is_tried(hears_all=group in own):
                decision = RequestDecision.WAITED
        return decision

    def _kinds_of(self, url: str) -> list[str]:
        """The groups of the URL's kinds of variation, as far as the varied pages were requested."""
        return [each.wide_group for each in variations_of(spelt(url)) if self._pages.is_asked(each.base)]

    def _is_over_budget(self, own: Sequence[str]) -> bool:
        for group in own if self._policy.budget else ():
            counts = self._groups.get(group)
            if counts is not None and counts.fetched >= self._policy.budget:
                self._note(group, RequestDecision.OVER_BUDGET)
                return True
        return False

    def let_go(self, url: str) -> None:
        """Note that the request is made."""
        for group in (*groups_of(url).own, *self._kinds_of(url)):
            self._used(group).fetched += 1
        self._pages.ask(spelt(url))
        self._pages.ask(self._varied(spelt(url))[1])
        self._forget()

    def decisions(self) -> list[tuple[str, GroupCounts, Counter[RequestDecision]]]:
        """The decisions that rested on each group's evidence or budget, the groups with the most decisions first."""
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
