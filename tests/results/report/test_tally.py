"""Counts over rows, in bounded memory."""

from __future__ import annotations

from collections import Counter

import msgspec

from tests.results.report.reports import real_rows
from worker.results.report.tally import SIMILARITIES, UNKNOWN, Named, Names, Tally
from worker.results.rows import OUTCOMES


def test_all_rows_are_counted_in_each_table() -> None:
    rows = real_rows()
    tally = Tally().add_all(rows)
    assert tally.pages == len(rows)
    assert tally.kinds == Counter(row.verdict for row in rows)
    assert sum(one.pages for one in tally.hosts.all()) == sum(one.pages for one in tally.templates.all()) == len(rows)
    assert sum(tally.reasons.values()) + sum(tally.dead.values()) == len(rows)
    near = [row for row in rows if row.verdict in ("duplicate", "refetch")]
    assert sum(tally.distances.values()) == sum(row.distance is not None for row in near)
    assert tally.similarities[SIMILARITIES - 1] >= sum(row.similarity == 1.0 for row in near) > 0
    spiders = {one.name: one.pages for one in tally.spiders.all()}
    assert spiders == {"a": 200, "b": 200}
    fetched, kinds = tally.columns()
    assert fetched.tolist() == [UNKNOWN if row.fetched is None else row.fetched for row in rows]
    assert [OUTCOMES[kind] for kind in kinds.tolist()] == [row.verdict for row in rows]


def test_those_with_most_duplicates_come_first_and_the_others_together() -> None:
    names = Names()
    for name, kind in (("a", 0), ("b", 1), ("b", 1), ("c", 1), ("c", 0), ("d", 3)):
        names.add(name, kind)
    assert names.most_duplicates(2) == [
        Named("b", 0, 2, 0, 0),
        Named("c", 1, 1, 0, 0),
        Named("2 others", 1, 0, 0, 1),
    ]
    assert names.most_duplicates(4)[-1].name == "d"


def test_of_too_many_names_the_rarest_are_counted_together() -> None:
    names = Names(most=10)
    for number in range(1000):
        names.add("often", 0)
        names.add(f"rare-{number}", 1)
    assert len(names.all()) <= 10
    assert names.all()[0] == Named("often", 1000, 0, 0, 0)
    assert sum(one.pages for one in names.most_duplicates(1)) == 2000


def test_no_url_holds_up_a_report() -> None:
    rows = [
        msgspec.structs.replace(row, url=f"https://a.example/a{'%20' * 1_000}-/{n}")
        for n, row in enumerate(real_rows()[:20])
    ]
    (only,) = Tally().add_all(rows).templates.all()
    assert (only.name, only.pages) == ("a.example/{words}/{number}", 20)
