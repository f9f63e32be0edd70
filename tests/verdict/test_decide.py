"""The deciding rule, in words and compared with the sequential oracle."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.messages import (
    NEAR_REASONS,
    NOT_KNOWN,
    NOT_STORED,
    PARDONED,
    SAME_TEXT,
    Answer,
    Claim,
    Hit,
    Order,
)
from tests import oracle
from tests.columns import Seen, answer_of, batch_of
from tests.verdict.definition import decisions_by_definition, is_compared
from worker.fingerprint.near import HAMMING_RATIO, AccurateNear, SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.fingerprint.sketch import SKETCH_BYTES
from worker.verdict.change import Change
from worker.verdict.claims import Claims
from worker.verdict.decide import Decision, decide, home_shard

NEAR = ScopedNear(SimHashNear(1), least_across=9)
BATCH = 7
SCHEME = b"scheme-8"


def claim(url: str, fingerprint: int | None, *, text: int = 0, dead: str | None = None, offset: int = 0) -> Claim:
    return Claim(
        partition=0, offset=offset, clock=0, url=url, fingerprint=fingerprint, text_hash=text, tokens=9, dead=dead
    )


def hit(place: int, order: Order, url: str, distance: int | None = 1, reason: str = "hamming") -> Hit:
    return Hit(place=place, order=order, url=url, distance=distance, reason=reason)


def answer(
    *hits: Hit, shard: int = 0, void: Sequence[int] = (), seen: Sequence[Seen] = (), batch: int = BATCH
) -> Answer:
    return answer_of(hits, void, seen, batch=batch, shard=shard)


def said(decisions: Sequence[Decision]) -> list[str]:
    """Each decision in words: place, outcome, reason, and the URL and order of the survivor that it names."""
    return [
        f"{r.order[1]} {r.outcome} {r.reason}" + (f" {r.original.url} {r.original.order}" if r.original else "")
        for r in decisions
    ]


def decided(claims: Sequence[Claim], *answers: Answer, batch: int = BATCH, near: ScopedNear = NEAR) -> list[Decision]:
    """The compiled rule's decisions, which must be those of the definition."""
    given = answers or (answer(),)
    judged = decide(batch, Claims.of(claims), given, near)
    found = list(judged)
    assert [bool(judged.again[one.order[1]]) for one in found] == [one.outcome == "refetch" for one in found]
    assert found == decisions_by_definition(batch, claims, given, near)
    tracked = list(decide(batch, Claims.of(claims), given, near, track_changes=True))
    assert tracked == decisions_by_definition(batch, claims, given, near, track_changes=True)
    assert [replace(decision, change=None) for decision in tracked] == found
    return found


def judged(claims: Sequence[Claim], *answers: Answer) -> list[str]:
    return said(decided(claims, *answers))


@pytest.mark.parametrize("swapped", [False, True])
def test_of_the_survivors_that_the_shards_name_the_earliest_counts(swapped: bool) -> None:
    answers = [answer(hit(0, (3, 9), "late"), shard=0), answer(hit(0, (3, 2), "early"), shard=1)]
    assert judged([claim("a", 0b0)], *(answers[::-1] if swapped else answers)) == ["0 duplicate hamming early (3, 2)"]


@pytest.mark.parametrize(
    ("one", "other", "named"),
    [((2, 9), (3, 0), (2, 9)), ((3, 0), (2, 9), (2, 9)), ((3, 10), (3, 9), (3, 9)), ((10, 0), (9, 0), (9, 0))],
)
def test_earlier_means_an_earlier_batch_then_an_earlier_place(one: Order, other: Order, named: Order) -> None:
    answers = answer(hit(0, one, "s"), shard=0, batch=20), answer(hit(0, other, "s"), shard=1, batch=20)
    (decision,) = decided([claim("a", 0b0)], *answers, batch=20)
    assert decision.original is not None
    assert decision.original.order == named


def test_a_copy_in_the_same_batch_is_a_duplicate_of_the_first() -> None:
    assert judged([claim("a", 0b0), claim("b", 0b1), claim("c", 0b0)]) == [
        "0 unique first",
        "1 duplicate hamming a (7, 0)",
        "2 duplicate exact-text a (7, 0)",
    ]


