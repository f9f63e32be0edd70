"""The difference of two texts, as lines."""

from __future__ import annotations

from worker.fingerprint.conditions import Condition, NearRule
from worker.results.explain.causes import Causes, MovedBit, MovedPlaces, VoteChange
from worker.results.explain.lines import cause_lines, difference_lines, rule_lines
from worker.results.report.difference import difference_of


def test_words_of_one_text_alone_stand_between_marks() -> None:
    lines = difference_lines(difference_of("The old harbour\nat night", "The new harbour at night, again", list))
    assert lines[0].startswith("texts: 4 words in both, 1 only in A [-…-], 2 only in B {+…+}")
    assert lines[1:] == ["A  The [-old-] harbour at night", "B  The {+new+} harbour at night, {+again+}"]
    assert difference_lines(difference_of("the same", "the same", list)) == ["texts", "   no word differs"]


def test_of_long_texts_it_is_said_how_much_was_compared() -> None:
    words = " ".join(f"w{number}" for number in range(30_000))
    head, line = difference_lines(difference_of(words, f"{words} more", list))
    assert (head, line) == ("texts", "   no word differs (of the first 20,000 words)")


def test_causes_are_listed_and_of_many_the_first() -> None:
    bits = (MovedBit(17, 3.0, -1.5, (VoteChange("harbour", -2.0),)),)
    places = tuple(MovedPlaces("B", (f"word{n}", ""), (n,), ()) for n in range(30))
    causes = Causes(False, bits, places, (3,), 30, (3,))
    lines = cause_lines(causes)
    assert "   bit 17   +3.00   -1.50   harbour -2.00" in lines
    assert "B  word7 ¶   slots 7   bands -" in lines
    assert any("band 3: of bigrams" in line for line in lines)
    assert lines[-1] == "   … 10 more: --all shows them"
    assert len(cause_lines(causes, everything=True)) == len(lines) + 9
    assert cause_lines(None) == []
    assert "different pictures" in cause_lines(Causes(True, (), (), (), None, ()))[0]


def test_the_first_rule_that_holds_is_said_to_decide() -> None:
    met, unmet = Condition("at least 1", "1", True), Condition("at least 2", "1", False)
    lines = rule_lines([NearRule("hamming", (met, unmet)), NearRule("sketch", (met,)), NearRule("third", (met,))])
    assert [line for line in lines if line.startswith("rule")] == [
        "rule hamming: does not hold",
        "rule sketch: holds, and decides",
        "rule third: holds, too",
    ]
    assert "   no    at least 2   1" in lines
