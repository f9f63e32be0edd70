"""Tables are aligned by the width of characters on a terminal, and are the same wherever they are written."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios

import pytest
from rich.cells import cell_len

from worker.terminal import aligned, fitted


def test_figures_end_and_words_begin_together_beside_wide_characters_and_marks() -> None:
    lines = aligned([("word", "n", ""), ("飞碟", "1,234", "wide"), ("nai\u0308ve", "5", "")], right=(1,))
    assert lines == ["word       n", "飞碟   1,234  wide", "nai\u0308ve      5"]
    assert cell_len(lines[0]) == cell_len(lines[2])


def test_the_gap_between_columns_is_chosen_and_no_line_ends_with_spaces() -> None:
    assert aligned([("a", "b"), ("longer", "")], gap=3) == ["a        b", "longer"]
    assert aligned([]) == []


def test_nothing_is_cut_broken_or_coloured_in_a_file_and_nothing_in_a_cell_is_an_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm-256color"}.items():
        monkeypatch.setenv(name, value)
    url = "http://a.example/" + "long-" * 100
    assert aligned([(url, "[bold]12[/bold] :smile: words that could be wrapped")]) == [
        f"{url}  [bold]12[/bold] :smile: words that could be wrapped"
    ]


def test_on_80_columns_cells_have_several_lines_and_each_character_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    url = "http://a.example/" + "long-" * 30
    said = "words that stand in the last column, of which none is cut"
    lines = aligned([("page", "n", ""), (url, "12,345", said)], right=(1,), indent="  ")
    assert len(lines) > 3
    assert all(cell_len(line) <= 80 and line.startswith("  ") for line in lines)
    assert set(said.split()) | {"12,345"} <= {word for line in lines for word in line.split()}
    assert "".join(line[2:].split("  ")[0].strip() for line in lines[1:] if line[2] != " ") == url


def test_lines_of_words_end_between_words_at_the_edge_and_a_url_is_left_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    url = "http://a.example/" + "long-" * 10
    text = f"short\n  a line that is wider than its terminal, with {url} in it\n"
    assert fitted(text).split("\n") == [
        "short",
        "  a line that is wider than",
        "    its terminal, with",
        f"    {url}",
        "    in it",
        "",
    ]
    monkeypatch.setenv("COLUMNS", "1000")
    assert fitted(text) == text


def test_a_terminal_is_as_wide_as_it_says_and_a_file_has_no_edge() -> None:
    show = [sys.executable, "-c", "from worker.terminal import columns; print(columns())"]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    main, other = os.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 72, 0, 0))
    subprocess.run(show, stdout=other, stdin=subprocess.DEVNULL, env=environment, check=True)
    assert os.read(main, 100).split() == [b"72"]
    os.close(main)
    os.close(other)
    told = subprocess.run(show, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment, check=True)
    assert int(told.stdout) > 100_000
