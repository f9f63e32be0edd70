"""The cost of a claim, measured on real batches, answers and decisions."""

from __future__ import annotations

import json

import pytest

from benchmarks.__main__ import main
from benchmarks.claim_cost import DOUBTS, STEPS


def test_every_step_of_a_claim_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claim-cost", "--entries", "2048", "--shards", "3", "--batches", "2", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert tuple(measured["microseconds"]) == STEPS
    assert tuple(measured["marking"]) == tuple(DOUBTS)
    assert all(took > 0 for took in [*measured["microseconds"].values(), *measured["marking"].values()])
    assert (measured["entries"], measured["shards"]) == (2048, 3)


def test_nothing_to_measure_is_refused() -> None:
    assert main(["claim-cost", "--batches", "0"]) == 2
