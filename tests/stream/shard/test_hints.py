"""Hints on pages come after the verdicts, within a budget, and never cost a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import pytest

from crawler_plugin.wire.messages import Claim, Order
from crawler_plugin.wire.outcomes import SurvivorFinding
from tests.columns import answer_of
from tests.stream.script import Listener, claim
from worker.fingerprint.near import SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.stream.shard.hints import LONGEST_URL, MOST_WAITING, Hints
from worker.verdict.claims import Claims
from worker.verdict.decide import Decisions, decide

NEAR = ScopedNear(SimHashNear(1))


class Looks:
    """Remembers the URLs of survivors, and of copies with their survivors; raises at the given ones."""

    of_site: bool = False

    def __init__(self, raises_at: str = "nothing") -> None:
        self.seen: list[tuple[str, str | None]] = []
        self._raises_at = raises_at

    def survivor(self, claims: Claims, place: int, order: Order) -> Sequence[SurvivorFinding]:
        return self._see(claims.url(place), None)

    def copy(self, claims: Claims, place: int, order: Order, survivor: str) -> Sequence[SurvivorFinding]:
        return self._see(claims.url(place), survivor)

    def _see(self, url: str, survivor: str | None) -> Sequence[SurvivorFinding]:
        if self._raises_at in url:
            raise ZeroDivisionError(url)
        self.seen.append((url, survivor))
        return ()


def decided(*claims: Claim, batch: int = 0) -> Decisions:
    return decide(batch, Claims.of(claims), [answer_of()], NEAR)


def hints_of(looks: Looks) -> tuple[Hints, Listener]:
    listener = Listener()
    return Hints({"findings": looks}, 0, 1, listener), listener


def pages(count: int, first: int = 0) -> list[Claim]:
    """Pages whose texts all differ."""
    return [claim(first + number, (first + number) << 2) for number in range(count)]


def test_nothing_is_looked_at_before_the_step_and_then_so_many_pages_at_most() -> None:
    looks = Looks()
    hints, _ = hints_of(looks)
    hints.offer(decided(*pages(9)))
    assert not looks.seen
    seen = []
    while hints.step(4):
        seen.append(len(looks.seen))
    assert seen == [3, 7]  # taking a batch counts as one
    assert len(looks.seen) == 9


def test_each_survivor_and_each_copy_with_its_survivor_is_looked_at_once() -> None:
    looks = Looks()
    hints, listener = hints_of(looks)
    hints.offer(decided(claim(0, 0), claim(1, 1), claim(2, 0b111 << 30)))
    assert not hints.step()
    assert looks.seen == [
        ("http://0-0.example/", None),
        ("http://0-2.example/", None),
        ("http://0-1.example/", "http://0-0.example/"),
    ]
    assert not listener.told


class LooksAtHome(Looks):
    of_site = True


def test_where_all_look_at_one_site_only_neither_survivors_nor_copies_of_other_sites_are_told() -> None:
    def of_site(number: int, site: int) -> Claim:
        return msgspec.structs.replace(claim(number, 0), site=site)

    home, abroad = LooksAtHome(), Looks()
    both = Hints({"home": home, "abroad": abroad}, 0, 1)
    alone = Hints({"home": home}, 0, 1)
    asked = decided(of_site(0, 7), of_site(1, 8), of_site(2, 7), of_site(3, 0))
    alone.offer(asked)
    assert not alone.step()
    assert home.seen == [(f"http://0-{number}.example/", "http://0-0.example/") for number in (2, 3)]
    both.offer(asked)
    assert not both.step()
    assert len(abroad.seen) == 4


def test_what_comes_faster_is_left_out_and_counted() -> None:
    looks = Looks()
    hints, listener = hints_of(looks)
    size = MOST_WAITING // 4
    for batch in range(6):
        hints.offer(decided(*pages(size, batch * size), batch=batch))
    assert hints.waiting == MOST_WAITING
    assert listener.told["hints_skipped"] == [("behind", size), ("behind", size)]
    assert not hints.step(2 * MOST_WAITING)
    assert len(looks.seen) == MOST_WAITING


def test_a_page_at_a_long_url_or_with_such_a_survivor_is_left_out_and_counted() -> None:
    looks = Looks()
    hints, listener = hints_of(looks)
    long = "http://a.example/" + "x" * LONGEST_URL
    hints.offer(decided(claim(0, 0, url=long), claim(1, 0), claim(2, 0b111 << 30)))
    assert not hints.step()
    assert looks.seen == [("http://0-2.example/", None)]
    assert listener.told["hints_skipped"] == [("long-url", 1), ("long-url", 1)]


def test_a_hint_that_raises_costs_that_page_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    broken, sound, listener = Looks(raises_at="0-1"), Looks(), Listener()
    hints = Hints({"broken": broken, "sound": sound}, 0, 1, listener)
    hints.offer(decided(*pages(3)))
    hints.offer(decided(claim(1, 1 << 40), batch=1))
    assert not hints.step()
    assert [url for url, _ in broken.seen] == ["http://0-0.example/", "http://0-2.example/"]
    assert len(sound.seen) == 4
    assert listener.told["hints_skipped"] == [("failed", 1)] * 2
    assert listener.told["failed"] == [("broken",)] * 2
    assert ["hints of broken" in record.getMessage() for record in caplog.records] == [True]


def test_copies_that_cannot_be_told_cost_the_rest_of_their_batch_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(self: Decisions, shard: int, shards: int, *, of_site: bool) -> Iterator[tuple[int, Order, str]]:
        raise LookupError(shard)

    looks = Looks()
    hints, listener = hints_of(looks)
    with monkeypatch.context() as patched:
        patched.setattr(Decisions, "copies", raises)
        hints.offer(decided(claim(0, 0), claim(1, 0)))
        assert not hints.step()
    hints.offer(decided(claim(2, 0), batch=1))
    assert not hints.step()
    assert [url for url, _ in looks.seen] == ["http://0-0.example/", "http://0-2.example/"]
    assert listener.told["failed"] == [("hints",)]
