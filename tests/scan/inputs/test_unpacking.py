"""Packed files are unpacked piece by piece, and beyond damage."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import UsageError
from tests.scan.inputs.written import PACKED, put
from worker.scan.inputs.opening import stored
from worker.scan.inputs.unpacking import CHUNK, COMPRESSIONS, Compression, UnpackedPiece, compression_of, pieces

EACH = {"." + one.name: one for one in COMPRESSIONS}


def noise(size: int, seed: int = 1) -> bytes:
    """Bytes that no compression makes smaller."""
    return random.Random(seed).randbytes(size)


def unpacked(folder: Path, content: bytes, compression: Compression | None) -> list[UnpackedPiece]:
    return list(pieces(stored(str(put(folder, "a", content))).open(), compression))


@pytest.mark.parametrize("end", PACKED)
def test_content_comes_whole_in_bounded_pieces(end: str, tmp_path: Path) -> None:
    content = noise(CHUNK) + b"a" * 3_000_000
    stored_content = PACKED[end](content)
    compression = compression_of(stored_content)
    assert (compression.name if compression else "") == end[1:]
    found = unpacked(tmp_path, stored_content, compression)
    assert b"".join(piece.content for piece in found) == content
    assert max(len(piece.content) for piece in found) <= CHUNK
    assert [piece.begins for piece in found if piece.begins is not None] == [0]
    assert [piece.ends for piece in found if piece.ends is not None] == [len(stored_content)]


@pytest.mark.parametrize("end", EACH)
def test_members_follow_each_other_with_zeros_between_them(end: str, tmp_path: Path) -> None:
    members = [PACKED[end](part) for part in (b"first", b"", noise(300_000), b"last")]
    found = unpacked(tmp_path, members[0] + members[1] + b"\0" * 8 + members[2] + members[3] + b"\0" * 900, EACH[end])
    assert b"".join(piece.content for piece in found) == b"first" + noise(300_000) + b"last"
    second = len(members[0])
    third = second + len(members[1]) + 8
    begins = [piece.begins for piece in found if piece.begins is not None]
    assert begins == [0, second, third, third + len(members[2])]
    assert not any(piece.damage for piece in found)


@pytest.mark.parametrize("end", EACH)
@pytest.mark.parametrize("what", ["middle", "start", "cut", "gone"])
def test_members_before_and_behind_a_damaged_one_are_read(end: str, what: str, tmp_path: Path) -> None:
    members = [PACKED[end](b"%d" % number + noise(200_000, number)) for number in range(4)]
    middle = members[1]
    members[1] = {
        "middle": middle[:60_000] + b"\xff" * 50 + middle[60_050:],
        "start": b"\xff" + middle[1:],
        "cut": middle[:90_000],
        "gone": noise(1000),
    }[what]
    found = unpacked(tmp_path, b"".join(members), EACH[end])
    content = b"".join(piece.content for piece in found)
    for number in (0, 2, 3):
        assert b"%d" % number + noise(200_000, number) in content
    assert [piece.begins for piece in found if piece.damage] == [len(members[0])]


@pytest.mark.parametrize("end", EACH)
def test_a_file_that_ends_too_early_is_damaged_at_its_last_member(end: str, tmp_path: Path) -> None:
    first, second = PACKED[end](b"first"), PACKED[end](noise(100_000))
    found = unpacked(tmp_path, first + second[:-1], EACH[end])
    assert found[0].content == b"first"
    assert [piece.begins for piece in found if piece.damage] == [len(first)]
    assert "the file ends within the" in found[-1].damage


def test_what_was_unpacked_before_the_damage_stands(tmp_path: Path) -> None:
    content = noise(2_000_000)
    packed = bytearray(PACKED[".gz"](content))
    packed[1_500_000] ^= 255
    packed[-8] ^= 255
    found = unpacked(tmp_path, bytes(packed), EACH[".gz"])
    got = b"".join(piece.content for piece in found)
    assert got[:1_400_000] == content[:1_400_000]
    assert found[-1].damage


def test_a_file_that_asks_for_much_memory_is_damage(tmp_path: Path) -> None:
    import lzma

    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 29}]
    packed = lzma.compress(b"a", filters=filters, preset=None)
    assert "emory" in unpacked(tmp_path, packed, EACH[".xz"])[0].damage


def test_without_a_package_for_zstd_the_next_move_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = PACKED[".zst"](b"a")
    for name in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"needs backports.zstd, which is not installed: pip install .*\[scan\]'$"):
        unpacked(tmp_path, packed, EACH[".zst"])
