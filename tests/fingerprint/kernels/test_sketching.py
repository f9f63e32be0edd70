"""Compiled sketches and bands against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler_plugin.wire.forgetting import MAX_U64
from tests.fingerprint.definition.sketch import bands_by_definition, sketch_by_definition
from worker.fingerprint.key import Key
from worker.fingerprint.sketch import PUBLIC, Numbering, numbering_of
from worker.fingerprint.text_reader import sketch_and_bands

NUMBERINGS = {"public": PUBLIC, "by a key": numbering_of(Key.of(b"the secret of a test"))}
every_numbering = pytest.mark.parametrize("numbering", NUMBERINGS.values(), ids=NUMBERINGS)
token = st.integers(0, MAX_U64) | st.integers(0, 3)


@every_numbering
@settings(max_examples=40, deadline=None)
@given(tokens=st.lists(token, max_size=40) | st.lists(token, min_size=40, max_size=120))
def test_any_tokens_have_the_sketch_and_bands_of_the_definitions(numbering: Numbering, tokens: list[int]) -> None:
    found = sketch_and_bands(np.array(tokens, np.uint64), numbering)
    assert found == (sketch_by_definition(tokens, numbering), bands_by_definition(tokens, numbering))


@every_numbering
@pytest.mark.parametrize("count", [1, 13, 14, 15, 16, 21, 22, 23, 24, 31, 32, 33, 1000])
def test_so_do_as_many_tokens_as_lie_at_a_limit(numbering: Numbering, count: int) -> None:
    tokens = np.random.default_rng(count).integers(0, MAX_U64, count, np.uint64)
    found = sketch_and_bands(tokens, numbering)
    listed = tokens.tolist()
    assert found == (sketch_by_definition(listed, numbering), bands_by_definition(listed, numbering))
