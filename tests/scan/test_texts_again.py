"""Texts are extracted from the archives again, and only the wanted pages are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from crawler_plugin.wire.outcomes import Verdict
from tests.local.crawled import crawl
from tests.results.groups.scanned import SETTINGS
from worker.local.page import FetchedPage
from worker.scan.inputs.records import ArchivedPage, BrokenRecord, RecordPlace
from worker.scan.texts_again import TextsAgain


@dataclass
class Listed:
    """An archive of these records."""

    name: str
    found: list[ArchivedPage | BrokenRecord]
    bytes_read: int = 0

    def records(self) -> Iterator[ArchivedPage | BrokenRecord]:
        self.bytes_read = 0
        for record in self.found:
            self.bytes_read += 100
            yield record


def archive(name: str, pages: list[FetchedPage]) -> Listed:
    found: list[ArchivedPage | BrokenRecord] = [
        ArchivedPage(RecordPlace(name, 100 * n), str(n), page) for n, page in enumerate(pages)
    ]
    return Listed(name, [BrokenRecord(RecordPlace(name, 7), "torn", "at the end"), *found])


def wanted(name: str, place: int) -> Verdict:
    return Verdict(file=name, offset=100 * place, id="", url="", verdict="unique")


PAGES = [
    FetchedPage("http://a/", text="taken out <b>already</b>"),
    FetchedPage(
        "http://b/", "<html><body><nav>Home</nav><article><p>The ferry leaves at nine.</p></article></body></html>"
    ),
    FetchedPage("http://c/", b"%PDF-1.7 no text"),
    FetchedPage("http://d/", "<p>" + "the last of them " * 30),
]


def test_main_texts_are_found_by_place_and_what_cannot_be_read_is_missing() -> None:
    first, second = archive("one", PAGES), archive("two", PAGES)
    texts = TextsAgain([first, second], SETTINGS)([wanted("one", n) for n in range(3)] + [wanted("two", 1)])
    assert texts == {
        ("one", 0): "taken out <b>already</b>",
        ("one", 100): "The ferry leaves at nine.",
        ("two", 100): "The ferry leaves at nine.",
    }
    assert second.bytes_read == 300, "the rest of it is not read"


def test_an_archive_is_read_no_further_than_allowed_and_others_not_at_all() -> None:
    one, other = archive("one", [page for page, _ in crawl(1, 50)]), archive("other", PAGES)
    assert TextsAgain([one, other], SETTINGS, most_bytes=1000)([wanted("one", 49)]) == {}
    assert (one.bytes_read, other.bytes_read) == (1100, 0)
