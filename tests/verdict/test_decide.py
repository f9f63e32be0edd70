"""The deciding rule, in words and against the sequential oracle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle
from worker.errors import Refused
from worker.fingerprint.near import SimHashNear
from worker.messages import Answer, Batch, Claim, Hit, Order
from worker.verdict.decide import Decision, decide, home_shard

NEAR = SimHashNear(1)
BATCH = 7
SCHEME = b"scheme-8"


def claim(url: str, fingerprint: int | None, *, text: int = 0, dead: str | None = None, offset: int = 0) -> Claim:
    return Claim(
        partition=0, offset=offset, clock=0, url=url, fingerprint=fingerprint, text_hash=text, tokens=9, dead=dead
    )


def hit(place: int, order: Order, url: str, distance: int | None = 1, reason: str = "hamming") -> Hit:
    return Hit(place=place, order=order, url=url, distance=distance, reason=reason)


def answer(*hits: Hit, shard: int = 0, void: Sequence[int] = (), batch: int = BATCH) -> Answer:
    return Answer(scheme=SCHEME, writer=b"w", batch=batch, shard=shard, void=tuple(void), hits=hits)


def said(decisions: Sequence[Decision]) -> list[str]:
    """Each decision in words: place, outcome, reason, and the URL and order of the survivor that it names."""
    return [
        f"{r.order[1]} {r.outcome} {r.reason}" + (f" {r.original.url} {r.original.order}" if r.original else "")
        for r in decisions
    ]


def judged(claims: Sequence[Claim], *answers: Answer) -> list[str]:
    return said(decide(BATCH, claims, answers or [answer()], NEAR))


def test_a_page_near_to_nothing_is_unique() -> None:
    assert judged([claim("a", 0b0), claim("b", 0b111)]) == ["0 unique first", "1 unique first"]


def test_a_page_of_too_few_features_is_unique_and_says_so() -> None:
    assert judged([claim("a", None, text=1), claim("b", None, text=2)]) == [
        "0 unique no-features",
        "1 unique no-features",
    ]


def test_a_decision_has_the_order_of_its_claim() -> None:
    decisions = decide(BATCH, [claim("a", 0b0), claim("b", 0b111)], [answer()], NEAR)
    assert [decision.order for decision in decisions] == [(BATCH, 0), (BATCH, 1)]


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
    (decision,) = decide(20, [claim("a", 0b0)], answers, NEAR)
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
    # a and b are near, b and c are near, a and c are not: b is no survivor, so c is near to nobody.
    assert judged([claim("a", 0b00), claim("b", 0b01), claim("c", 0b11)]) == [
        "0 unique first",
        "1 duplicate hamming a (7, 0)",
        "2 unique first",
    ]


def test_a_stored_survivor_is_earlier_than_any_of_this_batch() -> None:
    claims = [claim("a", 0b00), claim("b", 0b01)]
    assert judged(claims, answer(hit(1, (6, 5), "stored")))[1] == "1 duplicate hamming stored (6, 5)"


def test_of_two_survivors_in_the_batch_the_first_is_named() -> None:
    claims = [claim("a", 0b00), claim("b", 0b11), claim("c", 0b01)]
    assert judged(claims)[2] == "2 duplicate hamming a (7, 0)"


def test_the_same_url_makes_it_a_refetch() -> None:
    assert judged([claim("a", 0b0)], answer(hit(0, (3, 2), "a"))) == ["0 refetch same-url a (3, 2)"]


def test_a_refetch_inside_one_batch() -> None:
    assert judged([claim("a", 0b0), claim("a", 0b1)]) == ["0 unique first", "1 refetch same-url a (7, 0)"]


def test_a_refetch_keeps_the_distance_to_the_page_as_it_was() -> None:
    (decision,) = decide(BATCH, [claim("a", 0b0)], [answer(hit(0, (3, 2), "a", distance=1))], NEAR)
    assert decision.original is not None
    assert decision.original.distance == 1


def test_only_the_earliest_survivor_says_whether_it_is_a_refetch() -> None:
    other_first = answer(hit(0, (3, 2), "other"), shard=0), answer(hit(0, (4, 0), "a"), shard=1)
    assert judged([claim("a", 0b0)], *other_first) == ["0 duplicate hamming other (3, 2)"]
    own_first = answer(hit(0, (3, 2), "a"), shard=0), answer(hit(0, (4, 0), "other"), shard=1)
    assert judged([claim("a", 0b0)], *own_first) == ["0 refetch same-url a (3, 2)"]


def test_a_refetch_is_no_survivor() -> None:
    # The new text of a is near to c, but the index keeps the old one.
    claims = [claim("a", 0b01), claim("c", 0b11)]
    assert judged(claims, answer(hit(0, (3, 2), "a"))) == ["0 refetch same-url a (3, 2)", "1 unique first"]


def test_a_page_that_changed_its_text_altogether_survives_beside_its_earlier_self() -> None:
    assert judged([claim("a", 0b0), claim("a", 0b111)]) == ["0 unique first", "1 unique first"]


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


def test_a_dead_claim_that_is_void_gets_no_decision_either() -> None:
    assert judged([claim("a", None, dead="parser-raised")], answer(void=[0])) == []


def test_shards_that_disagree_on_void_claims_stop_the_worker() -> None:
    with pytest.raises(Refused, match=r"shards 0 and 2 disagree .* batch 7 .*\[0\] against \[\].*index inspect"):
        judged([claim("a", 0b0)], answer(void=[0]), answer(void=[0], shard=1), answer(shard=2))


URLS = [f"http://{n}.example/" for n in range(6)]
claims = st.builds(
    claim,
    st.sampled_from(URLS),
    st.none() | st.integers(0, 15) | st.integers(0, 15),
    text=st.integers(0, 2),
    dead=st.sampled_from((None, None, None, None, "parser-raised")),
    offset=st.integers(0, 30),
)


def shards_answer(
    batch: int, asked: Sequence[Claim], kept: Sequence[tuple[Order, Claim]], void: set[int], shards: int
) -> Iterator[Answer]:
    """What the shards answer, by the definition: the earliest of their own survivors that is near."""
    for shard in range(shards):
        own = [(order, survivor) for order, survivor in kept if home_shard(survivor, shards) == shard]
        hits = []
        for place, asking in enumerate(asked):
            near = ((order, survivor, NEAR(asking, survivor)) for order, survivor in own)
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
        for decision in decide(batch, asked, list(shards_answer(batch, asked, kept, void, shards)), NEAR):
            original = decision.original.order if decision.original else None
            found[decision.order] = decision.outcome, decision.reason, original
            if decision.outcome == "unique":
                kept.append((decision.order, decision.claim))
    batches = [(n, Batch(scheme=SCHEME, writer=b"w", claims=tuple(asked))) for n, asked in enumerate(log)]
    expected = oracle.verdicts(batches, NEAR, scheme=SCHEME).values()
    assert found == {wanted.order: (wanted.outcome, wanted.reason, wanted.original) for wanted in expected}
