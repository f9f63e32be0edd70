"""Records of a WARC are separated, also behind damage."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.scan.inputs.written import html, url, warc_of
from worker.scan.inputs.opening import stored
from worker.scan.inputs.unpacking import GZIP, UnpackedPiece, pieces
from worker.scan.inputs.warc.record_search import FoundRecord, records_of
from worker.scan.inputs.warc.web_record import ARC, WARC, RecordForm

PLAIN = warc_of(4)
STARTS = [match.start() for match in re.finditer(rb"WARC/1\.", PLAIN)]


def found_in(content: bytes, step: int = 10_000, most_bytes: int = 100_000) -> list[FoundRecord]:
    parts = [UnpackedPiece(content[at : at + step], 0 if not at else None) for at in range(0, len(content), step)]
    return list(records_of(parts, most_bytes, WARC))


def numbers(found: list[FoundRecord]) -> list[int]:
    """The numbers of the whole pages."""
    return [n for n in range(4) for one in found if not one.broken and one.content.endswith(html(n).encode())]


@pytest.mark.parametrize("step", [1, 7, 500, 10_000])
def test_records_are_the_same_however_they_come_in(step: int) -> None:
    found = found_in(PLAIN, step)
    assert [one.at for one in found] == STARTS
    assert numbers(found) == [0, 1, 2, 3]


def changed(before: bytes, after: bytes, count: int = 1) -> bytes:
    """The archive with this change in its second record."""
    begin, end = STARTS[1], STARTS[2]
    return PLAIN[:begin] + PLAIN[begin:end].replace(before, after, count) + PLAIN[end:]


@pytest.mark.parametrize(
    "content",
    [
        changed(b"WARC/1", b"WURC/1"),
        changed(b"Content-Length: ", b"Content-Length: 1"),
        changed(b"Content-Length: ", b"Content-Length: 99999"),
        changed(b"Content-Length: ", b"Content-Length: -"),
        changed(b"Content-Length: ", b"Content-Length: 0 "),
        changed(b"\r\nContent-Length: ", b"\r\nContent-Longth: "),
        changed(b"\r\n", b"", 100),
        PLAIN[: STARTS[1] + 100] + PLAIN[STARTS[2] :],
        PLAIN[: STARTS[2] - 100] + PLAIN[STARTS[2] :],
    ],
)
def test_a_damaged_record_costs_no_other_one(content: bytes) -> None:
    for step in (11, 10_000):
        found = found_in(content, step, 3_000)
        assert numbers(found) == [0, 2, 3]
        (broken,) = [one for one in found if one.broken]
        assert broken.broken in ("damaged", "too-large") and broken.at == STARTS[1]


def test_what_is_no_record_is_told_once_and_passed() -> None:
    content = b"here is\nsomething else\n" + PLAIN[: STARTS[2]] + b"and\r\n\r\nhere\r\n" * 20 + PLAIN[STARTS[2] :]
    found = found_in(content)
    assert numbers(found) == [0, 1, 2, 3]
    assert [(one.at, one.detail) for one in found if one.broken] == [
        (0, "no record begins here"),
        (STARTS[2] + 23, "no record begins here"),
    ]


def test_a_file_that_ends_within_a_record_says_so() -> None:
    found = found_in(PLAIN[:-50])
    assert numbers(found) == [0, 1, 2]
    assert found[-1].broken == "damaged" and "the file ends" in found[-1].detail and found[-1].at == STARTS[3]


def test_of_a_record_that_is_too_large_the_beginning_is_given() -> None:
    large = warc_of(1).replace(html(0).encode(), b"x" * len(html(0)))
    found = found_in(large + PLAIN, most_bytes=len(large) - 10)
    assert found[0].broken == "too-large" and found[0].content.startswith(b"WARC/1.") and len(found) == 5


@pytest.mark.parametrize(
    "damage",
    [
        lambda member: member[:-6] + b"\0\0" + member[-4:],
        lambda member: member[:-30],
        lambda member: member[: len(member) // 2] + b"\xff" * 9 + member[len(member) // 2 :],
        lambda member: b"\x1f\x8b\x08\xff" + member[4:],
        lambda member: b"no gzip at all",
        lambda member: b"",
    ],
)
def test_a_damaged_member_costs_its_record(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    bounds = [*STARTS, len(PLAIN)]
    members = [gzip.compress(PLAIN[a:b]) for a, b in pairwise(bounds)]
    members[1] = damage(members[1])
    path = tmp_path / "a"
    path.write_bytes(b"".join(members))
    found = list(records_of(pieces(stored(str(path)).open(), GZIP), 100_000, WARC))
    assert numbers(found) == [0, 2, 3]
    broken = [one for one in found if one.broken]
    assert [(one.broken, one.member) for one in broken] == [("damaged", len(members[0]))] * bool(members[1])
    last = len(members[0] + members[1] + members[2])
    assert [one.stored for one in found][-1] == (last, last + len(members[3]))
    assert url(3).encode() in gzip.decompress(path.read_bytes()[last:])


@pytest.mark.parametrize(
    "content",
    [
        b"WARC/1.0\nWARC-A:\n" * 60_000,
        b"WARC/1.0\nWARC-A: b\nContent-Length: 999999\n\n" * 20_000,
        b"WARC/1.0\nContent-Length: 99999999999\n\nHTTP/1.1 200 OK\nA: b\n" * 20_000,
        b"WARC/1.0\nContent-Length: 0\n\n" * 30_000,
        b"\n" * 1_000_000,
        b"a:b\n" * 250_000,
        PLAIN + b"WARC/1.0\n" * 100_000,
        b"\nhttp://a.example/ 1.2.3.4 20010203040506 text/html 99999999\n" * 15_000,
        b"http://a.example/ " + b"1.2.3.4 20010203040506 " * 40_000,
    ],
)
@pytest.mark.parametrize("form", [WARC, ARC])
@pytest.mark.timeout(60)
def test_what_is_made_to_be_searched_long_is_searched_in_line_with_its_length(content: bytes, form: RecordForm) -> None:
    looked_at = 0

    def size(buffer: bytes | bytearray, reach: int) -> int | None:
        nonlocal looked_at
        looked_at += 1
        return form.size(buffer, reach)

    whole = [UnpackedPiece(content, 0, len(content))]
    found = list(records_of(whole, 1_000_000, form._replace(size=size)))
    assert looked_at <= 2 * len(content) // 16 and len(found) <= len(content) // 16 + 1
    one_byte_members = [UnpackedPiece(b"%c" % byte, 20 * at, 20 * at + 20) for at, byte in enumerate(content[:50_000])]
    assert len(list(records_of(one_byte_members, 1_000_000, form))) <= len(content) // 16 + 1


def test_a_length_beyond_all_files_is_named_and_the_next_record_read() -> None:
    for length in (b"1000000000000", b"9" * 60):
        content = re.sub(rb"Content-Length: \d+", b"Content-Length: " + length, PLAIN, count=1)
        found = found_in(content)
        assert numbers(found) == [1, 2, 3]
        assert [(one.broken, one.at) for one in found if one.broken] == [("too-large", 0)]


def test_a_byte_order_mark_and_blank_lines_are_no_damage() -> None:
    found = found_in(b"\xef\xbb\xbf\r\n\n" + PLAIN.replace(b"\r\n\r\nWARC/", b"\r\n\n\n\r\n\nWARC/"))
    assert numbers(found) == [0, 1, 2, 3] and not any(one.broken for one in found)
