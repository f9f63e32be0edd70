"""Tables are aligned by what characters take on a terminal, and are the same wherever they go."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from worker.terminal import aligned


def test_figures_end_and_words_begin_together_beside_wide_characters_and_marks() -> None:
    lines = aligned([("word", "n", ""), ("飞碟", "1,234", "wide"), ("nai\u0308ve", "5", "")], right=(1,))
    assert lines == ["word       n", "飞碟   1,234  wide", "nai\u0308ve      5"]
    assert cell_len(lines[0]) == cell_len(lines[2])


def test_the_gap_between_columns_is_chosen_and_no_line_ends_with_spaces() -> None:
    assert aligned([("a", "b"), ("longer", "")], gap=3) == ["a        b", "longer"]
    assert aligned([]) == []


@pytest.mark.parametrize("environment", [{"COLUMNS": "20"}, {"FORCE_COLOR": "1", "TERM": "xterm-256color"}])
def test_nothing_is_cut_broken_or_coloured_and_nothing_in_a_cell_is_an_order(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    url = "http://a.example/" + "long-" * 100
    assert aligned([(url, "[bold]12[/bold] :smile: words that could be wrapped")]) == [
        f"{url}  [bold]12[/bold] :smile: words that could be wrapped"
    ]
