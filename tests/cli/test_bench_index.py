"""The benchmark of the index tells the truth about who finds what, whatever the speeds are."""

from __future__ import annotations

import json
from pathlib import Path

import numba
import numpy as np
import pytest

from worker.cli import bench_codes, bench_contenders, bench_index, bench_report
from worker.cli.bench_contenders import CONTENDERS, DictOfLists, Faiss, ThisIndex
from worker.cli.main import main
from worker.errors import UsageError


def installed() -> list[type[bench_contenders.Contender]]:
    return bench_contenders.chosen(None)[0]


@pytest.mark.parametrize("kind", CONTENDERS, ids=lambda kind: kind.name)
def test_every_contender_finds_what_is_within_three_bits_and_nothing_else(
    kind: type[bench_contenders.Contender],
) -> None:
    if kind not in installed():
        pytest.skip(f"{kind.package} is not installed: pip install {kind.package}")
    codes = bench_codes.crowded(3000, 0.2, 200)
    contender, filling = bench_index.fill(kind, codes.stored)
    truth = bench_codes.near_by_brute_force(codes.stored, codes.asked)
    assert 0.4 < truth.mean() < 0.9
    assert contender.finds(codes.asked).tolist() == truth.tolist()
    assert filling.adds > 0


@pytest.mark.parametrize("distance", range(5))
def test_planted_codes_lie_at_exactly_their_distance(distance: int) -> None:
    stored = np.array([0, 2**64 - 1, 0x0123456789ABCDEF], np.uint64)
    planted = bench_codes.planted(stored, distance, 50)
    bits = np.bitwise_count(planted[:, None] ^ stored[None, :])
    assert (bits == distance).any(axis=1).all()


def test_crowded_codes_share_a_block_with_all_that_is_asked_for() -> None:
    codes = bench_codes.crowded(5000, 0.25, 100)
    hot = (codes.stored & np.uint64(0xFFFF)) == bench_codes.CROWDED_VALUE
    assert 0.2 < hot.mean() < 0.3
    assert ((codes.asked & np.uint64(0xFFFF)) == bench_codes.CROWDED_VALUE).all()


def test_a_peer_that_is_not_installed_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Faiss) -> None:
        raise ImportError("no module named faiss")

    monkeypatch.setattr(Faiss, "__init__", fails)
    here, absent = bench_contenders.chosen(["faiss-cpu", "dicts of lists"])
    assert here == [ThisIndex, DictOfLists]
    assert absent == ["faiss-cpu is not installed and not measured; to have it: pip install faiss-cpu"]


def test_an_unknown_peer_is_refused_with_the_names_of_those_there_are() -> None:
    with pytest.raises(UsageError, match="'hammingbird', 'faiss-cpu', 'simhash', 'dicts of lists'"):
        bench_contenders.chosen(["hamingbird"])


def test_results_go_out_as_objects_and_as_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results" / "index.md"
    command = ["bench", "index", "--entries", "2048", "--rounds", "1", "--against", "dicts of lists"]
    assert main([*command, "--json", "--out", str(out)]) == 0
    ours, theirs = map(json.loads, capsys.readouterr().out.splitlines())
    assert (ours["contender"], theirs["contender"]) == ("this index", "dicts of lists")
    for measured in (ours, theirs):
        assert measured["found"] == [1, 1, 1, 1, 0]
        assert measured["wrong"] == 0
    written = out.read_text()
    assert "| this index |" in written and "| dicts of lists |" in written
    assert "## 2,048 entries, uniform codes, one round" in written


def test_skew_measures_uniform_and_crowded_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "skew.md"
    command = ["bench", "skew", "--entries", "2048", "--rounds", "1", "--against", "dicts of lists", "--out", str(out)]
    assert main(command) == 0
    assert [line.partition(" 2,048")[0] for line in capsys.readouterr().out.splitlines()[:6:2]] == [
        "uniform",
        "10% in one block",
        "25% in one block",
    ]
    assert out.read_text().count("| this index |") == 3


@pytest.mark.parametrize("options", [["--entries", "10"], ["--rounds", "0"]])
@pytest.mark.parametrize("kind", ["index", "skew"])
def test_nonsense_is_refused(kind: str, options: list[str]) -> None:
    assert main(["bench", kind, *options]) == 2


@pytest.mark.parametrize(
    ("number", "shown"), [(9, "9"), (1500, "1.5k"), (99_999, "100.0k"), (100_000, "0.10M"), (12_345_678, "12.3M")]
)
def test_numbers_are_shown_short(number: float, shown: str) -> None:
    assert bench_report.short(number) == shown


def test_a_bar_in_a_cell_does_not_break_the_table() -> None:
    assert bench_report.table(["a|b"], [["c"]]) == "| a/b |\n| --- |\n| c |"


def test_the_line_on_the_machine_ends_with_what_else_was_measured_if_anything_was() -> None:
    assert bench_report.machine([]).endswith(f"numba {numba.__version__}")
    assert bench_report.machine(["a 1", "b 2"]).endswith(f"numba {numba.__version__}; a 1, b 2")
