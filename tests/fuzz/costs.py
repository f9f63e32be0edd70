"""Readers of pages, texts, URLs and headers take a time proportional to their length; an input says how to build longer
ones.

An input is a reader and up to four runs, each a unit with bytes before and behind it (``benchmarks.worst_pages``). It
is read at sizes that grow fourfold as long as the time predicts that 4 MiB would take seconds; it counts as a find only
where the time has grown with the square up to the largest size. The benchmark shows inputs that cost much but grow
linearly.
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
"""The largest URL or header: a record of a page has no longer ones."""
PAGE_BYTES: Final = 4 << 20
SQUARE: Final = 8.0
"""When an input four times as long takes more than this many times as long, the time grows faster than the length: a
factor of 4 means linear, 16 quadratic."""
BETWEEN: Final = b"\xff"
MOST_RUNS: Final = 4
MOST_LOOKS: Final = 3
"""Repetitions of a reading that seems to take too long: a pause may have been counted."""
Seconds: TypeAlias = Callable[[Callable[[bytes], None], bytes], float]
"""Measures the time that reading takes."""


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
    """A reader, the largest size that it gets, and the seconds that it may take for that beyond a time proportional to
    the length."""

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
    """The first byte selects the reader; then follow the bytes before, the unit and the bytes behind of each run, with
    0xFF between them."""
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
    """Raise ``AssertionError`` where the time for reading grows faster than the input."""
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
    """The CPU time of this thread for reading."""
    begun = time.thread_time()
    with contextlib.suppress(PageError):
        read(body)
    return time.thread_time() - begun


def seeds() -> Iterator[bytes]:
    """Each kind of page for each reader of pages; words, URLs and headers of separators."""
    _fingerprinter()  # loads a dictionary, which must not count as a cost of the first input
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
