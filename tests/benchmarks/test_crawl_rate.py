"""``python -m benchmarks crawl-rate``: crawls with the plugin and without, over a real broker."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.crawl_rate import Rate, table
from benchmarks.crawled_site import made_up, page


@pytest.mark.long
@pytest.mark.cluster
def test_both_kinds_of_crawl_are_measured(tmp_path: Path) -> None:
    out = tmp_path / "crawl-rate.md"
    few = ["--pages", "60", "--paced-pages", "60", "--runs", "1"]
    assert main(["crawl-rate", *few, "--out", str(out)]) == 0
    written = out.read_text()
    assert written.count("| median |") == 5
    assert "0 items and callbacks passed without their verdict" in written


@pytest.mark.parametrize("words", [["--pages", "0"], ["--runs", "-1"], ["--paced-pages", "0"]])
def test_numbers_that_are_none_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crawl-rate", *words]) == 2
    assert "give" in capsys.readouterr().err


def test_a_share_is_that_of_two_runs_in_turn_and_of_the_medians() -> None:
    runs = {"without": [Rate(100, 2000, {}), Rate(200, 1000, {})], "with": [Rate(90, 2100, {}), Rate(190, 1100, {})]}
    shares = [line.split(" | ")[3] for line in table(runs).splitlines()[2:]]
    assert shares == ["90.0%", "95.0%", "93.3%"]


def test_pages_have_some_twenty_kilobytes_and_lead_to_all_others() -> None:
    sentences = made_up(random.Random(0), 50)
    pages = [page(number, 30, sentences).decode() for number in range(30)]
    assert all(18_000 < len(text) < 24_000 for text in pages)
    assert all(f'href="/{number}"' in "".join(pages[:number] or pages) for number in range(30))
