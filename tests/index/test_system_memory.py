"""Memory for slabs, rows and heads: given out, given back, and counted."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np

from worker.index.kernels.plan import ROW_BYTES
from worker.index.system_memory import Chunks, Regions, Shares


def test_a_region_has_place_for_what_was_wanted_and_begins_with_zeros() -> None:
    regions = Regions(1 << 12, 1 << 16)
    for wanted in (1, 5000, 100_000):
        regions.open_another(wanted)
        assert regions.room >= wanted
        assert regions.bases[regions.open] % 8 == 0
        assert regions.sizes[regions.open] == regions.room


def test_regions_grow_with_what_there_is_up_to_the_largest() -> None:
    regions = Regions(1 << 12, 1 << 16)
    sizes = []
    for _ in range(60):
        regions.open_another(1)
        regions.used[regions.open] = regions.live[regions.open] = regions.sizes[regions.open]
        sizes.append(int(regions.sizes[regions.open]))
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (1 << 12, 1 << 16)


def test_a_region_in_which_nothing_lives_is_given_back_unless_it_is_open_or_being_emptied() -> None:
    regions = Regions(1 << 12, 1 << 12)
    numbers = []
    for _ in range(6):
        regions.open_another(1)
        regions.used[regions.open] = regions.live[regions.open] = 1 << 12
        numbers.append(regions.open)
    before = regions.nbytes
    regions.live[:] = 0
    regions.emptying = numbers[0]
    regions.release_empty()
    assert [number for number in numbers if regions.sizes[number]] == [numbers[0], numbers[-1]]
    assert regions.nbytes < before
    regions.open_another(1)
    assert regions.open in numbers[1:-1], "a number that became free is used again"


def test_the_emptiest_region_is_never_the_open_one() -> None:
    regions = Regions(1 << 12, 1 << 12)
    assert regions.emptiest() == -1
    for live in (3000, 1000, 2000, 0):
        regions.open_another(1)
        regions.used[regions.open], regions.live[regions.open] = 4096, live
    assert regions.live[regions.emptiest()] == 1000
    assert regions.dead_bytes == 3 * 4096 - 6000
    assert regions.live_bytes == 6000


def test_chunks_of_rows_are_zeros_at_addresses_of_their_own() -> None:
    chunks = Chunks(64)
    taken = [chunks.take() for _ in range(40)]
    assert chunks.nbytes == 40 * 64 * ROW_BYTES
    for number, (rows, address) in enumerate(taken):
        assert rows.shape == (64, 4)
        assert not rows.any()
        assert rows.ctypes.data == address
        rows[:] = number
    assert all(np.all(rows == number) for number, (rows, _) in enumerate(taken))


def test_shares_begin_with_a_cache_line_and_are_zeros_of_their_own() -> None:
    shares = Shares()
    sizes = [1 << 20, 1 << 20, 1 << 20, 3 << 20, 3 << 20, 1 << 21, 1 << 8]
    taken = [shares.take(size) for size in sizes]
    for number, (share, size) in enumerate(zip(taken, sizes, strict=True), 1):
        assert (len(share), share.ctypes.data % 64, bool(share.any())) == (size, 0, False)
        share[:] = number
    assert all(np.all(share == number) for number, share in enumerate(taken, 1))


def test_what_shares_took_is_given_back_with_the_last_of_them() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    shares, size = Shares(), 1 << 20
    taken = [shares.take(size) for _ in range(64)]
    for share in taken:
        share[:] = 1
    before = resident()
    del taken[1::2], share
    assert before - resident() < 8 * size, "a half of each page is used"
    del taken[:-2]
    assert before - resident() > 56 * size
