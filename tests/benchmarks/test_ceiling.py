"""``python -m benchmarks ceiling``: the values computed from measurements."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.ceiling import Ceiling
from benchmarks.claim_cost import STEPS, ClaimCost


def ceiling(workers: int, shards: int) -> Ceiling:
    steps = dict(zip(STEPS, (0.5, 1.0, 0.25, 0.25), strict=True))
    cost = ClaimCost(1000, shards, 1000, 100.0, 50.0, steps, {})
    return Ceiling(workers, 500.0, cost)


def test_one_worker_pays_for_the_pages_and_for_all_shards() -> None:
    alone = ceiling(1, 8)
    assert alone.claim_us == 0.5 + 8 * 1.0 + 0.25 + 0.25
    assert alone.pages_a_second == pytest.approx(1e6 / 509)


def test_many_workers_pay_for_each_others_claims() -> None:
    many = ceiling(100, 100)
    assert many.pages_a_second == pytest.approx(1e6 / (5 + 2))
    assert many.bytes_a_second == pytest.approx(150 * many.pages_a_second)
    assert many.wait == pytest.approx(100 * 1000 / many.pages_a_second)


def test_table_and_picture_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="the extra evaluate is not installed")
    out = tmp_path / "order.md"
    words = ["ceiling", "--page-us", "700", "--workers", "1,10", "--entries", "500", "--batches", "2"]
    assert main([*words, "--out", str(out)]) == 0
    assert [line.split(" | ")[:2] for line in capsys.readouterr().out.splitlines()[2:]] == [
        ["| 1", "8"],
        ["| 10", "10"],
    ]
    assert "700 µs that a page costs its owner were measured before." in out.read_text()
    assert (tmp_path / "order.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("words", [["--workers", "many"], ["--workers", "0"], ["--page-us", "0"]])
def test_numbers_that_are_none_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ceiling", "--page-us", "700", *words]) == 2
    assert "give" in capsys.readouterr().err
