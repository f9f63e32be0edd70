"""CPU time of hostile input: pages, URLs, strings for each pattern, each at three sizes.

Each size is twice the last: a time that grows in line with the length is four times as long at the largest size as at
the smallest. Small times are noise, so a ratio is given from ``LEAST_SECONDS`` on.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
import resource
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import crawler_plugin
import worker
from benchmarks import report
from crawler_plugin.wire.errors import CheckFailed, PageError
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.url_templates import address_of
from worker.compose import parts
from worker.fingerprint.fingerprinter import Fingerprinter

if TYPE_CHECKING:
    from worker.config import Settings

MIB: Final = 1 << 20
MOST_SECONDS: Final = 5.0
"""Limit of the CPU time of a page of 4 MiB, whatever it holds."""
MOST_RATIO: Final = 10.0
"""Limit of the ratio of the largest to the smallest size: 4 is in line, 16 is the square."""
LEAST_SECONDS: Final = 0.25

PAGES: Final[dict[str, tuple[str, str, str]]] = {
    "words": ("", "the quick brown fox jumps over the lazy dog ", ""),
    "one letter": ("", "a", ""),
    "letters": ("", "a ", ""),
    "Chinese": ("", "中华人民共和国中央人民政府今天成立了", ""),
    "Chinese and ASCII": ("", "a中1", ""),
    "Thai": ("", "กำลังโหลด", ""),
    "characters of eighteen": ("", "\ufdfa", ""),
    "half-width marks": ("a", "\uff9e\uff9f", ""),
    "marks without end": ("a", "\u0345\u0301\u0316", ""),
    "thirty marks a letter": ("", "a" + "\u0345\u0301\u0316" * 10, ""),
    "a mark a word": ("", "word caf\u0301e ", ""),
    "words of two scripts": ("", "аbс xу ", ""),
    "a word of two scripts": ("", "xаy", ""),
    "addresses": ("", "https://a.example/b_c?d=e ", ""),
    "unclosed tags": ("<p>", "<p ", ""),
    "elements": ("", "<p>one</p>", ""),
    "nested elements": ("", "<b>", "</i>" * 1000),
    "nested tables": ("", "<table><tr><td>", ""),
    "cells in nothing": ("", "<td>", ""),
    "ends of nothing": ("<i>" * 300, "</b>", ""),
    "named elements": ("", "<div class=nav>one two three four five six seven eight", ""),
    "comments": ("", "<!--", ""),
    "raw text": ("", "<script></scrip", ""),
    "scripts in a script": ("<script><!--", "<script></script>", ""),
    "blocks in links": ("", "<a><div>", ""),
    "ends of links": ("<a>" + "<div>" * 200, "</a>", ""),
    "what the head names": ("", "<base href=x><meta name=og:url content=x>", ""),
    "drawings": ("", "<svg><desc><![CDATA[x]]>", ""),
    "links in the head": ("", "<link rel=rel=rel=rel=canonica>", ""),
    "one reference": ("<p>&#", "9", ";"),
    "references": ("<p>", "&notit;&ampx", ""),
    "ampersands": ("<p>", "&", ""),
    "a title without end": ("<title>", "ab ", "</title>"),
    "a title, short lines": (f"<title>{'ab' * 256}</title>", "<br>ab", ""),
    "a title of words": (
        f"<title>{' '.join(f'{a}{b}' for a in 'abcdefgh' for b in 'rstuvwxyz')}</title><p>",
        "abcd ",
        "",
    ),
    "a title of one letter": (f"<title>{' '.join('a' * n + 'b' for n in range(2, 30))}</title><p>", "a", ""),
}
"""A beginning, a unit that is repeated, and an end."""
URLS: Final = ("a%20", "-%20", "a-", "/", ";a=b", "1", "f", "?a=1&", "a1", "%", ".", "@", "[")
PUMPS: Final = (
    "a",
    "1",
    " ",
    "\n",
    "-",
    "a-",
    "%20",
    "<",
    "<a",
    "<p ",
    "=",
    '"',
    "/",
    "a/",
    ".",
    "a.",
    "@",
    "é",
    "中",
    "中a",
    "(",
    "{",
)
_BY_OPERATORS: Final = {parts._USER_WORD.pattern}
"""These patterns read lines that operators write, in a time that grows with the square of the length."""
_URL_CHARACTERS: Final = 1 << 18
_PATTERN_CHARACTERS: Final = 1 << 11
_RATIOS: Final = (1, 2, 4)


class Cost(NamedTuple):
    """CPU seconds at the three sizes."""

    kind: str
    what: str
    seconds: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """How many times as long the largest takes as the smallest, 0 where that is noise."""
        return self.seconds[-1] / max(self.seconds[0], 1e-9) if self.seconds[-1] >= LEAST_SECONDS else 0.0


def measure(kind: str, what: str, made: Callable[[int], Any], task: Callable[[Any], object]) -> Cost:
    """Measure the inputs that are made for 1, 2 and 4."""
    seconds = []
    for times in _RATIOS:
        given = made(times)
        begin = _computed()
        with suppress(PageError, ValueError):
            task(given)
        seconds.append(_computed() - begin)
    return Cost(kind, what, tuple(seconds))


def _computed() -> float:
    """Seconds in user mode: the system's time to hand out memory jumps with its sizes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def filled(before: str, unit: str, behind: str, size: int) -> bytes:
    """A page of at most ``size`` bytes."""
    count = (size - len((before + behind).encode())) // len(unit.encode())
    return (before + unit * max(1, count) + behind).encode()


def patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    """All patterns that are constants of worker and plugin, each with its name."""
    for package in (worker, crawler_plugin):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                for name, value in vars(importlib.import_module(found.name)).items():
                    if isinstance(value, re.Pattern) and value.pattern not in _BY_OPERATORS:
                        yield f"{found.name}.{name}", value


def costs(task: Callable[[bytes], object], size: int) -> Iterator[Cost]:
    """Costs of pages whose largest has ``size`` bytes, of URLs, and of patterns."""
    for what, parts_of_page in PAGES.items():
        yield measure("page", what, partial(_page, parts_of_page, size), task)
    for unit in URLS:
        yield measure("URL", repr(unit), partial(_url, unit), address_of)
    for name, pattern in patterns():
        worst = max(
            (measure("pattern", name, made, pattern.fullmatch) for made in map(_pumped(pattern), PUMPS)),
            key=lambda cost: cost.seconds[-1],
        )
        yield worst


def _page(parts_of_page: tuple[str, str, str], size: int, times: int) -> bytes:
    return filled(*parts_of_page, times * size // 4)


def _url(unit: str, times: int) -> str:
    return f"https://a.example/{unit * (times * _URL_CHARACTERS)}"


def _pumped(pattern: re.Pattern[Any]) -> Callable[[str], Callable[[int], Any]]:
    def of(unit: str) -> Callable[[int], Any]:
        def made(times: int) -> Any:
            text = unit * (times * _PATTERN_CHARACTERS) + "\x00"
            return text.encode() if isinstance(pattern.pattern, bytes) else text

        return made

    return of


def configure(parser: argparse.ArgumentParser) -> None:
    """The benchmark's own arguments."""
    parser.add_argument("--mib", type=float, default=4.0, metavar="N", help="size of the largest page (default: 4)")
    parser.add_argument("--out", type=Path, help="also write the page of the handbook to this file")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure, print, and fail if a time is too long or grows faster than the length.

    Raises:
        CheckFailed: a time is too long, or grows too fast.
    """
    fingerprinter = Fingerprinter(parts.recipe(load()))
    meta = PageMeta(url="https://a.example/")
    size = int(arguments.mib * MIB)
    found = []
    fingerprinter(b"<p>what is loaded once", meta)
    for cost in costs(lambda body: fingerprinter(body, meta), size):
        found.append(cost)
        if cost.kind != "pattern" or cost.ratio:
            print(f"{cost.kind:8}{cost.what:45}" + "".join(f"{s:9.3f} s" for s in cost.seconds), flush=True)
    slow = [
        f"{c.kind} {c.what}: {c.seconds[-1]:.1f} s" for c in found if c.seconds[-1] > MOST_SECONDS * arguments.mib / 4
    ]
    growing = [f"{c.kind} {c.what}: {c.ratio:.1f} times" for c in found if c.ratio > MOST_RATIO]
    if arguments.out:
        _write(arguments.out, [cost for cost in found if cost.kind == "page"], arguments.mib)
    if slow or growing:
        raise CheckFailed("not in line with its length: " + "; ".join(slow + growing))
    return 0


def _write(out: Path, found: list[Cost], mib: float) -> None:
    rows = [
        (cost.what, *(f"{seconds:.2f}" for seconds in cost.seconds), f"{cost.ratio:.1f}" if cost.ratio else "–")
        for cost in sorted(found, key=lambda cost: -cost.seconds[-1])
    ]
    columns = ("page of", *(f"{mib * part / 4:g} MiB, s" for part in _RATIOS), "largest to smallest")
    report.write(
        out,
        title="Hostile pages",
        how="`python -m benchmarks hostile`: CPU seconds from body to fingerprint, one run each.",
        versions=[],
        absent=[],
        sections=[("What a page can cost", report.table(columns, rows))],
    )
