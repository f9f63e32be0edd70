"""The counters hold plain numbers, and copies of them are whole."""

from __future__ import annotations

import threading

import pytest

from worker.observe.catalogue import DISTANCE, LAG_SECONDS, PAGES
from worker.observe.counters import OTHER, Counters, Distribution, FewValues


@pytest.mark.parametrize(("value", "bucket"), [(-1, 0), (0, 0), (0.5, 1), (1, 1), (3, 2), (3.1, 3), (1e9, 3)])
def test_a_value_is_in_the_first_bucket_whose_bound_it_does_not_pass(value: float, bucket: int) -> None:
    distribution = Distribution((0, 1, 3))
    distribution.add(value)
    seen = distribution.now()
    assert [place for place, count in enumerate(seen.counts) if count] == [bucket]
    assert seen.total == value


def test_a_label_keeps_its_first_values_and_calls_the_rest_other() -> None:
    few = FewValues(2)
    assert [few(value) for value in ("a", "b", "c", "a", "d", "b")] == ["a", "b", OTHER, "a", OTHER, "b"]


def test_a_series_without_labels_and_seeded_ones_are_there_from_the_start() -> None:
    tallies, distributions = Counters([LAG_SECONDS, PAGES, DISTANCE]).copy()
    assert tallies[LAG_SECONDS.name] == {(): 0}
    assert tallies[PAGES.name]["unique", "zh"] == 0
    assert tallies[PAGES.name].keys() == set(PAGES.seeds)
    assert set(distributions[DISTANCE.name].counts) == {0}


def test_a_copy_does_not_change_any_more() -> None:
    counters = Counters([PAGES, DISTANCE])
    tallies, distributions = counters.copy()
    counters.tally(PAGES)["dead", "none"] += 1
    counters.distribution(DISTANCE).add(2)
    assert tallies[PAGES.name]["dead", "none"] == 0
    assert sum(distributions[DISTANCE.name].counts) == 0


def test_a_copy_waits_until_what_belongs_together_is_written() -> None:
    counters = Counters([PAGES])
    copies: list[float] = []
    reader = threading.Thread(target=lambda: copies.append(sum(counters.copy()[0][PAGES.name].values())))
    with counters.lock:
        counters.tally(PAGES)["unique", "zh"] += 1
        reader.start()
        counters.tally(PAGES)["unique", "latin"] += 1
    reader.join()
    assert copies == [2]
