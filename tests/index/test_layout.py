from itertools import combinations

import numpy as np
import pytest

from tests.index.reference import arrange
from worker.index.layout import MAX_K, WHOLE, Layout

SHAPES = [(Layout.L4x16, 4, 4, 16), (Layout.L8x8, 8, 8, 24), (Layout.L16x4, 16, 16, 28)]


@pytest.mark.parametrize(("layout", "blocks", "tables", "key_bits"), SHAPES)
def test_a_layout_has_the_tables_and_keys_that_its_description_says(
    layout: Layout, blocks: int, tables: int, key_bits: int
) -> None:
    assert len(layout.arrangements) == tables
    for arrangement in layout.arrangements:
        assert sorted(arrangement.blocks) == list(range(blocks))
        assert arrangement.key_bits == key_bits


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("distance", range(MAX_K + 1))
def test_any_three_changed_bits_leave_the_key_of_some_table_unchanged(layout: Layout, distance: int) -> None:
    # Arranging only moves bits, so two fingerprints agree in a key exactly if that key of their difference is 0.
    differences = np.array([sum(1 << bit for bit in bits) for bits in combinations(range(64), distance)], np.uint64)
    met = np.zeros(len(differences), np.bool_)
    for arrangement in layout.arrangements:
        key = arrange(differences, arrangement.shifts) & np.uint64((1 << arrangement.key_bits) - 1)
        met |= key == 0
    assert met.all()


@pytest.mark.parametrize("layout", Layout)
def test_every_table_of_a_layout_is_needed(layout: Layout) -> None:
    differences = np.array([sum(1 << bit for bit in bits) for bits in combinations(range(64), MAX_K)], np.uint64)
    met = np.zeros(len(differences), np.int64)
    unmet_without = []
    for arrangement in layout.arrangements:
        met += arrange(differences, arrangement.shifts) & np.uint64((1 << arrangement.key_bits) - 1) == 0
    for arrangement in layout.arrangements:
        here = arrange(differences, arrangement.shifts) & np.uint64((1 << arrangement.key_bits) - 1) == 0
        unmet_without.append(bool((met - here == 0).any()))
    assert all(unmet_without)


@pytest.mark.parametrize("arrangement", [*(a for layout in Layout for a in layout.arrangements), WHOLE])
def test_an_arranged_value_has_all_bits_of_the_value(arrangement: object) -> None:
    single_bits = np.uint64(1) << np.arange(64, dtype=np.uint64)
    arranged = arrange(single_bits, arrangement.shifts)  # type: ignore[attr-defined]
    assert sorted(arranged.tolist()) == single_bits.tolist()


def test_a_16_bit_block_is_the_key_and_the_next_32_bits_are_the_tag() -> None:
    first = Layout.L4x16.arrangements[0]
    third = Layout.L4x16.arrangements[2]
    value = np.array([0x4444_3333_2222_1111], np.uint64)
    assert arrange(value, first.shifts).tolist() == [0x4444_3333_2222_1111]
    assert arrange(value, third.shifts).tolist() == [0x2222_1111_4444_3333]
