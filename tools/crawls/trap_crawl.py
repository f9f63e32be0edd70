"""Crawls of sites with traps and of the honest one, with feedback and without, and with what an earlier crawl learned.

``python -m tools.crawls.trap_crawl --out docs/benchmarks/traps.md`` renews the tables of that page, with five seeds; it
takes some minutes of an idle machine. With duplicate-url-discarder installed its rules are tried, too.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

import scrapy

from crawler_plugin.rules import main as write_rules
from tests.crawler_plugin.crawling import Crawl, Ended
from tools.cluster.nemesis import around, machine
from tools.crawls.linked_site import LinkedSite, serve_pages
from tools.crawls.portal_site import PortalSite
from tools.crawls.trap_site import TrapSite

CONFIG: Final = {"page": {"processes": 1}}
FIFO: Final = {"SCHEDULER_DISK_QUEUE": "PickleFifoDiskQueue", "SCHEDULER_MEMORY_QUEUE": "FifoMemoryQueue"}
BREADTH_FIRST: Final = {name: f"scrapy.squeues.{queue}" for name, queue in FIFO.items()} | {"DEPTH_PRIORITY": 1}
"""The settings for breadth-first order from Scrapy's documentation."""
MOST_S: Final = 900.0
SEEDS: Final = range(5)
BUDGETS: Final = {TrapSite: 2_000, PortalSite: 900}
LEAST_UNIQUE: Final = {TrapSite: 1_426, PortalSite: 570}
"""The least number of unique pages among each site's first pages with feedback, for every seed."""
NAMES: Final = {TrapSite: "Traps", PortalSite: "Portal"}
ARTICLES: Final = 50
"""A section of the site with traps: 2,206 honest pages."""
HONEST_ARTICLES: Final = 113
"""A section of the honest one: 5,001 pages."""


class Crawled(NamedTuple):
    """A crawl that is over, with the paths that it requested, up to its budget."""

    site: LinkedSite
    asked: list[str]
    ended: Ended

    @property
    def contents(self) -> set[str]:
        """All contents that it has seen."""
        return {shown.content for path in self.asked if (shown := self.site.shown(path)) is not None}

    def requests_for(self, contents: int) -> int:
        """The number of requests after which it has seen this many contents; more than it made where it has not."""
        seen: set[str] = set()
        for number, path in enumerate(self.asked, 1):
            shown = self.site.shown(path)
            seen |= set() if shown is None else {shown.content}
            if len(seen) >= contents:
                return number
        return len(self.asked) + 1

    @property
    def copies(self) -> float:
        """The share of its pages that show the content of an earlier page."""
        return 1 - len(self.contents) / len(self.asked)

    def lost(self) -> dict[str, float]:
        """For each honest template the share of its pages that was not requested."""
        pages: dict[str, list[bool]] = defaultdict(list)
        asked = set(self.asked)
        for path, shown in self.site.honest_pages.items():
            assert shown.honest is not None
            pages[shown.honest].append(path not in asked)
        return {template: sum(missed) / len(missed) for template, missed in pages.items()}


def crawl_traps(folder: Path, site: LinkedSite, budget: int = 0, **settings: Any) -> Crawled:
    """Crawl the site breadth first, at most ``budget`` pages (0: to its end), judging pages in the crawl's process."""
    (folder / "dedup.yaml").write_text(json.dumps(CONFIG), encoding="utf-8")
    site.asked.clear()
    told = {
        "DEDUP_MODE": "local",
        "DEDUP_CONFIG": str(folder / "dedup.yaml"),
        "DEDUP_CAPTURE": True,
        "CLOSESPIDER_PAGECOUNT": budget,
        "LOG_LEVEL": "INFO",
        **BREADTH_FIRST,
    }
    with serve_pages(site):
        ended = Crawl(folder, "follow", site.url("/"), told | settings).end(MOST_S)
    assert ended.returncode == 0, ended.log
    return Crawled(site, site.asked[:budget] if budget else site.asked[:], ended)


