"""Every exception about a page becomes its result."""

from __future__ import annotations

import pytest

from crawler_plugin.wire.errors import PageError
from crawler_plugin.wire.page_headers import PageMeta
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.local.in_process_fingerprints import InProcess
from worker.stream.partition.fingerprint_pool import Source

SOURCE = Source(0, 7, 0, "http://a.example/")
META = PageMeta(url="http://a.example/")


class Raising(Fingerprinter):
    """Cannot read anything."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __call__(self, body: bytes, meta: PageMeta) -> Fingerprinted:
        raise self.error


def test_a_page_is_read_when_it_is_submitted_and_comes_back_once() -> None:
    fingerprinter = Fingerprinter(Recipe())
    reader = InProcess(fingerprinter)
    assert (reader.capacity, reader.outstanding, reader.results()) == (1, 0, [])
    reader.submit(SOURCE, b"<p>one two three four</p>", META)
    assert reader.outstanding == 1
    assert reader.results(1.0) == [(SOURCE, fingerprinter(b"<p>one two three four</p>", META))]
    assert reader.results() == []


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PageError("binary", "a picture"), "binary"),
        (RecursionError("too deep"), "parser-raised"),
        (ValueError("odd"), "parser-raised"),
        (MemoryError(), "parser-memory"),
    ],
)
def test_what_is_raised_is_the_result_of_the_page(error: Exception, reason: str) -> None:
    reader = InProcess(Raising(error))
    reader.submit(SOURCE, b"", META)
    ((source, result),) = reader.results()
    assert source == SOURCE
    assert isinstance(result, PageError)
    assert result.reason == reason


def test_being_interrupted_is_no_fault_of_the_page() -> None:
    with pytest.raises(KeyboardInterrupt):
        InProcess(Raising(KeyboardInterrupt())).submit(SOURCE, b"", META)
