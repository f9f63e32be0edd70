"""A byte is found where Python finds it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from worker.compiling import COMPILED
from worker.page.elements.search import place_of
from worker.page.elements.vocabulary import lean

PAGE = b"a<b" + b"c" * 100 + b"<d"


@lean("int64(uint8[::1], int64, int64, int64)", entry=True)
def found_by_kernel(body: Any, character: int, place: int, end: int) -> int:
    """Calls ``place_of``, which only kernels can call."""
    return place_of(body, character, place, end)


PLACES = (0, 1, 2, 50, 103, 104, 105)


@pytest.mark.parametrize(("place", "end"), [(place, end) for place in PLACES for end in PLACES if place <= end])
def test_a_byte_is_found_between_two_places_or_the_end_is_the_answer(place: int, end: int) -> None:
    body = np.frombuffer(bytearray(PAGE), dtype=np.uint8) if COMPILED else bytearray(PAGE)
    found = PAGE.find(b"<", place, end)
    assert found_by_kernel(body, PAGE[1], place, end) == (end if found < 0 else found)
