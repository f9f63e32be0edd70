"""Records that belong to a page are kept or removed with it."""

from __future__ import annotations

from worker.scan.inputs.warc.kept_records import KeptRecords
from worker.scan.inputs.warc.record_search import FoundRecord
from worker.scan.inputs.warc.web_record import WebRecord


def found(number: int) -> FoundRecord:
    return FoundRecord(number, number, b"%d" % number)


def test_what_belongs_to_a_page_waits_for_it_or_follows_it() -> None:
    written: list[tuple[int, bool]] = []
    kept = KeptRecords(lambda one, stays: written.append((one.at, stays)))
    kept.hold(found(0), WebRecord("request", "", b"", others=("page-1",)))
    kept.hold(found(1), WebRecord("request", "", b"", id="request-2"))
    kept.decide(WebRecord("response", "", b"", id="page-1"), True)
    kept.decide(WebRecord("response", "", b"", id="page-2", others=("request-2",)), False)
    kept.hold(found(4), WebRecord("metadata", "", b"", others=("page-2",)))
    kept.hold(found(5), WebRecord("metadata", "", b"", others=("page-1",)))
    kept.hold(found(6), WebRecord("metadata", "", b""))
    assert written == [(0, True), (1, False), (4, False), (5, True)]
    kept.finish()
    assert written[4:] == [(6, True)]


def test_more_than_can_be_held_stays() -> None:
    written: list[int] = []
    kept = KeptRecords(lambda one, stays: written.append(one.at if stays else -1))
    large = bytes(30 * 1024 * 1024)
    for number in range(3):
        kept.hold(FoundRecord(number, 0, large), WebRecord("request", "", b"", others=(f"page-{number}",)))
    assert written == [0]
