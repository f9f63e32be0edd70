"""The file of a state: a torn record is cut off, a changed one is refused, and only one process writes at a time."""

from __future__ import annotations

import logging
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import Refused, Unavailable, UsageError
from crawler_plugin.wire.messages import Block
from tests.test_imports import ROOT
from worker.fingerprint.scheme import Scheme
from worker.index.blocks import Header, pack
from worker.index.entries import Entries, Survivor
from worker.local.state_file import StateFile

SCHEME = Scheme.of({"near.k": 3, "near.scope": "global"})


def block(after: int, to: int, scheme: Scheme = SCHEME) -> Block:
    """A block whose last page is a survivor."""
    header = Header(
        scheme=scheme.id,
        writer=b"w",
        shard=0,
        after=after,
        to=to,
        answers_offset=to + 1,
        watermark=to,
        claimed_up_to={0: to},
        floor=-1,
        clocks=((to, to),),
    )
    return pack(Entries.from_rows([Survivor((to, 0), f"http://a.example/{to}", to, to, 9, to)]), header)


BLOCKS = [block(-1, 3), block(3, 4), block(4, 9)]


def written(folder: Path, blocks: list[Block]) -> list[int]:
    """Write the blocks; returns the file's size before the first and after each."""
    state = StateFile(folder, SCHEME)
    assert list(state.blocks()) == []
    ends = [state.file.stat().st_size]
    for each in blocks:
        state.append(each)
        ends.append(state.file.stat().st_size)
    state.close()
    return ends


def read(folder: Path, scheme: Scheme = SCHEME) -> list[Block]:
    state = StateFile(folder, scheme)
    try:
        return list(state.blocks())
    finally:
        state.close()


