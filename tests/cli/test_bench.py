"""``python -m worker bench pipeline``: pages a second and core, and where the time goes."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest

from worker.cli.bench_pipeline import Report, pages_of, repeated, report_lines
from worker.errors import UsageError

PARSING = ("extract", "segment", "fingerprint", "pipes")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twelve pages, and one document that has no HTML."""
    with lzma.open(tmp_path / "docs.jsonl.xz", "wt", encoding="utf-8") as lines:
        for number in range(12):
            words = " ".join(f"word{number * 1000 + place}" for place in range(200))
            html = f"<html><body><p>预热 {words}</p></body></html>"
            lines.write(json.dumps({"id": number, "url": f"http://a.example/{number}", "html": html}) + "\n")
        lines.write(json.dumps({"id": 12, "url": "http://a.example/12", "html": None}) + "\n")
    return tmp_path


def test_pages_are_those_that_have_html_at_most_so_many(folder: Path) -> None:
    pages = pages_of(folder, None)
    assert [meta.url for meta, _ in pages] == [f"http://a.example/{number}" for number in range(12)]
    assert pages_of(folder, 5) == pages[:5]


def test_a_folder_without_pages_is_named_with_what_it_must_hold(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"docs\.jsonl\.xz is not there: give --docs"):
        pages_of(tmp_path, None)


def test_laps_repeat_the_pages_under_new_urls(folder: Path) -> None:
    once = pages_of(folder, 3)
    thrice = list(repeated(once, 3))
    assert len({meta.url for meta, _ in thrice}) == 9
    assert [body for _, body in thrice] == [body for _, body in once] * 3


def test_shares_add_up_to_the_whole_and_the_largest_comes_first() -> None:
    report = Report(
        pages=100,
        megabytes=2.0,
        wall=1.0,
        process=2.0,
        parsers=6.0,
        own={"answer": 0.25, "decide": 0.25, "claim": 0.5, "poll": 0.75},
        parsing={"extract": 1.0, "segment": 2.0},
    )
    shares = report.shares()
    assert sum(shares.values()) == pytest.approx(1.0)
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert shares["parsers: segment"] == pytest.approx(0.5)
    assert shares["index and protocol"] == pytest.approx(0.5 / 8)
    assert report.pages_a_second_and_core == pytest.approx(100 / 8)
    assert any("12 pages a second and core" in line for line in report_lines(report))


def test_what_parsers_did_not_tell_is_a_share_too() -> None:
    report = Report(pages=2, megabytes=0.1, wall=1.0, process=1.0, parsers=3.0, own={}, parsing={})
    assert report.shares() == {
        "parsers: what they did not tell": 0.75,
        "Kafka client and transactions": 0.25,
        "index and protocol": 0.0,
        "pages to and from the parsers": 0.0,
    }


@pytest.mark.cluster
def test_the_command_prints_the_rate_and_the_share_of_each_stage(folder: Path) -> None:
    command = [sys.executable, "-m", "worker", "bench", "pipeline", "--docs", str(folder), "--laps", "50", "--json"]
    ended = subprocess.run(
        [*command, "--processes", "1"], cwd=folder, capture_output=True, text=True, timeout=180, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    report = json.loads(ended.stdout.splitlines()[-1])
    assert report["pages"] == 600
    assert report["pages_a_second_and_core"] > 0
    assert sum(report["shares"].values()) == pytest.approx(1.0)
    assert {f"parsers: {stage}" for stage in PARSING} < set(report["shares"])
