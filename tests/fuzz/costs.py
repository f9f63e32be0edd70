"""What reads pages, texts, URLs and headers takes a time in line with their length; an input is one to be pumped.

An input is a way and up to four runs, each a unit with what stands before and behind it (``benchmarks.worst_pages``).
It is read at sizes that grow fourfold while what it took says that 4 MiB would take seconds; only where the time has
grown with the square up to the largest one is it a find. What costs much and grows in line is what the benchmark shows.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from benchmarks.worst_pages import PAGES, Run, pumped
from crawler_plugin.feedback.url_groups import groups_of
from crawler_plugin.feedback.variations import variations_of
from crawler_plugin.wire.errors import PageError, UnreadableRecord
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.urls import canonical_url
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.observe.origins import host_of, section_of
from worker.page.extract import extract
from worker.results.report.words import words
from worker.verdict.findings import _address

SIZES: Final = (1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22)
LONGEST_URL: Final = 1 << 16
"""Of a URL or a header: a record of a page has no longer ones."""
PAGE_BYTES: Final = 4 << 20
SQUARE: Final = 8.0
"""How many times as long four times as much takes, above which the time grows with more than the length: 4 does with
the length, 16 with its square."""
BETWEEN: Final = b"\xff"
MOST_RUNS: Final = 4
MOST_LOOKS: Final = 3
"""At what seems to take too long: a pause may count."""
Seconds: TypeAlias = Callable[[Callable[[bytes], None], bytes], float]
"""What reading takes."""


def _page(body: bytes) -> None:
    _fingerprinter()(body, PageMeta(url="http://a.example/", content_type="text/html; charset=utf-8"))


def _undeclared(body: bytes) -> None:
    _fingerprinter()(body, PageMeta(url="http://a.example/"))


def _text(body: bytes) -> None:
    _fingerprinter()(body, PageMeta(url="http://a.example/", form="text"))


@cache
def _fingerprinter() -> Fingerprinter:
    return Fingerprinter(Recipe(sketched=True))


def _cut(body: bytes) -> None:
    for _ in words(body.decode(errors="replace"), str.split):
        pass


def _url(body: bytes) -> None:
    url = "http://a.example/" + body.decode(errors="replace")
    with contextlib.suppress(ValueError):
        url = canonical_url(url)
    section_of(host_of(url), url)
    groups_of(url)
    variations_of(url)
    _address(url)


def _headers(body: bytes) -> None:
    for name in PageMeta.__struct_fields__:
        if name != "url":
            with contextlib.suppress(UnreadableRecord):
                meta = PageMeta.from_headers([("url", b"http://a/"), (name, body)])
                extract(b"x", content_type=meta.content_type, encoding=meta.encoding, max_bytes=64)


class Way(NamedTuple):
    """What reads, the largest size that it is given, and the seconds that it may take for that beyond what is in line
    with the length."""

    read: Callable[[bytes], None]
    most_bytes: int = PAGE_BYTES
    most_seconds: float = 5.0


WAYS: Final = (
    Way(_page),
    Way(_undeclared),
    Way(_text),
    Way(_cut),
    Way(_url, LONGEST_URL, 0.2),
    Way(_headers, LONGEST_URL, 0.2),
)


def attack(data: bytes) -> None:
    """The first byte is the way; then before, unit and behind of each run, with 0xFF between them."""
    if len(data) < 2:
        return
    parts = [*data[1:].split(BETWEEN), b"", b"", b""][: 3 * MOST_RUNS]
    runs = [
        Run(unit, before, behind)
        for before, unit, behind in zip(parts[::3], parts[1::3], parts[2::3], strict=False)
        if unit
    ]
    if runs:
        grows_in_line(WAYS[data[0] % len(WAYS)], runs)


def grows_in_line(way: Way, runs: Sequence[Run], seconds: Seconds | None = None) -> None:
    """Raise ``AssertionError`` where the time that reading takes grows faster than what is read."""
    seconds = seconds or cpu_seconds
    sizes = [size for size in SIZES if size <= way.most_bytes]
    took, ratio = seconds(way.read, pumped(runs, sizes[0])), 0.0
    for size, larger in pairwise(sizes):
        body, took_larger = pumped(runs, larger), float("inf")
        for _ in range(MOST_LOOKS):
            took_larger = min(took_larger, seconds(way.read, body))
            if (took_larger - 4 * took) / 12 * (way.most_bytes / size) ** 2 < way.most_seconds:
                return
        took, ratio = took_larger, took_larger / max(took, 1e-6)
    name = way.read.__name__.strip("_")
    assert ratio < SQUARE, f"{name}: {sizes[-1]} bytes took {took:.2f} s, {ratio:.1f} × a quarter of them"


def cpu_seconds(read: Callable[[bytes], None], body: bytes) -> float:
    """What reading takes of this thread."""
    begun = time.thread_time()
    with contextlib.suppress(PageError):
        read(body)
    return time.thread_time() - begun


def seeds() -> Iterator[bytes]:
    """Each kind of page in each way of reading a page; words, URLs and headers of signs that separate."""
    _fingerprinter()  # loads a dictionary, which is no cost of the first input
    for runs in PAGES.values():
        for way in range(3):
            yield bytes([way]) + BETWEEN.join(part for run in runs for part in (run.before, run.unit[:200], run.behind))
    for way in (3, 4, 5):
        for unit in (
            b"%20",
            b"a-",
            b"/a",
            b";a=b",
            b"?a=1",
            b"&a=1",
            b"#",
            b"@",
            b"%25",
            b"../",
            b"1",
            b".a",
            b"\xc3\xa4",
        ):
            yield bytes([way]) + BETWEEN.join((b"a", unit, b"-"))
            yield bytes([way]) + BETWEEN.join((b"a", unit, b"!", b"", unit + b"b", b""))
    for unit in (b'charset="', b"; ", b'="', b" charset = "):
        yield b"\x05" + BETWEEN.join((b"text/html; ", unit, b"x"))
