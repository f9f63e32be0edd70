"""A crawl's knowledge, written to disk and read back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.feedback.decision import FeedbackPolicy, RequestDecision
from crawler_plugin.feedback.evidence import GroupCounts
from crawler_plugin.feedback.state_file import read_known, write_known
from crawler_plugin.feedback.template_memory import TemplateMemory
from crawler_plugin.feedback.variation_evidence import VariationEvidence


def test_where_there_is_no_file_nothing_was_learned(tmp_path: Path) -> None:
    assert read_known(tmp_path / "none") is None


def test_a_memory_that_was_written_decides_as_before_and_goes_on_forgetting_the_oldest(tmp_path: Path) -> None:
    policy = FeedbackPolicy(budget=3)
    before = TemplateMemory(policy)
    for number in range(30):
        before.learn(f"https://a.example/calendar/{number}", "duplicate")
    for number in range(3):
        before.let_go(f"https://a.example/news/{number}")
    write_known(tmp_path / "file", before, before.variations)
    known = read_known(tmp_path / "file")
    assert known is not None
    after = TemplateMemory(policy, *known)
    assert list(after) == list(before)
    assert after.decide("https://a.example/news/9") is RequestDecision.OVER_BUDGET
    assert after.decide("https://a.example/calendar/99") is RequestDecision.POSTPONED
    assert {path.name for path in tmp_path.iterdir()} == {"file"}


@given(st.dictionaries(st.text(max_size=20), st.lists(st.booleans(), max_size=30), max_size=5))
def test_any_groups_come_back_as_they_were(histories: dict[str, list[bool]]) -> None:
    import tempfile

    groups = {}
    for name, history in histories.items():
        groups[name] = GroupCounts(fetched=len(name))
        for is_new in history:
            groups[name].count(is_new=is_new)
    with tempfile.TemporaryDirectory() as folder:
        write_known(Path(folder) / "file", groups.items(), VariationEvidence())
        known = read_known(Path(folder) / "file")
        assert known is not None and known.groups == groups


def test_what_is_known_of_variations_comes_back_as_it_was(tmp_path: Path) -> None:
    before = TemplateMemory(FeedbackPolicy())
    for number in range(70):
        page = f"https://a.example/{number}"
        before.learn(page, "unique")
        before.learn(f"{page}?sid={number}", "duplicate", page)
        before.learn(f"{page}?page=2", "unique")
    write_known(tmp_path / "file", before, before.variations)
    known = read_known(tmp_path / "file")
    assert known is not None
    assert dict(known.variations) == dict(before.variations)
    assert [seen.is_enough for _, seen in known.variations] == [True, False]


def test_another_crawl_has_made_no_request_yet(tmp_path: Path) -> None:
    before = TemplateMemory(FeedbackPolicy(budget=1))
    before.let_go("https://a.example/news/1")
    write_known(tmp_path / "file", before, before.variations)
    known = read_known(tmp_path / "file")
    assert known is not None
    for known_so, decision in ((known, "over_budget"), (known.of_an_earlier_crawl, "let_go")):
        after = TemplateMemory(FeedbackPolicy(budget=1), *known_so)
        assert after.decide("https://a.example/news/2").value == decision


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '{"form": 1, "groups": [], "variations": []}',
        '{"form": 2}',
        '{"form": 2, "variations": [], "groups": [["a"]]}',
        '{"form": 2, "variations": [], "groups": 7}',
        '{"form": 2, "variations": [], "groups": [["a", 0.0, 1.0, -1, 0, 0]]}',
        '{"form": 2, "variations": [], "groups": [["a", 0.0, 1.0, 0, 0, 0]]}',
        '{"form": 2, "variations": [], "groups": [["a", 0.0, 0.0, 5, 0, 0]]}',
        '{"form": 2, "variations": [], "groups": [["a", -1.0, 2.0, 5, 0, 0]]}',
        '{"form": 2, "variations": [], "groups": [["a", NaN, 2.0, 5, 0, 0]]}',
        '{"form": 2, "variations": [], "groups": [["a", "b", "c", 5, 0, 0]]}',
        '{"form": 2, "groups": [], "variations": [["a", "?b", 1, 0, [], []]]}',
        '{"form": 2, "groups": [], "variations": [["a", "?b", -1, 0, [], [], []]]}',
        '{"form": 2, "groups": [], "variations": [["a", "?b", 1, 0, ["x", "y"], [], []]]}',
        '{"form": 2, "groups": [], "variations": [["a", "?b", 1, 0, [7], [], []]]}',
        '{"form": 2, "groups": [], "variations": [["a", "?b", 1, 0, [], [], [["u"]]]]}',
        "[" * 100_000,
        "\udcff",
    ],
)
def test_a_damaged_file_is_refused_and_never_half_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError):
        read_known(tmp_path / "file")
