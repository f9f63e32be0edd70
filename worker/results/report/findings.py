"""Suspicious results of a scan: each with its evidence and the next move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from crawler_plugin.wire.counted import counted
from worker.results.report.group_pictures import GroupPicture
from worker.results.report.markup import address, percent, whole
from worker.results.report.tally import SHORT, Tally

_SHOWN: Final = 10
_LEAST_PAGES: Final = 10
"""Fewer pages of a template, or of a group, prove nothing."""
_LEAST_TAKEN: Final = 3
"""Copies under titles of their own; two may have them by chance."""
_UNRELATED_TEMPLATES: Final = 4
_ONE_SITE: Final = 0.9
"""With this share of a group's pages or more, the group is one host's, or one template's."""
_MANY_HOSTS: Final = 4
_NOTICE_TOKENS: Final = 150
"""A text that many hosts share is rather a notice than an article if it has fewer tokens."""
_ALIKE: Final = 0.9
"""Similarity below which the pages of a group differ in more than a number."""
_NOTICEABLE: Final = 0.01
"""Share of all pages with which a finding is worth reporting."""


@dataclass(frozen=True)
class Finding:
    """``says`` is the observation, ``evidence`` a table of it, ``next_move`` what to do about it."""

    title: str
    says: str
    heads: tuple[str, ...]
    evidence: tuple[tuple[object, ...], ...]
    next_move: str


def findings(tally: Tally, groups: Sequence[GroupPicture]) -> list[Finding]:
    """All findings, none if nothing looks wrong."""
    return [
        *_suspects(tally),
        *_one_text_under_many_paths(groups),
        *_notices(groups),
        *_one_template(groups),
        *_templates_of_duplicates(tally),
        *_short_pages(tally),
        *_dead_pages(tally),
    ]


def _suspects(tally: Tally) -> Iterator[Finding]:
    found = tally.takers.suspects(_LEAST_TAKEN)
    if found:
        pages = sum(one.copies for one in found)
        yield Finding(
            "Different pages that are taken for one",
            f"{whole(pages)} duplicates of {counted(len(found), 'kept page')}, "
            f"{percent(pages, tally.kinds['duplicate'])} of all duplicates: nearly all pages of their templates, with "
            "titles that all differ. Copies mostly share the title of their original.",
            ("kept page", "duplicates", "template", "for example"),
            tuple((address(one.url), whole(one.copies), one.template, address(one.example)) for one in found[:_SHOWN]),
            "Compare the kept page with the example: python -m worker explain PAGE PAGE. If they are different, see "
            "which lines are kept (python -m worker explain --blocks PAGE), render pages that scripts fill, or raise "
            "near.threshold; --write unique keeps the duplicates of a page that has 20 or more of them.",
        )


