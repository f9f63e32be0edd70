"""``python -m benchmarks soft-404``: which real pages are found as none (kind ``soft-404``), and which error pages are
missed.

A site answers with its error page at addresses that are gone: real paths of other sites' pages. The site's other pages
are reached in the ways in which sites show one page at many addresses: sessions, print and AMP, categories, tags,
authors, archives by date, languages, versions, mirrors. The benchmark reads, judges and counts all as a worker does.

- ``--pages DIR``: error pages and articles in the templates of the same sites, of a set of labelled pages
  (``not-404-and-article``), and a short page in addition. The error texts are generated.
- ``--sites DIR``: a folder for each site, with its real pages and its real error page, ``404.html``. A hundred
  of Debian's packages of documentation have both: ``zgrep '/404.html' Contents-all.gz`` of a release names them.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.messages import Claim
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.urls import canonical_url
from worker.compose import parts
from worker.compose.step import policy
from worker.config import Settings
from worker.fingerprint.fingerprinter import Fingerprinter
from worker.stream.log_follower import DecidedBatch, Pending
from worker.stream.policy import Policy, ReplayPoint
from worker.stream.shard.live import LiveShard, Standing
from worker.verdict.claims import Claims
from worker.verdict.decide import decide
from worker.verdict.titles_of_texts import TitlesOfTexts

CLASS: Final = "not-404-and-article"
SHORT: Final = ("not-same-banner-other-short-article", "not-products-of-one-template", "not-stubs-under-one-contents")
ERROR_PAGE: Final = "404.html"
OF_A_SITE: Final = 6
"""Real pages of a site in addition to its error page, the shortest among them."""
PLACES: Final = (4, 5, 6, 7, 8, 9, 10, 12)
"""Values of ``findings.soft_404_places`` that are tried."""
_WORDS: Final = (
    "light",
    "garden",
    "health",
    "travel",
    "music",
    "games",
    "food",
    "cars",
    "books",
    "science",
    "work",
    "art",
)


class Page(NamedTuple):
    url: str
    html: str
    no_page: bool


class Count(NamedTuple):
    """Counts for one value of the setting: survivors found as no page, error pages among them, all error pages."""

    places: int
    called: int
    right: int
    errors: int
    articles: int


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: which pages."""
    pages = parser.add_mutually_exclusive_group(required=True)
    pages.add_argument("--pages", type=Path, metavar="DIR", help="with docs.jsonl.xz and pairs.jsonl.xz")
    pages.add_argument("--sites", type=Path, metavar="DIR", help=f"a folder a site, each with {ERROR_PAGE}")
    parser.add_argument(
        "--seeds", type=int, default=1, metavar="N", help="times that all addresses are drawn (default: 1)"
    )


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure and print."""
    settings = load()
    settings = settings.model_copy(update={"topics": settings.topics.model_copy(update={"shards": 1})})
    made = parts.recipe(settings)
    rules = policy(settings, parts.scheme(settings, made), b"w")
    drawn: list[list[Page]] = []
    for seed in range(1, arguments.seeds + 1):
        chance = random.Random(seed)
        drawn += real_sites(arguments.sites, chance) if arguments.sites else sites(arguments.pages, chance)
    claims = list(_claims(iter(drawn), Fingerprinter(made)))
    for places in PLACES:
        count = measure(
            claims, replace(rules, findings=replace(rules.findings, soft_404_places=places, groups=1 << 20)), settings
        )
        print(
            f"soft_404_places={count.places}: {count.called} pages called error pages, {count.right} of them rightly "
            f"(precision {count.right / max(1, count.called):.3f}); of {count.errors} error pages "
            f"{count.right / count.errors:.2f} found; {count.articles} other pages"
        )
    return 0


def sites(folder: Path, chance: random.Random) -> Iterator[list[Page]]:
    """The pages of each site, in the order of a crawl.

    Raises:
        UsageError: the set has no error pages.
    """
    docs = {row["id"]: row for row in _rows(folder / "docs.jsonl.xz")}
    pairs = [row for row in _rows(folder / "pairs.jsonl.xz") if row["class"] == CLASS]
    short = [docs[row["a"]] for row in _rows(folder / "pairs.jsonl.xz") if row["class"] in SHORT]
    if not pairs or not short:
        raise UsageError(f"{folder} has no pairs of the classes {CLASS} and {SHORT[0]}: name the folder of another set")
    paths = sorted({urlsplit(row["url"]).path for row in docs.values() if row.get("url")} - {"", "/"})
    for number, pair in enumerate(pairs):
        error, article = sorted((docs[pair["a"]], docs[pair["b"]]), key=lambda side: len(side["text"]))
        host = f"http://{urlsplit(error['url']).hostname or 'site'}.{number}.example"
        gone = chance.sample(paths, chance.randint(8, 40))
        pages = [Page(host + path, error["html"], True) for path in gone]
        for name, shown in (("how-to-choose", article), ("spring-offer", chance.choice(short))):
            pages += [Page(host + path, shown["html"], False) for path in ways_to(f"{name}-{number}", chance)]
        chance.shuffle(pages)
        yield pages


def real_sites(folder: Path, chance: random.Random) -> Iterator[list[Page]]:
    """The pages of each site that has an error page of its own, in the order of a crawl.

    Raises:
        UsageError: no site has one.
    """
    roots = sorted(path.parent for path in folder.glob(f"*/**/{ERROR_PAGE}"))
    if not roots:
        raise UsageError(f"{folder} has no {ERROR_PAGE} in a folder of its own: name one with a folder for each site")
    paths = sorted(
        {f"/{path.relative_to(root)}" for root in roots for path in root.rglob("*.html")} - {f"/{ERROR_PAGE}"}
    )
    for number, root in enumerate(roots):
        found = sorted(path for path in root.rglob("*.html") if path.name != ERROR_PAGE)
        shortest = sorted(found, key=lambda path: path.stat().st_size)[:1]
        host = f"http://site{number}.example"
        error = (root / ERROR_PAGE).read_text("utf-8", "replace")
        pages = [Page(host + path, error, True) for path in chance.sample(paths, chance.randint(8, 40))]
        for shown in dict.fromkeys(shortest + chance.sample(found, min(len(found), OF_A_SITE - 1))):
            html = shown.read_text("utf-8", "replace")
            pages += [Page(host + path, html, False) for path in ways_to(f"{shown.stem}-{number}", chance)]
        chance.shuffle(pages)
        yield pages


def ways_to(slug: str, chance: random.Random) -> Iterator[str]:
    """The addresses at which a site shows one page: in each of these ways with a probability of one half."""
    folder, other, author = chance.sample(_WORDS, 3)
    yield f"/{folder}/{slug}"
    ways: tuple[list[str], ...] = (
        [f"/{folder}/{slug}?sid={chance.getrandbits(32):x}" for _ in range(10)],
        [f"/{folder}/{slug}/{view}" for view in ("print", "amp", "page-1", "comments")],
        [f"/{view}/{folder}/{slug}" for view in ("print", "m", "amp", "preview")],
        [f"/{category}/{slug}" for category in chance.sample(_WORDS, 8)],
        [f"/tag/{tag}" for tag in chance.sample(_WORDS, 8)],  # archives in which it is the only one
        [f"/category/{other}/", f"/author/{author}", "/", "/index.html", "/feed"],
        [f"/{year}/{month:02}/" for year in (2021, 2022) for month in range(1, 7)],
        [f"/{code}/{slug}-{code}" for code in ("de", "fr", "es", "it", "pt-br", "nl", "pl", "ja")],
        [f"/{version}/{slug}.html" for version in ("1.0", "1.1", "2.0", "latest", "stable")],
        [f"/{chance.choice(_WORDS)}-{number}" for number in range(10)],
    )
    for way in ways:
        if chance.random() < 0.5:
            yield from way


def measure(claims: list[list[tuple[Claim, bool]]], rules: Policy, settings: Settings) -> Count:
    """Judge all sites, and compare the findings with the truth."""
    shard = LiveShard(0, rules, parts.new_index(settings)(), Standing())
    called = right = errors = articles = 0
    titles = TitlesOfTexts()
    for number, site in enumerate(claims):
        rows = [claim.at(number * 1000 + place, claim.clock) for place, (claim, _) in enumerate(site)]
        batch = Claims.of(rows)
        batch = batch.doubted(titles.mark(batch))
        titles.keep()
        truth = {claim.url: no_page for claim, no_page in site}
        answer = shard.answer(Pending(number, rules.writer, batch))
        decisions = decide(number, batch, [answer], rules.near)
        for decision in decisions:
            if decision.outcome == "unique":
                errors += truth[decision.claim.url]
                articles += not truth[decision.claim.url]
        shard.on_decided(
            DecidedBatch(number, rules.writer, decisions, ReplayPoint(number, 0), ReplayPoint(number + 1, 0))
        )
        shard.hints.step(2 * len(batch))
        found = [finding.url for finding in shard.hints.findings if finding.kind == "soft-404"]
        shard.hints.findings.clear()
        called += len(found)
        right += sum(truth.get(url, False) for url in found)
    return Count(rules.findings.soft_404_places, called, right, errors, articles)


def _claims(all_sites: Iterator[list[Page]], fingerprinter: Fingerprinter) -> Iterator[list[tuple[Claim, bool]]]:
    for number, pages in enumerate(all_sites, 1):  # many sites have one error text: each is judged by itself
        known: dict[str, Any] = {}
        site = []
        for page in pages:
            url = canonical_url(page.url)
            if page.html not in known:
                meta = PageMeta(url=url, content_type="text/html; charset=utf-8")
                known[page.html] = fingerprinter(page.html.encode(), meta)
            found = known[page.html]
            claim = Claim(
                partition=0, offset=0, clock=0, url=url, fingerprint=found.fingerprint, text_hash=found.text_hash,
                tokens=found.tokens, sketch=found.sketch, bands=found.bands, status=200, scope=number,
                site=found.site, title=found.title, doubt=found.doubt,
            )  # fmt: skip
            site.append((claim, page.no_page))
        yield site


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
