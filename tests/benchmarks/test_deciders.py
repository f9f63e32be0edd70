"""``python -m benchmarks deciders``: claims of several workers over logs in memory, decided by all workers."""

from __future__ import annotations

import json

import pytest

from benchmarks.__main__ import main


def reckoned(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, float]]:
    """Its output on workers that send 200 pages a second together."""
    assert main(["deciders", "--pages-a-second", "200", "--batches", "40", "--json", *words]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_no_claim_is_decided_before_it_went_to_the_deciders_and_their_answers_came_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for each in reckoned(capsys, "--workers", "1,3", "--hop-ms", "250"):
        assert each["median_ms"] > 250
        assert each["ninety_ninth_ms"] >= each["median_ms"]


def test_the_more_workers_send_the_longer_each_waits_for_its_turn(capsys: pytest.CaptureFixture[str]) -> None:
    few, many = reckoned(capsys, "--workers", "1,12", "--hop-ms", "20")
    assert many["senders"] == 12
    assert many["median_ms"] > few["median_ms"]


@pytest.mark.parametrize("words", [["--workers", "many"], ["--workers", "0"], ["--batches", "0"], ["--hop-ms", "-1"]])
def test_numbers_that_are_none_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deciders", *words]) == 2
    assert "give" in capsys.readouterr().err
