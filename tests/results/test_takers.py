"""Finds kept pages that take a whole template, from all rows of a scan."""

from __future__ import annotations

from crawler_plugin.wire.outcomes import Verdict
from worker.results.takers import MANY, Suspect, Takers

SHOP = "http://shop.example/p/"


def row(number: int, title: int = 0, *, of: str | None = SHOP + "0", url: str = "", suspect: bool = False) -> Verdict:
    """A copy, or a unique page where ``of`` is None."""
    return Verdict(
        file="f",
        offset=number,
        id=str(number),
        url=url or f"{SHOP}{number}",
        verdict="duplicate" if of else "unique",
        duplicate_of=of,
        title_hash=f"{title:08x}" if title else "",
        suspect=suspect,
    )


def suspects(*rows: Verdict, least: int = MANY, most: int = 1000) -> list[Suspect]:
    takers = Takers(most)
    for each in rows:
        takers.add(each)
    return takers.suspects(least)


FIRST = row(0, 1, of=None)


def test_nine_in_ten_of_a_template_under_titles_that_differ_are_taken() -> None:
    copies = [row(n, n) for n in range(1, 91)]
    others = [row(n, n, of=None) for n in range(200, 211)]
    assert suspects(FIRST, *copies, *others[:10]) == [Suspect(SHOP + "0", "shop.example/p/{number}", 90, SHOP + "90")]
    assert suspects(FIRST, *copies, *others) == []
    assert suspects(FIRST, *copies[:19]) == []
    assert len(suspects(FIRST, *copies[:3], least=3)) == 1


def test_titles_that_are_missing_or_shared_and_copies_on_other_hosts_say_nothing() -> None:
    assert suspects(FIRST, *(row(n) for n in range(1, 60))) == []
    assert suspects(FIRST, *(row(n, 7) for n in range(1, 60))) == []
    assert suspects(FIRST, *(row(n, n, of="http://other.example/") for n in range(1, 60))) == []


def test_what_was_marked_while_it_was_judged_counts_whatever_came_later() -> None:
    marked = [row(n, n, suspect=n > 20) for n in range(1, 30)]
    unique = [row(n, n, of=None) for n in range(100, 900)]
    assert [one.copies for one in suspects(FIRST, *marked, *unique)] == [29]


def test_the_smaller_groups_are_forgotten_where_there_are_too_many() -> None:
    small = [row(n, n, of=f"http://h{n}.example/0", url=f"http://h{n}.example/p/{n}") for n in range(1000, 1200)]
    large = [row(n, n) for n in range(1, 40)]
    assert len(suspects(FIRST, *large, *small, most=50)) == 1