def compare(folder: Path) -> tuple[list[str], bool]:
    """The tables in Markdown, and whether all promises hold."""
    lines, is_good = [], True
    for kind, budget in BUDGETS.items():
        lines += [
            f"| {NAMES[kind]}, seed | First {budget:,} pages: unique without feedback | with it | times as many |",
            "|---:|---:|---:|---:|",
        ]
        for seed in SEEDS:
            site = kind(ARTICLES, seed)
            plain = crawl_traps(folder, site, budget)
            learned = crawl_traps(folder, site, budget, DEDUP_FEEDBACK=True, DEDUP_FEEDBACK_SEED=seed)
            is_good &= len(learned.contents) >= LEAST_UNIQUE[kind] and plain.copies >= 0.6
            lines.append(
                f"| {seed} | {len(plain.contents):,} ({plain.copies:.0%} copies) | {len(learned.contents):,} "
                f"({learned.copies:.0%}) | {len(learned.contents) / len(plain.contents):.2f} |"
            )
        lines.append("")
    ends: dict[str, Any] = {"DEDUP_FEEDBACK": True, "DEDUP_FEEDBACK_ACTION": "drop"}
    lines += ["| To its end, `drop` | Honest pages | of these lost | Templates that lost any | Requests in all |"]
    lines.append("|---|---:|---:|---:|---:|")
    for name, site in (("with traps", TrapSite(ARTICLES)), ("honest", TrapSite(HONEST_ARTICLES, has_traps=False))):
        crawled = crawl_traps(folder, site, **ends)
        lost = crawled.lost()
        missed = len(site.honest_pages.keys() - set(crawled.asked))
        is_good &= max(lost.values()) <= (0.01 if site.has_traps else 0)
        lines.append(
            f"| {name} | {len(site.honest_pages):,} | {missed} | {sum(map(bool, lost.values()))} of {len(lost)} | "
            f"{len(crawled.asked):,} |"
        )
    again, is_less = crawl_again(folder, TrapSite(ARTICLES), BUDGETS[TrapSite])
    return [*lines, "", *again], is_good and is_less


def crawl_again(folder: Path, site: LinkedSite, budget: int) -> tuple[list[str], bool]:
    """The requests of a second crawl that begins with the first one's knowledge, and whether they are half as many at
    most."""
    job, rules = folder / "first", folder / "rules.json"
    first = crawl_traps(folder, site, budget, DEDUP_FEEDBACK=True, DEDUP_FEEDBACK_DRY_RUN=True, JOBDIR=str(job))
    assert write_rules(["--from", str(job), "--out", str(rules)]) == 0
    told: dict[str, dict[str, Any]] = {
        "`DEDUP_FEEDBACK_FROM`": {"DEDUP_FEEDBACK": True, "DEDUP_FEEDBACK_FROM": str(job)}
    }
    if find_spec("duplicate_url_discarder") is not None:
        told["duplicate-url-discarder with the rules, no feedback"] = {
            "ADDONS": {"crawler_plugin.Addon": 500, "duplicate_url_discarder.Addon": 600},
            "DUD_LOAD_RULE_PATHS": [str(rules)],
        }
    seen, needed = len(first.contents), []
    lines = [
        f"| Second crawl | Requests until it has seen {seen:,} unique pages | Copies among them |",
        "|---|---:|---:|",
    ]
    for name, settings in {"knows nothing, no feedback": {}, **told}.items():
        crawled = first if not settings else crawl_traps(folder, site, budget, **settings)
        needed.append(crawled.requests_for(seen))
        lines.append(f"| {name} | {needed[-1]:,} | {1 - seen / needed[-1]:.0%} |")
    return lines, needed[1] <= needed[0] / 2


def main(arguments: list[str]) -> int:
    """0 if all promises hold."""
    parser = argparse.ArgumentParser(prog="python -m tools.crawls.trap_crawl", description=__doc__)
    parser.add_argument("--out", type=Path, help="put the tables into this file, too, between its markers")
    options = parser.parse_args(arguments)
    if options.out:
        around(options.out, "traps")  # fails now, not after the crawls
    with tempfile.TemporaryDirectory(prefix="trap-crawl-") as folder:
        lines, is_good = compare(Path(folder))
    command = "python -m tools.crawls.trap_crawl"
    text = "\n".join([f"`{command}`: {machine()}, Scrapy {scrapy.__version__}.", "", *lines]) + "\n"
    print(text)
    if options.out:
        before, after = around(options.out, "traps")
        options.out.write_text(before + text + after, encoding="utf-8")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
