"""Pages per second and core, and where the time goes."""

from __future__ import annotations

import pytest

from worker.sizing.pipeline import PipelineRun, run_lines


def test_shares_add_up_to_the_whole_and_the_largest_comes_first() -> None:
    run = PipelineRun(
        pages=100,
        megabytes=2.0,
        wall=1.0,
        process=2.0,
        parsers=6.0,
        own={"answer": 0.25, "decide": 0.25, "claim": 0.5, "poll": 0.75},
        parsing={"extract": 1.0, "segment": 2.0},
    )
    shares = run.shares()
    assert sum(shares.values()) == pytest.approx(1.0)
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert shares["parsers: segment"] == pytest.approx(0.5)
    assert shares["index and protocol"] == pytest.approx(0.5 / 8)
    assert run.pages_a_second_and_core == pytest.approx(100 / 8)
    assert any("12 pages a second and core" in line for line in run_lines(run))


def test_what_parsers_did_not_tell_is_a_share_too() -> None:
    run = PipelineRun(pages=2, megabytes=0.1, wall=1.0, process=1.0, parsers=3.0, own={}, parsing={})
    assert run.shares() == {
        "parsers: what they did not tell": 0.75,
        "Kafka client and transactions": 0.25,
        "index and protocol": 0.0,
        "pages to and from the parsers": 0.0,
    }
