"""Pairs are chosen at each distance, the same pairs in whatever order rows come."""

from __future__ import annotations

from pathlib import Path

from tests.results.groups.scanned import NEAR, written
from tests.results.report.reports import real_rows
from worker.results.groups.grouping import Grouping
from worker.results.groups.nearness import nearness, page_of
from worker.results.groups.verdict_lines import VerdictLines
from worker.results.report.samples import Samples


def test_each_distance_has_its_least_similar_pair_first_and_pairs_are_near(tmp_path: Path) -> None:
    with VerdictLines(written(real_rows(), tmp_path)) as lines:
        rows = list(lines.rows())
        forwards, backwards = Samples(), Samples()
        for begin, row in rows:
            forwards.offer(begin, row)
        for begin, row in reversed(rows):
            backwards.offer(begin, row)
        grouping = Grouping(lines, NEAR.near)
        found = forwards.chosen(lines, grouping)
        assert found == backwards.chosen(lines, grouping)
    distances = [sample.page.distance for sample in found]
    duplicates = [row for _, row in rows if row.verdict == "duplicate"]
    assert set(distances) == {row.distance for row in duplicates}
    assert distances == sorted(distances, key=lambda d: 99 if d is None else d)
    for distance in set(distances):
        first = next(sample.page for sample in found if sample.page.distance == distance)
        of_distance = [row.similarity for row in duplicates if row.distance == distance and row.similarity is not None]
        assert first.similarity == (min(of_distance) if of_distance else None)
        assert distances.count(distance) <= 3
    for sample in found:
        assert nearness(NEAR.near, page_of(sample.survivor), page_of(sample.page)) is not None