def test_a_shell_without_a_word_is_a_duplicate_of_the_first_with_its_bytes() -> None:
    shells = [msgspec.structs.replace(claim(url, None, text=text), tokens=0) for url, text in (("a", 1), ("b", 1))]
    assert judged([*shells, claim("c", None, text=2)]) == [
        "0 unique no-features",
        "1 duplicate exact-bytes a (7, 0)",
        "2 unique no-features",
    ]


def test_a_duplicate_never_names_a_duplicate() -> None:
    # a and b are near, b and c are near, a and c are not: b is not a survivor, so c is near to no survivor.
    assert judged([claim("a", 0b00), claim("b", 0b01), claim("c", 0b11)]) == [
        "0 unique first",
        "1 duplicate hamming a (7, 0)",
        "2 unique first",
    ]


def test_only_the_earliest_survivor_says_whether_it_is_a_refetch() -> None:
    other_first = answer(hit(0, (3, 2), "other"), shard=0), answer(hit(0, (4, 0), "a"), shard=1)
    assert judged([claim("a", 0b0)], *other_first) == ["0 duplicate hamming other (3, 2)"]
    own_first = answer(hit(0, (3, 2), "a"), shard=0), answer(hit(0, (4, 0), "other"), shard=1)
    assert judged([claim("a", 0b0)], *own_first) == ["0 refetch same-url a (3, 2)"]


def test_a_refetch_is_no_survivor() -> None:
    # The new text of a is near to c, but the index keeps the old one.
    claims = [claim("a", 0b01), claim("c", 0b11)]
    assert judged(claims, answer(hit(0, (3, 2), "a"))) == ["0 refetch same-url a (3, 2)", "1 unique first"]


def test_pages_without_fingerprint_meet_by_their_text() -> None:
    claims = [claim("a", None, text=5), claim("b", None, text=5), claim("c", None, text=6), claim("d", 0, text=5)]
    assert judged(claims) == [
        "0 unique no-features",
        "1 duplicate exact-text a (7, 0)",
        "2 unique no-features",
        "3 unique first",
    ]


def test_a_void_claim_gets_no_decision_and_is_no_survivor() -> None:
    assert judged([claim("a", 0b0), claim("b", 0b0)], answer(void=[0])) == ["1 unique first"]
    assert judged([claim("a", 0b0)], answer(void=[0])) == []


def test_a_dead_claim_keeps_its_reason_and_is_no_survivor() -> None:
    dead = claim("a", 0b0, dead="parser-timeout: after 5 s")
    assert judged([dead, claim("b", 0b0)]) == ["0 dead parser-timeout: after 5 s", "1 unique first"]


def test_shards_that_disagree_on_void_claims_stop_the_worker() -> None:
    with pytest.raises(Refused, match=r"shards 0 and 2 disagree .* batch 7 .*\[0\] against \[\].*index inspect"):
        judged([claim("a", 0b0)], answer(void=[0]), answer(void=[0], shard=1), answer(shard=2))


def flagged(flags: int, url: str, fingerprint: int = 0) -> Claim:
    return msgspec.structs.replace(claim(url, fingerprint), flags=flags)


def test_a_page_that_is_not_stored_is_judged_and_no_later_one_is_compared_with_it() -> None:
    kept_out = [flagged(NOT_STORED, url) for url in ("a", "a", "b")]
    assert judged([*kept_out, claim("c", 0), flagged(NOT_STORED, "d"), flagged(NOT_STORED, "c")]) == [
        "0 unique not-stored",
        "1 unique not-stored",
        "2 unique not-stored",
        "3 unique first",
        "4 duplicate exact-text c (7, 3)",
        "5 refetch same-url c (7, 3)",
    ]
    found = decide(BATCH, Claims.of(kept_out), [answer()], NEAR)
    assert found.unique.all() and not len(found.survivors(0, 1))


