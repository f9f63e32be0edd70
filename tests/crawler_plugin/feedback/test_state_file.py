"""What was learned, on disk and back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.feedback.decision import FeedbackPolicy, RequestDecision
from crawler_plugin.feedback.evidence import GroupCounts
from crawler_plugin.feedback.state_file import read_groups, write_groups
from crawler_plugin.feedback.template_memory import TemplateMemory


def test_where_there_is_no_file_nothing_was_learned(tmp_path: Path) -> None:
    assert read_groups(tmp_path / "none") == {}


def test_a_memory_that_was_written_decides_as_before_and_goes_on_forgetting_the_oldest(tmp_path: Path) -> None:
    policy = FeedbackPolicy(budget=3)
    before = TemplateMemory(policy)
    for number in range(30):
        before.learn(f"https://a.example/calendar/{number}", "duplicate")
    for number in range(3):
        before.let_go(f"https://a.example/news/{number}")
    write_groups(tmp_path / "file", before)
    after = TemplateMemory(policy, read_groups(tmp_path / "file"))
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
        write_groups(Path(folder) / "file", groups.items())
        assert read_groups(Path(folder) / "file") == groups


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '{"form": 2, "groups": []}',
        '{"form": 1}',
        '{"form": 1, "groups": [["a"]]}',
        '{"form": 1, "groups": 7}',
        '{"form": 1, "groups": [["a", 0.0, 1.0, -1, 0, 0]]}',
        '{"form": 1, "groups": [["a", 0.0, 1.0, 0, 0, 0]]}',
        '{"form": 1, "groups": [["a", 0.0, 0.0, 5, 0, 0]]}',
        '{"form": 1, "groups": [["a", -1.0, 2.0, 5, 0, 0]]}',
        '{"form": 1, "groups": [["a", NaN, 2.0, 5, 0, 0]]}',
        '{"form": 1, "groups": [["a", "b", "c", 5, 0, 0]]}',
        "[" * 100_000,
        "\udcff",
    ],
)
def test_a_damaged_file_is_refused_and_never_half_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError):
        read_groups(tmp_path / "file")