def test_what_was_written_is_read_in_its_order(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "with its parents"
    written(folder, BLOCKS)
    assert read(folder) == BLOCKS
    assert (folder / "index.blocks").stat().st_mode & 0o077 == 0


def test_a_last_record_cut_at_any_byte_is_cut_off_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ends = written(tmp_path, BLOCKS)
    file = tmp_path / "index.blocks"
    whole = file.read_bytes()
    for size in range(ends[-2], len(whole)):
        file.write_bytes(whole[:size])
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert read(tmp_path) == BLOCKS[:-1]
        torn = size - ends[-2]
        assert [f"the last {torn} bytes" in message for message in caplog.messages] == [True] * bool(torn)
        assert file.stat().st_size == ends[-2]


def test_after_the_cut_the_file_goes_on(tmp_path: Path) -> None:
    ends = written(tmp_path, BLOCKS)
    with (tmp_path / "index.blocks").open("r+b") as file:
        file.truncate(ends[-1] - 1)
    state = StateFile(tmp_path, SCHEME)
    assert list(state.blocks()) == BLOCKS[:-1]
    state.append(BLOCKS[-1])
    state.close()
    assert read(tmp_path) == BLOCKS


@pytest.mark.parametrize("zeros", [1, 15, 16, 17, 5000])
def test_zeros_behind_the_last_record_are_what_a_loss_of_power_leaves_and_are_cut_off(
    tmp_path: Path, zeros: int
) -> None:
    written(tmp_path, BLOCKS)
    with (tmp_path / "index.blocks").open("ab") as file:
        file.write(bytes(zeros))
    assert read(tmp_path) == BLOCKS
    assert read(tmp_path) == BLOCKS


def test_a_bit_changed_anywhere_is_refused_and_nothing_is_cut(tmp_path: Path) -> None:
    ends = written(tmp_path, BLOCKS)
    file = tmp_path / "index.blocks"
    whole = file.read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        file.write_bytes(changed)
        with pytest.raises(Refused, match=r"index\.blocks") as refused:
            read(tmp_path)
        assert file.read_bytes() == changed
        begin = max((end for end in ends if end <= place), default=8)
        assert place < 8 or f"record at byte {begin}:" in str(refused.value)


def test_the_command_that_the_refusal_names_keeps_the_pages_that_it_says(tmp_path: Path) -> None:
    ends = written(tmp_path, BLOCKS)
    file = tmp_path / "index.blocks"
    changed = bytearray(file.read_bytes())
    changed[ends[1] + 20] ^= 1
    file.write_bytes(changed)
    with pytest.raises(Refused, match="go on with the 4 pages before it") as refused:
        read(tmp_path)
    subprocess.run(str(refused.value).rpartition(": ")[2].split(), check=True)
    assert read(tmp_path) == BLOCKS[:1]


@pytest.mark.parametrize("odd", [block(3, 5), block(5, 6), block(4, 9, Scheme.of({}))])
def test_a_record_that_does_not_go_on_where_the_one_before_ends_is_refused(tmp_path: Path, odd: Block) -> None:
    written(tmp_path, [*BLOCKS[:2], odd])
    with pytest.raises(Refused, match="it goes on after batch"):
        read(tmp_path)


def test_another_scheme_is_refused_with_the_settings_that_differ(tmp_path: Path) -> None:
    written(tmp_path, BLOCKS)
    with pytest.raises(Refused, match=r"near\.k is 2 here and 3 there.*a folder of their own"):
        read(tmp_path, Scheme.of({"near.k": 2, "near.scope": "global"}))
    assert read(tmp_path) == BLOCKS


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.blocks").write_bytes(b"something else")
    with pytest.raises(Refused, match="no state that this program wrote"):
        read(tmp_path)


def test_a_second_one_is_refused_while_the_first_is_open_and_not_after(tmp_path: Path) -> None:
    first = StateFile(tmp_path, SCHEME)
    with pytest.raises(Refused, match=r"open already, in process \d+: close it there"):
        StateFile(tmp_path, SCHEME)
    program = f"""
from pathlib import Path
from crawler_plugin.wire.errors import Refused
from worker.fingerprint.scheme import Scheme
from worker.local.state_file import StateFile
try:
    StateFile(Path({str(tmp_path)!r}), Scheme.of({{}}))
except Refused as refused:
    print(refused)
"""
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "open already" in other.stdout
    first.close()
    StateFile(tmp_path, SCHEME).close()


def test_a_state_that_cannot_be_a_folder_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match="cannot be opened"):
        StateFile(tmp_path / "file", SCHEME)


def test_a_block_that_could_not_be_written_can_be_appended_again(tmp_path: Path) -> None:
    ends = written(tmp_path, BLOCKS[:1])
    state = StateFile(tmp_path, SCHEME)
    assert list(state.blocks()) == BLOCKS[:1]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ends[-1] + 40, before[1]))  # the disk is full in the middle of it
    try:
        with pytest.raises(Unavailable, match="make room on the disk, then call flush"):
            state.append(BLOCKS[1])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert state.file.stat().st_size == ends[-1] + 40
    state.append(BLOCKS[1])
    state.append(BLOCKS[2])
    state.close()
    assert read(tmp_path) == BLOCKS


def test_a_file_is_rewritten_as_a_whole_and_goes_on(tmp_path: Path) -> None:
    written(tmp_path, BLOCKS[:2])
    state = StateFile(tmp_path, SCHEME)
    assert list(state.blocks()) == BLOCKS[:2]
    state.rewrite([block(-1, 4)])
    state.append(BLOCKS[2])
    state.close()
    assert read(tmp_path) == [block(-1, 4), BLOCKS[2]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.blocks", "lock"]


def test_a_file_that_cannot_be_rewritten_is_the_old_one(tmp_path: Path) -> None:
    ends = written(tmp_path, BLOCKS)
    state = StateFile(tmp_path, SCHEME)
    assert list(state.blocks()) == BLOCKS
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ends[0] + 40, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            state.rewrite([block(-1, 9)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    state.append(block(9, 10))
    state.close()
    assert read(tmp_path) == [*BLOCKS, block(9, 10)]
    assert not (tmp_path / "index.blocks.tmp").exists()