def test_a_pardoned_page_survives_beside_others_and_is_a_refetch_beside_its_own() -> None:
    pages = [claim("a", 0), flagged(PARDONED, "b"), flagged(PARDONED, "b", 1), claim("b", 0), claim("c", 1)]
    assert judged(pages) == [
        "0 unique first",
        "1 unique pardoned",
        "2 refetch same-url b (7, 1)",
        "3 duplicate exact-text a (7, 0)",
        "4 duplicate hamming a (7, 0)",
    ]
    assert judged([flagged(PARDONED, "b")], answer(hit(0, (3, 2), "b"))) == ["0 refetch same-url b (3, 2)"]


def test_a_page_near_to_a_pardoned_one_only_is_its_copy() -> None:
    pages = [claim("a", 0b00), flagged(PARDONED, "b", 0b01), claim("c", 0b11)]
    assert judged(pages)[1:] == ["1 unique pardoned", "2 duplicate hamming b (7, 1)"]


def test_a_page_that_is_pardoned_and_not_to_be_stored_is_unique_and_not_stored() -> None:
    pages = [claim("a", 0), flagged(PARDONED | NOT_STORED, "b"), flagged(PARDONED | NOT_STORED, "b")]
    assert judged(pages)[1:] == ["1 unique not-stored", "2 unique not-stored"]


URLS = [f"http://{n}.example/" for n in range(6)]
standing = {
    "site": st.sampled_from((0, 1, 2)),
    "title": st.sampled_from((0, 2, 4, 7)),
    "title_words": st.sampled_from((0, 0b111, 0b1110, 0b11100)),
    "doubt": st.sampled_from((0, 0, 1, 2)),
    "flags": st.sampled_from((0, 0, 0, 1, 2, 3)),
}
claims = st.builds(
    lambda one, tokens, **fields: msgspec.structs.replace(one, tokens=tokens, **fields),
    st.builds(
        claim,
        st.sampled_from(URLS),
        st.none() | st.integers(0, 15) | st.integers(0, 15),
        text=st.integers(0, 2),
        dead=st.sampled_from((None, None, None, None, "parser-raised")),
        offset=st.integers(0, 30),
    ),
    st.sampled_from((8, 9, 9)),
    **standing,
)


def shards_answer(
    batch: int, asked: Sequence[Claim], kept: Sequence[tuple[Order, Claim]], void: set[int], shards: int
) -> Iterator[Answer]:
    """The shards' answers by the definition: the earliest of their own survivors that is near."""
    for shard in range(shards):
        own = [(order, survivor) for order, survivor in kept if home_shard(survivor, shards) == shard]
        hits = []
        for place, asking in enumerate(asked):
            near = (
                (order, survivor, NEAR(asking, survivor))
                for order, survivor in own
                if is_compared(asking, survivor.url)
            )
            first = next(((order, survivor, match) for order, survivor, match in near if match), None)
            if first and place not in void and asking.dead is None:
                order, survivor, match = first
                hits.append(hit(place, order, survivor.url, match.distance, match.reason))
        yield answer(*hits, shard=shard, void=sorted(void), batch=batch)


@given(log=st.lists(st.lists(claims, max_size=8), max_size=6), shards=st.integers(1, 4))
def test_it_judges_as_one_sequential_walk_over_the_log_does(log: list[list[Claim]], shards: int) -> None:
    kept: list[tuple[Order, Claim]] = []
    claimed = -1
    found: dict[Order, tuple[str, str, Order | None]] = {}
    for batch, asked in enumerate(log):
        void = set()
        for place, one in enumerate(asked):
            if one.offset <= claimed:
                void.add(place)
            claimed = max(claimed, one.offset)
        for decision in decided(asked, *shards_answer(batch, asked, kept, void, shards), batch=batch):
            original = decision.original.order if decision.original else None
            found[decision.order] = decision.outcome, decision.reason, original
            if decision.outcome == "unique" and not decision.claim.flags & NOT_STORED:
                kept.append((decision.order, decision.claim))
    batches = [(n, batch_of(asked)) for n, asked in enumerate(log)]
    expected = oracle.verdicts(batches, NEAR, scheme=SCHEME).values()
    assert found == {wanted.order: (wanted.outcome, wanted.reason, wanted.original) for wanted in expected}