def _one_text_under_many_paths(groups: Sequence[GroupPicture]) -> Iterator[Finding]:
    found = [
        group
        for group in groups
        if group.size >= _LEAST_PAGES
        and _share_of_most(group.hosts.most_common(1)) >= _ONE_SITE * group.looked_at
        and len(group.templates) >= max(_UNRELATED_TEMPLATES, group.looked_at // 10)
    ]
    if found:
        yield Finding(
            "One text under many unrelated paths",
            f"{_groups(found)} of one host each, whose paths have nothing in common: often an error page that is sent "
            "with status 200, a login or a page for robots.",
            ("kept page", "pages", "different paths", "tokens", "for example"),
            tuple(
                (address(g.url), whole(g.size), whole(len(g.templates)), whole(g.tokens), address(g.urls[-1]))
                for g in found[:_SHOWN]
            ),
            "Open two of the pages. If the text is an error or a notice, let the spider drop such responses, or send "
            "fewer requests; the real pages of these URLs were not fetched.",
        )


def _notices(groups: Sequence[GroupPicture]) -> Iterator[Finding]:
    found = [
        group
        for group in groups
        if group.size >= _LEAST_PAGES and len(group.hosts) >= _MANY_HOSTS and group.tokens < _NOTICE_TOKENS
    ]
    if found:
        yield Finding(
            "A short text on many hosts",
            f"{_groups(found)} of {_MANY_HOSTS} hosts or more, and fewer than {_NOTICE_TOKENS} tokens: more likely "
            "boilerplate, such as a cookie notice or a parked domain, than a copied article.",
            ("kept page", "pages", "hosts", "tokens"),
            tuple((address(g.url), whole(g.size), whole(len(g.hosts)), whole(g.tokens)) for g in found[:_SHOWN]),
            "See which lines of such a page are kept: python -m worker explain --blocks PAGE. Pages that scripts fill "
            "have to be rendered before they are compared.",
        )


def _one_template(groups: Sequence[GroupPicture]) -> Iterator[Finding]:
    found = [
        group
        for group in groups
        if group.size >= _LEAST_PAGES
        and _share_of_most(group.templates.most_common(1)) >= _ONE_SITE * group.looked_at
        and group.similarity is not None
        and group.similarity < _ALIKE
    ]
    if found:
        yield Finding(
            "Pages of one template that differ in more than a number",
            f"{_groups(found)} of one template each, which are similar and not equal: products, profiles or places "
            "that share all but a few words are duplicates only if these words do not count.",
            ("kept page", "pages", "similarity", "template"),
            tuple(
                (address(g.url), whole(g.size), f"{g.similarity:.2f}", g.templates.most_common(1)[0][0])
                for g in found[:_SHOWN]
            ),
            "Read a pair of them side by side below. If they should be told apart, raise near.threshold or lower "
            "near.k, by labelled pairs of your own: python -m worker calibrate.",
        )


def _templates_of_duplicates(tally: Tally) -> Iterator[Finding]:
    found = [one for one in tally.templates.all() if one.judged >= _LEAST_PAGES and one.unique == 0]
    if found:
        pages = sum(one.judged for one in found)
        yield Finding(
            "Templates that give only duplicates",
            f"{whole(len(found))} templates with {whole(pages)} pages, {percent(pages, tally.pages)} of all, brought "
            "no page that was new.",
            ("template", "pages", "duplicates", "refetches"),
            tuple((one.name, whole(one.judged), whole(one.duplicates), whole(one.refetches)) for one in found[:_SHOWN]),
            "Let the spider leave these links alone, such as print versions, session numbers and sorted lists: each "
            "page of them costs a fetch and brings nothing.",
        )


def _short_pages(tally: Tally) -> Iterator[Finding]:
    hosts = tally.short.all()
    pages, judged = sum(one.judged for one in hosts), tally.pages - tally.kinds["dead"]
    if pages >= max(_LEAST_PAGES, _NOTICEABLE * judged):
        yield Finding(
            "Very short pages",
            f"{whole(pages)} pages, {percent(pages, judged)}, have fewer than {SHORT} tokens of main text; "
            f"{whole(sum(one.duplicates for one in hosts))} of them are duplicates. Two edits decide whether such "
            "pages are near.",
            ("host", "short pages", "duplicates"),
            tuple((one.name, whole(one.judged), whole(one.duplicates)) for one in hosts[:_SHOWN]),
            "See what is left of such a page and by which rule: python -m worker explain --blocks PAGE. If scripts "
            "fill the page, render it first.",
        )


def _dead_pages(tally: Tally) -> Iterator[Finding]:
    dead, pageless = tally.kinds["dead"], tally.pageless
    of = tally.pages + pageless
    if dead + pageless >= max(1, _NOTICEABLE * of):
        yield Finding(
            "Pages that could not be read",
            f"{whole(dead)} pages have no verdict, and {whole(pageless)} records hold no page that can be read: "
            f"{percent(dead + pageless, of)} of all.",
            ("reason", "how many", "the first one: file, place and why"),
            tuple(
                (reason, whole(count), tally.dead_examples[reason]) for reason, count in tally.dead.most_common(_SHOWN)
            ),
            "The dead letters of the scan name each with its place; the handbook lists the reasons under topics and "
            "records.",
        )


def _share_of_most(most: Sequence[tuple[str, int]]) -> int:
    return most[0][1] if most else 0


def _groups(found: Sequence[GroupPicture]) -> str:
    return f"{counted(len(found), 'group')} with {whole(sum(group.size for group in found))} pages"
