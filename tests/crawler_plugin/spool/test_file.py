"""The spool's file: nothing is lost whenever the process ends, only one process writes it, a full disk leaves it
whole."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from crawler_plugin.record import PageRecord
from crawler_plugin.spool.file import Spool, Stored, named
from crawler_plugin.spool.records import Damage, encode
from crawler_plugin.wire.errors import Refused, Unavailable, UsageError
from crawler_plugin.wire.outcomes import JobMark
from tests.crawler_plugin.crawling import ROOT
from tests.crawler_plugin.spool.test_records import page

ROOM = 10**9


def take_all(spool: Spool) -> list[Stored]:
    found = []
    while (stored := spool.take()) is not None:
        found.append(stored)
    return found


def urls(stored: list[Stored]) -> list[str]:
    return [each.page.key.decode().rpartition("/")[2] for each in stored]


def numbered(*numbers: int) -> list[PageRecord]:
    return [page(number) for number in numbers]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pages.spool"


def left_behind(path: Path, *numbers: int) -> None:
    """A spool that an earlier crawl closed."""
    spool = Spool.open(path, ROOM)
    assert spool.append(numbered(*numbers)) == (len(numbers), None)
    spool.close()


def test_what_one_process_leaves_the_next_one_takes_in_order(path: Path) -> None:
    left_behind(path, 0, 1, 2)
    spool = Spool.open(path, ROOM)
    assert spool.left == 3
    assert urls(take_all(spool)) == ["0", "1", "2"]
    assert not spool.has_unread
    spool.append(numbered(3))
    assert urls(take_all(spool)) == ["3"]
    spool.close()


def test_a_page_stays_until_it_is_marked_as_sent_and_an_empty_file_is_removed(path: Path) -> None:
    left_behind(path, 0, 1)
    spool = Spool.open(path, ROOM)
    first, second = take_all(spool)
    spool.mark_sent(first.place)
    spool.close()
    spool = Spool.open(path, ROOM)
    again = take_all(spool)
    assert urls(again) == ["1"]
    assert again[0].page == second.page
    spool.mark_sent(again[0].place)
    assert (spool.left, spool.size) == (0, 0)
    spool.close()
    assert not path.exists()


def test_a_file_that_is_emptied_takes_pages_again(path: Path) -> None:
    spool = Spool.open(path, len(encode(page(0))))
    for number in range(3):
        assert spool.append(numbered(number)).pages == 1
        (stored,) = take_all(spool)
        assert urls([stored]) == [str(number)]
        spool.mark_sent(stored.place)
    spool.close()


def test_marks_lie_beside_the_pages_are_no_pages_and_go_with_the_last(path: Path) -> None:
    left_behind(path, 0, 1)
    found = [JobMark(job="7", spider=spider, run="r", pages=5) for spider in ("news", None)]
    spool = Spool.open(path, 0)
    assert spool.keep_marks(found), "whatever the limit for pages is"
    spool.append([])
    spool.close()
    for left in (1, 0):
        spool = Spool.open(path, ROOM)
        assert (spool.marks, spool.left, spool.damaged) == (found, left + 1, [])
        first, *others = take_all(spool)
        assert len(others) == left
        spool.mark_sent(first.place)
        assert spool.keep_marks(found) is bool(left)
        spool.close()
        assert path.exists() is bool(left)
        found = found * 2  # the earlier ones are still there


def test_pages_beyond_the_limit_are_not_taken_and_the_others_are_whole(path: Path) -> None:
    spool = Spool.open(path, 2 * len(encode(page(0))))
    pages, trouble = spool.append(numbered(0, 1, 2))
    assert pages == spool.left == 2
    assert trouble is not None
    assert "DEDUP_SPOOL_BYTES" in trouble
    assert spool.append(numbered(3)).pages == 0
    spool.close()
    assert urls(take_all(Spool.open(path, ROOM))) == ["0", "1"]


def test_on_a_full_disk_what_does_not_fit_leaves_no_trace(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pwrite, room = os.pwrite, [len(encode(page(0))) + 40]

    def full(descriptor: int, record: bytes, offset: int) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = pwrite(descriptor, bytes(record)[: room[0]], offset)
        room[0] -= count
        return count

    spool = Spool.open(path, ROOM)
    with monkeypatch.context() as disk:
        disk.setattr(os, "pwrite", full)
        pages, trouble = spool.append(numbered(0, 1, 2))
    assert pages == 1
    assert trouble == f"{path}: No space left on device"
    assert path.stat().st_size == len(encode(page(0)))
    assert spool.append(numbered(3)) == (1, None), "there is room again"
    assert urls(take_all(spool)) == ["0", "3"]
    spool.close()


def test_pages_that_the_disk_does_not_acknowledge_are_not_taken(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool.open(path, ROOM)
    assert spool.append(numbered(0)).pages == 1

    def failing(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", failing)
        assert spool.append(numbered(1)) == (0, f"{path}: Input/output error")
    assert spool.left == 1
    assert urls(take_all(spool)) == ["0"]
    spool.close()


def test_a_file_of_something_else_is_refused_and_left_as_it_is(path: Path) -> None:
    path.write_text("SPIDER_MODULES = []\n")
    with pytest.raises(UsageError, match="is not a spool; name another file in DEDUP_SPOOL"):
        Spool.open(path, ROOM)
    assert path.read_text() == "SPIDER_MODULES = []\n"


def test_a_file_of_a_later_version_is_refused_and_left_as_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr("crawler_plugin.spool.records.VERSION", 2)
        left_behind(path, 0)
    before = path.read_bytes()
    with pytest.raises(Refused, match=r"pages\.spool: .* version 2"):
        Spool.open(path, ROOM)
    assert path.read_bytes() == before


def test_two_processes_cannot_use_one_file(path: Path) -> None:
    spool = Spool.open(path, ROOM)
    program = (
        "import sys; from pathlib import Path; from crawler_plugin.spool.file import Spool\n"
        "Spool.open(Path(sys.argv[1]), 10**9)"
    )
    other = [sys.executable, "-c", program, str(path)]
    refused = subprocess.run(other, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert f"{path} is in use by another crawl or command" in refused.stderr
    with pytest.raises(Unavailable):
        Spool.open(path, ROOM)
    spool.close()
    subprocess.run(other, cwd=ROOT, timeout=60, check=True)


def test_pages_are_nobody_elses_business(path: Path) -> None:
    spool = Spool.open(path, ROOM)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    spool.close()


def test_damage_is_named_with_its_place_and_its_page(path: Path) -> None:
    left_behind(path, 0, 1, 2)
    torn = bytearray(path.read_bytes())
    size = len(torn) // 3
    torn[2 * size - 1] ^= 1
    path.write_bytes(torn)
    spool = Spool.open(path, ROOM)
    assert urls(take_all(spool)) == ["0", "2"]
    assert named(spool.damaged, path) == [
        f"{path}: bytes {size} to {2 * size} are torn or damaged and passed over; there was https://example.com/1: "
        "crawl that again"
    ]


def change(path: Path, place: int) -> None:
    """Change one byte while the file is open."""
    with path.open("r+b") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ 1]))


@pytest.mark.parametrize("changed", ["header", "payload"])
def test_damage_that_comes_while_the_file_is_open_costs_its_own_page(path: Path, changed: str) -> None:
    left_behind(path, 0, 1, 2)
    size = path.stat().st_size // 3
    spool = Spool.open(path, ROOM)
    change(path, size if changed == "header" else 2 * size - 1)
    assert urls(take_all(spool)) == ["0", "2"]
    assert (spool.damaged, spool.left) == ([Damage(size, 2 * size, ())], 2)
    spool.close()


def test_a_spool_that_is_damaged_while_it_is_taken_over_stays_where_it_is(path: Path) -> None:
    left_behind(path, 0)
    second = path.with_name("second.spool")
    left_behind(second, 1, 2)
    spool, other = Spool.open(path, ROOM), Spool.open(second, ROOM)
    change(second, second.stat().st_size // 2)
    before = path.read_bytes(), second.read_bytes()
    assert spool.absorb(other) == f"{path}: Input/output error"
    assert (path.read_bytes(), second.read_bytes()) == before
    assert (spool.left, other.left) == (1, 2)
    other.close()
    spool.close()


@hypothesis.given(st.data())
@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
def test_wherever_a_crawl_is_killed_no_page_that_was_acknowledged_is_missing(path: Path, data: st.DataObject) -> None:
    """The process ends abruptly between any two steps, sometimes in the middle of a write."""
    path.unlink(missing_ok=True)
    acknowledged: set[str] = set()
    sent: set[str] = set()
    number = 0
    for _ in range(data.draw(st.integers(1, 4), label="lives")):
        spool = Spool.open(path, ROOM)
        taken: list[Stored] = []
        for step in data.draw(st.lists(st.sampled_from(["append", "take", "mark"]), max_size=12), label="steps"):
            if step == "append":
                spool.append(numbered(number))
                acknowledged.add(str(number))
                number += 1
            elif step == "take" and (stored := spool.take()) is not None:
                taken.append(stored)
            elif step == "mark" and taken:
                stored = taken.pop(0)
                sent |= set(urls([stored]))
                spool.mark_sent(stored.place)
        spool._held.close()  # killed: no close, the lock goes with the process
        if data.draw(st.booleans(), label="in the middle of a write"):
            record = encode(page(999))
            with path.open("ab") as file:
                file.write(record[: data.draw(st.integers(1, len(record) - 1), label="bytes")])
    spool = Spool.open(path, ROOM)
    left = set(urls(take_all(spool)))
    assert left == acknowledged - sent
    spool._held.close()
