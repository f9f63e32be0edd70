"""Hunks hold all differences, and some words around them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from worker.results.report.difference import AROUND, Run, TextDifference, difference
from worker.results.report.words import Word


def of(text: str | Sequence[str]) -> list[Word]:
    return [Word(word, word, " ") for word in (text.split() if isinstance(text, str) else text)]


def shown(runs: Sequence[Run], kind: str) -> str:
    return "".join(run.text for run in runs if run.kind == kind)


def test_a_replaced_word_stands_between_those_around_it() -> None:
    before = [f"w{n}" for n in range(40)]
    after = [*before[:20], "other", *before[21:]]
    found = difference(of(before), of(after))
    (hunk,) = found.hunks
    assert hunk.left == (
        Run("same", " ".join(before[8:20]) + " ", AROUND),
        Run("changed", "w20", 1),
        Run("same", " ", 0),
        Run("same", " ".join(before[21:33]) + " ", AROUND),
    )
    assert shown(hunk.right, "changed") == "other"
    assert (found.same, found.removed, found.added, found.cut) == (39, 1, 1, False)


def test_differences_that_are_far_apart_are_hunks_of_their_own() -> None:
    before = [f"w{n}" for n in range(200)]
    after = [word for word in before if word not in ("w10", "w150", "w155")]
    found = difference(of(before), of(after))
    assert [shown(hunk.left, "changed") for hunk in found.hunks] == ["w10", "w150w155"]
    assert all(shown(hunk.right, "changed") == "" for hunk in found.hunks)


def test_equal_and_empty_texts_have_no_hunks() -> None:
    assert difference(of("a b"), of("a b")) == TextDifference((), 2, 0, 0, False)
    assert difference([], []) == TextDifference((), 0, 0, 0, False)


def test_long_texts_are_compared_where_they_begin_to_differ() -> None:
    same = [f"w{n}" for n in range(5000)]
    found = difference(of([*same, "a", *same]), of([*same, "b", *same]))
    assert (found.same, found.removed, found.added, found.cut) == (10_000, 1, 1, False)
    other = [f"v{n}" for n in range(5000)]
    found = difference(of(same), of(other))
    assert found.cut
    assert "more)" in shown(found.hunks[0].left, "changed")


@given(st.lists(st.sampled_from("abc"), max_size=60), st.lists(st.sampled_from("abc"), max_size=60))
def test_all_words_are_counted_once(a: list[str], b: list[str]) -> None:
    found = difference(of(a), of(b))
    assert found.same + found.removed == len(a)
    assert found.same + found.added == len(b)
    removed = sum(run.words for hunk in found.hunks for run in hunk.left if run.kind == "changed")
    added = sum(run.words for hunk in found.hunks for run in hunk.right if run.kind == "changed")
    assert (removed, added) == (found.removed, found.added)
    assert (found.removed == found.added == 0) == (a == b)
