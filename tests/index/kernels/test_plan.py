"""The words of memory that kernels and Python share: each has a place of its own, and the limits fit together."""

from __future__ import annotations

import pytest

from worker.fingerprint import sketch
from worker.index import columns
from worker.index.kernels import plan, scan
from worker.index.layout import Layout

STATE = (
    "ROWS ROW_CHUNKS BASES USED LIVE SIZES REGIONS OPEN WANTED WANTED_ROW WANTED_PARENT WANTED_GROUP TABLES TITLED "
    "BLOCK_TABLES BAND_TABLES NODES COLUMNS RING CHUNK_BITS FIRST K RATIO_LEAST RATIO_MOST THRESHOLD SKETCH_LEAST "
    "SKETCH_MOST SCRATCH CANDIDATES SEEKS HAMMING_THRESHOLD URL_TABLE LEAST_ACROSS ONE"
)


@pytest.mark.parametrize(
    ("names", "limit"),
    [
        (STATE, plan.STATE_WORDS),
        ("REGION OFFSET LENGTH CAPACITY", plan.ROW_BYTES // 4),
        ("TAGGED KEYED COPIED NODE", 4),
        (" ".join(name for name in vars(plan) if name.startswith("TABLE_") and name not in
                  ("TABLE_WORDS", "TABLE_CHUNKS")), plan.TABLE_WORDS),
        ("NODE_ROW NODE_WIDTH NODE_BITS NODE_PARENT NODE_GROUP NODE_TABLE", plan.NODE_WORDS),
        ("SEEK_ROW SEEK_TAG SEEK_AT SEEK_SLOTS SEEK_LENGTH SEEK_PLACE SEEK_AFTER", plan.SEEK_WORDS),
        ("FINGERPRINT TEXT TOKENS SKETCH BATCH PLACE BARE URL SCOPE SITE TITLE DOUBT", plan.COLUMN_COUNT),
        ("PAGE_TOKENS PAGE_SITE PAGE_TITLE PAGE_DOUBT", plan.PAGE_WORDS),
        ("ONE", plan.STATE_WORDS - plan.PAGE_WORDS // 2 + 1),
    ],
    ids=["state", "row", "form", "table", "node", "seek", "column", "page", "page in state"],
)  # fmt: skip
def test_no_two_words_have_one_place_and_all_fit(names: str, limit: int) -> None:
    places = [getattr(plan, name) for name in names.split()]
    assert len(set(places)) == len(places)
    assert all(0 <= place < limit for place in places)


def test_the_shifts_of_every_layout_fit_into_a_tables_words() -> None:
    most = max(len(arrangement.blocks) for layout in Layout for arrangement in layout.arrangements)
    assert plan.TABLE_SHIFTS + most <= plan.TABLE_WORDS
    assert max(len(layout.arrangements) for layout in Layout) <= plan.SEEK_TABLES


def test_more_queries_are_under_way_than_the_first_step_is_ahead() -> None:
    assert plan.SEEK_QUERIES & plan.SEEK_QUERIES - 1 == 0
    assert scan.SLABS_AHEAD < scan.ROWS_AHEAD < plan.SEEK_QUERIES


def test_columns_and_sketches_are_those_of_the_other_rooms() -> None:
    assert (plan.BANDS, 8 * plan.SKETCH_WORDS) == (sketch.BANDS, sketch.SKETCH_BYTES)
    names = {"fingerprint": plan.FINGERPRINT, "text_hash": plan.TEXT, "tokens": plan.TOKENS, "batch": plan.BATCH,
             "place": plan.PLACE, "bare": plan.BARE, "scope": plan.SCOPE,
             "site": plan.SITE, "title": plan.TITLE, "doubt": plan.DOUBT,
             "title_words": plan.TITLE_WORDS}  # fmt: skip
    assert {name: columns.PLACES[name] for name in names} == names
    assert plan.SKETCH not in columns.PLACES.values()