def test_claims_that_an_answer_names_and_the_batch_does_not_hold_change_nothing() -> None:
    beyond = answer(hit(5, (3, 2), "s"), hit(6, (3, 1), "s"), void=[1, 9])
    assert judged([claim("a", 0b0), claim("b", 0b0)], beyond) == ["0 unique first"]


def test_survivors_are_dealt_to_the_shards_that_they_live_in() -> None:
    asked = [claim(str(number), 0b111 << 3 * number) for number in range(20)] + [claim("copy", 0b111)]
    found = decide(BATCH, Claims.of(asked), [answer()], NEAR)
    dealt = {shard: found.survivors(shard, 3).tolist() for shard in range(3)}
    assert dealt == {shard: [n for n in range(20) if home_shard(asked[n], 3) == shard] for shard in range(3)}


def test_copies_are_told_by_the_shard_of_their_survivor() -> None:
    stored = [
        answer(hit(0, (3, 2), "a"), hit(2, (3, 4), "c")),
        answer(hit(1, (2, 9), "b"), hit(3, (4, 1), "d"), shard=1),
        answer(hit(6, (1, 1), "e"), shard=2),
    ]
    asked = [claim(str(number), 0b111 << 3 * number) for number in (0, 1, 2, 3, 4, 4, 5)]
    found = decide(BATCH, Claims.of(asked), stored, NEAR)
    told = [list(found.copies(shard, 3)) for shard in range(3)]
    here = told[home_shard(asked[4], 3)]
    here.remove((5, (BATCH, 4), "4"))
    assert told == [
        [(0, (3, 2), "a"), (2, (3, 4), "c")],
        [(1, (2, 9), "b"), (3, (4, 1), "d")],
        [(6, (1, 1), "e")],
    ]
    assert [one.original.url for one in found if one.original] == ["a", "b", "c", "d", "4", "e"]


def test_copies_that_are_not_to_be_stored_are_told_to_nobody() -> None:
    asked = [claim("a", 0), flagged(NOT_STORED, "b"), claim("c", 1), flagged(NOT_STORED, "d", 0b111000)]
    found = decide(BATCH, Claims.of(asked), [answer(hit(3, (3, 2), "s"))], NEAR)
    assert [one.outcome for one in found] == ["unique", "duplicate", "duplicate", "duplicate"]
    assert list(found.copies(0, 1)) == [(2, (BATCH, 0), "a")]


@pytest.mark.parametrize(
    ("reason", "agreement", "told"),
    [
        ("hamming", None, None),
        ("hamming", 0, 0.0),
        ("sketch", 80, 0.5),
        ("sketch", 128, 1.0),
        ("exact-text", None, 1.0),
        ("exact-bytes", 3, 1.0),
    ],
)
def test_how_alike_two_pages_are_is_a_share_or_not_known(
    reason: str, agreement: int | None, told: float | None
) -> None:
    original = msgspec.structs.replace(hit(0, (3, 2), "a", reason=reason), agreement=agreement)
    assert Decision((BATCH, 0), claim("b", 0), "duplicate", reason, original).similarity == told
    assert Decision((BATCH, 0), claim("b", 0), "unique", "first").similarity is None


@pytest.mark.parametrize(("change", "told"), [(None, None), (Change("none"), None), (Change("changed", 1 / 3), 0.3333)])
def test_how_much_is_new_is_told_to_four_places_where_it_is_known(change: Change | None, told: float | None) -> None:
    assert Decision((BATCH, 0), claim("a", 0), "unique", "first", change=change).changed == told


@pytest.mark.parametrize(
    ("outcome", "original", "told"),
    [("duplicate", True, True), ("duplicate", False, False), ("refetch", True, False), ("duplicate", None, False)],
)
def test_a_duplicate_of_a_suspect_is_suspect_and_nothing_else_is(
    outcome: Any, original: bool | None, told: bool
) -> None:
    survivor = None if original is None else msgspec.structs.replace(hit(0, (3, 2), "a"), suspect=original)
    assert Decision((BATCH, 0), claim("b", 0), outcome, "hamming", survivor).suspect is told


