"""Records of a spool: written pages are read back, and damage costs no page but the damaged one."""

from __future__ import annotations

from collections.abc import Sequence

import hypothesis
import pytest
from hypothesis import strategies as st

from crawler_plugin.record import PageRecord
from crawler_plugin.spool.records import (
    HEADER_BYTES,
    MAGIC,
    OPEN,
    SENT,
    STATE_OFFSET,
    Damage,
    ReadAt,
    SpooledRecord,
    encode,
    record_at,
    scan,
)
from crawler_plugin.wire.errors import Refused, UnreadableRecord
from crawler_plugin.wire.page_headers import PageMeta


def page(number: int = 0, value: bytes = b"<p>a page</p>", **meta: object) -> PageRecord:
    url = f"https://example.com/{number}"
    headers = tuple(PageMeta(url=f"{url}#as-it-was", **meta).to_headers())  # type: ignore[arg-type]
    return PageRecord(f"{url}#as-it-was", url.encode(), value, headers, is_text=meta.get("form") == "text")


def reader(spool: bytes) -> ReadAt:
    return lambda offset, size: spool[offset : offset + size]


def found_in(spool: bytes) -> list[SpooledRecord | Damage]:
    return list(scan(reader(spool), len(spool)))


def pages_of(spool: bytes) -> list[PageRecord]:
    return [found.page() for found in found_in(spool) if isinstance(found, SpooledRecord)]


pages = st.builds(
    page,
    number=st.integers(0, 99),
    value=st.binary(max_size=300) | st.just(MAGIC * 20),
    status=st.none() | st.integers(100, 599),
    job=st.none() | st.text(max_size=5),
    form=st.sampled_from(["bytes", "text"]),
)


@hypothesis.given(st.lists(pages, max_size=6))
def test_pages_come_out_as_they_went_in_and_in_order(stored: list[PageRecord]) -> None:
    assert pages_of(b"".join(map(encode, stored))) == stored


def test_a_record_is_as_it_is_described() -> None:
    record = encode(page(7))
    header = record_at(reader(record), 0)
    assert header is not None
    assert record[:8] == MAGIC + bytes([1, 1, OPEN, 0])
    assert record[HEADER_BYTES : HEADER_BYTES + len(header.key)] == b"https://example.com/7"
    assert header.size == len(record)
    assert not header.is_sent


def test_html_takes_less_room_than_it_has_bytes() -> None:
    assert len(encode(page(value=b"<p>the same again</p>" * 1000))) < 1000


def test_a_page_that_is_marked_as_sent_is_whole_still() -> None:
    record = bytearray(encode(page(3)))
    record[STATE_OFFSET] = SENT
    (entry,) = found_in(bytes(record))
    assert isinstance(entry, SpooledRecord)
    assert entry.is_sent
    assert entry.page() == page(3)


@pytest.mark.parametrize("bit", range(8))
def test_no_bit_that_flips_makes_a_page_look_as_if_it_had_been_sent(bit: int) -> None:
    record = bytearray(encode(page()))
    record[STATE_OFFSET] ^= 1 << bit
    (entry,) = found_in(bytes(record))
    assert isinstance(entry, SpooledRecord)
    assert not entry.is_sent


def total(found: Sequence[SpooledRecord | Damage]) -> int:
    """Bytes accounted for, from the first on without a gap."""
    end = 0
    for each in found:
        start, to = (
            (each.offset, each.offset + each.size) if isinstance(each, SpooledRecord) else (each.start, each.end)
        )
        assert start == end
        end = to
    return end


@hypothesis.given(st.lists(pages, min_size=1, max_size=5), st.data())
def test_a_flipped_byte_costs_its_own_page_and_no_other(stored: list[PageRecord], data: st.DataObject) -> None:
    records = [encode(each) for each in stored]
    number = data.draw(st.integers(0, len(records) - 1))
    place = data.draw(st.integers(0, len(records[number]) - 1).filter(lambda place: place != STATE_OFFSET))
    torn = bytearray(records[number])
    torn[place] ^= data.draw(st.integers(1, 255))
    spool = b"".join([*records[:number], bytes(torn), *records[number + 1 :]])
    found = found_in(spool)
    assert pages_of(spool) == stored[:number] + stored[number + 1 :]
    assert total(found) == len(spool)
    (damage,) = [each for each in found if isinstance(each, Damage)]
    if place >= HEADER_BYTES + len(stored[number].key):
        assert damage.keys == (stored[number].key.decode(),), "header and key are whole, so the page can be named"


@hypothesis.given(st.lists(pages, min_size=1, max_size=4), pages, st.data())
def test_a_record_of_which_only_the_beginning_was_written_is_passed_over_wherever_it_lies(
    stored: list[PageRecord], half: PageRecord, data: st.DataObject
) -> None:
    record = encode(half)
    torn = record[: data.draw(st.integers(1, len(record) - 1))]
    number = data.draw(st.integers(0, len(stored)))
    records = [encode(each) for each in stored]
    spool = b"".join([*records[:number], torn, *records[number:]])
    assert pages_of(spool) == stored
    assert total(found_in(spool)) == len(spool)


@hypothesis.given(st.binary(max_size=400) | st.lists(st.sampled_from([MAGIC, b"\x01", b"x"])).map(b"".join))
def test_bytes_that_nobody_wrote_are_damage_and_nothing_else(spool: bytes) -> None:
    assert not [found for found in found_in(spool) if isinstance(found, SpooledRecord)]
    assert total(found_in(spool)) == len(spool)
    begun = record_at(reader(spool), 0)
    if begun is not None:
        with pytest.raises(UnreadableRecord):
            begun.page()


def test_a_destination_that_is_not_utf_8_is_unreadable() -> None:
    record = record_at(reader(encode(page(value=b'{"topic": "\xff"}'))), 0)
    assert record is not None
    with pytest.raises(UnreadableRecord, match="a record of a spool"):
        record.destination()


def test_damage_names_every_page_of_which_the_key_is_whole() -> None:
    records = [bytearray(encode(page(number))) for number in range(3)]
    for record in records[:2]:
        record[-1] ^= 1
    found = found_in(b"".join(map(bytes, records)))
    assert isinstance(found[0], Damage)
    assert found[0].keys == ("https://example.com/0", "https://example.com/1")


def test_a_record_of_a_later_version_is_refused_and_not_taken_for_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr("crawler_plugin.spool.records.VERSION", 2)
        record = encode(page())
    with pytest.raises(Refused, match=r"version 2.*send it with the program that wrote it"):
        found_in(record)
    begun = record_at(reader(record), 0)
    assert begun is not None
    with pytest.raises(UnreadableRecord):
        begun.page()
