"""The effect of each rule of the built-in extractor on labelled pages: how many it helps, and how many it hurts."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from benchmarks.report import table
from crawler_plugin.wire.errors import UsageError
from worker.evaluate.labels.lines import lines
from worker.page.main_text.content import main_content
from worker.page.main_text.rules import RULES, UNSEEN, Rule, without

if TYPE_CHECKING:
    from worker.config import Settings

_WORD: Final = re.compile(r"\w+")
_NOTICEABLE: Final = 0.02
"""Difference in F1 from which on a rule helps or hurts a page: a heading or a byline of a long page makes less."""

_HEAD: Final = """# Rules of extraction

Written by `python -m benchmarks extraction-rules PAGES --out docs/benchmarks/extraction-rules.md`, with PAGES of
{pages:,} pages with their main content, of {sites:,} sites. A rule helps a page if the word F1 of the page is lower by
{least} or more without the rule; *sites* counts the sites of such pages. The last column is the loss of the mean F1,
{f1:.4f}, without the rule. The rules are applied in this order, after `unseen`, which every page needs: scripts,
styles, forms and pictures are not shown as text. Rules that help copies and not F1 (`posts`, `notice`) are measured by
verdicts.

"""


@dataclass
class Effect:
    """The effect of one rule over pages: how many it helps and hurts, and the sum of differences in F1."""

    helped: int = 0
    hurt: int = 0
    gained: float = 0.0
    sites: set[str] = field(default_factory=set)


def word_f1(found: str, truth: str) -> float:
    """Harmonic mean of precision and recall of words as multisets; of no words, 1 where there should be none."""
    of_found, of_truth = (Counter(_WORD.findall(text.lower())) for text in (found, truth))
    if not of_found or not of_truth:
        return float(not of_found and not of_truth)
    return 2 * (of_found & of_truth).total() / (of_found.total() + of_truth.total())


def measure(pages: Iterable[tuple[str, str, str]]) -> tuple[dict[Rule, Effect], list[float], set[str]]:
    """From (site, markup, main content): the effect of each rule, F1 of each page with all rules, and the sites."""
    effects = {rule: Effect() for rule in RULES if rule.number != UNSEEN}
    with_all, sites = [], set()
    for site, markup, truth in pages:
        found = main_content(markup).text
        f1 = word_f1(found, truth)
        with_all.append(f1)
        sites.add(site)
        for rule, effect in effects.items():
            other = main_content(markup, without(rule)).text
            difference = 0.0 if other == found else f1 - word_f1(other, truth)
            effect.gained += difference
            effect.helped += difference >= _NOTICEABLE
            effect.hurt += difference <= -_NOTICEABLE
            if difference >= _NOTICEABLE:
                effect.sites.add(site)
    return effects, with_all, sites


def as_markdown(effects: dict[Rule, Effect], with_all: Sequence[float], sites: set[str]) -> str:
    """The page of the handbook."""
    pages = len(with_all)
    rows = [
        (
            f"`{rule.name}`",
            "drops" if rule.drops else "keeps",
            rule.reason,
            f"{100 * effect.helped / pages:.1f} %",
            f"{100 * effect.hurt / pages:.1f} %",
            str(len(effect.sites)),
            f"{effect.gained / pages:+.4f}",
        )
        for rule, effect in effects.items()
    ]
    head = _HEAD.format(pages=pages, sites=len(sites), least=_NOTICEABLE, f1=sum(with_all) / pages)
    return head + table(("rule", "it", "why", "helps", "hurts", "sites", "F1"), rows, texts=3) + "\n"


def configure(parser: argparse.ArgumentParser) -> None:
    """The benchmark's own arguments."""
    parser.add_argument("pages", type=Path, help="JSON lines of url, html and text, compressed or not")
    parser.add_argument("--out", type=Path, help="write the page of the handbook here instead of printing it")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure, and print or write.

    Raises:
        UsageError: a file that cannot be read or holds no pages.
    """
    written = as_markdown(*measure(_pages(arguments.pages)))
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(written, encoding="utf-8")
    else:
        print(written)
    return 0


def _pages(path: Path) -> Iterable[tuple[str, str, str]]:
    found = False
    for number, line in lines(path):
        row: Any = msgspec.json.decode(line)
        if not isinstance(row, dict) or not {"url", "html", "text"} <= row.keys():
            raise UsageError(f"{path}, line {number}: no url, html and text; write one page a line")
        found = True
        yield row.get("site") or urlsplit(row["url"]).hostname or "", row["html"], row["text"]
    if not found:
        raise UsageError(f"{path} holds no page; name a file of JSON lines")