SKETCHES = [b"", *(bytes([number]) * (SKETCH_BYTES - 1) + b"\x3f" for number in (1, 3, 0x55)), bytes(30) + b"\x02\x80"]
BANDS = [b"", *(bytes([one] * 16 + [other] * 16) for one in (1, 2) for other in (1, 7))]
sketched = st.builds(
    Claim,
    partition=st.integers(0, 1),
    offset=st.integers(0, 30),
    clock=st.just(0),
    url=st.sampled_from(URLS),
    fingerprint=st.none() | st.sampled_from((0, 1, 3, 7, 15, 1 << 40)),
    text_hash=st.integers(0, 2),
    tokens=st.sampled_from((0, 3, 4, 5, 8)),
    dead=st.sampled_from((None, None, None, "parser-raised")),
    sketch=st.sampled_from(SKETCHES),
    bands=st.sampled_from(BANDS),
    scope=st.integers(0, 1),
    **standing,
)
hits = st.builds(
    hit, st.integers(0, 11), st.tuples(st.integers(0, 3), st.integers(0, 3)), st.sampled_from(URLS),
    st.none() | st.integers(0, 3), st.sampled_from(NEAR_REASONS),
)  # fmt: skip
seen_before = st.builds(
    Seen, st.integers(0, 13), st.tuples(st.integers(0, 3), st.integers(0, 3)), st.sampled_from((3, 20, 90)),
    st.sampled_from((0, 40, 90, 128, NOT_KNOWN, SAME_TEXT)),
)  # fmt: skip


@given(
    asked=st.lists(sketched, max_size=12),
    stored=st.lists(st.lists(hits, max_size=4, unique_by=lambda hit: hit.place), min_size=1, max_size=3),
    seen=st.lists(st.lists(seen_before, max_size=6, unique_by=lambda one: one.place), min_size=3, max_size=3),
    void=st.sets(st.integers(0, 11)),
    near=st.sampled_from([SimHashNear(0), SimHashNear(3, HAMMING_RATIO), AccurateNear(3), AccurateNear(1, 60)]),
)
def test_the_compiled_rule_is_the_definition(
    asked: list[Claim],
    stored: list[list[Hit]],
    seen: list[list[Seen]],
    void: set[int],
    near: SimHashNear | AccurateNear,
) -> None:
    # Each survivor lives in one shard, so no two shards name the same one.
    apart = [
        [one._replace(order=(one.order[0], 3 * one.order[1] + shard)) for one in seen[shard]] for shard in range(3)
    ]
    answers = [
        answer(*sorted(found, key=lambda hit: hit.place), shard=shard, void=sorted(void), seen=apart[shard])
        for shard, found in enumerate(stored)
    ]
    decided(asked, *answers, near=ScopedNear(near, least_across=5))


@pytest.mark.parametrize("titled", [False, True], ids=["announced", "each under a title"])
@pytest.mark.parametrize("alike", ["all equal", "all of one band", "all of one text"])
def test_a_full_batch_of_pages_that_crowd_in_one_place_is_decided_by_the_definition_too(
    alike: str, titled: bool
) -> None:
    chance = random.Random(alike)
    asked = [
        Claim(
            partition=0,
            offset=number,
            clock=0,
            url=str(number),
            fingerprint=0 if alike == "all equal" else None if alike == "all of one text" else chance.getrandbits(64),
            text_hash=number % 2,
            tokens=9,
            sketch=chance.randbytes(SKETCH_BYTES - 1) + b"\x3f" if alike == "all of one band" else b"",
            bands=BANDS[1] if alike == "all of one band" else b"",
            site=number // 40,
            title=2 * number // 3 if titled else 0,
            doubt=1 + number % 2 if titled else 0,
        )
        for number in range(120)
    ]
    decided(asked, near=ScopedNear(AccurateNear(3)))
