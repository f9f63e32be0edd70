"""``python -m worker size``."""

from __future__ import annotations

import argparse

import numpy as np
import pytest

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.messages import COLUMN_WIDTHS, OPTIONAL_WIDTHS
from worker.cli import size
from worker.compose import parts
from worker.config import Settings, load_settings
from worker.index.layout import Layout


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    size.configure(parser)
    return size.run(parser.parse_args(words), Settings)


def test_50_million_signatures_are_382_mib_and_in_four_tables_1_5_gib(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--sample", "0") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-2:] for line in lines[1:3]] == [["382", "MiB"], ["1.5", "GiB"]]
    assert "50,000,000 signatures of 64 bits" in lines[1]


@pytest.mark.parametrize("layout", list(Layout))
def test_an_entry_takes_its_columns_and_eight_bytes_a_table(layout: Layout, capsys: pytest.CaptureFixture[str]) -> None:
    run("--layout", layout.value, "--sample", "0")
    together = next(line for line in capsys.readouterr().out.splitlines() if "together" in line)
    of_page = sum(OPTIONAL_WIDTHS[name] for name in ("site", "title", "doubt"))
    by_fingerprint = sum(COLUMN_WIDTHS.values()) + of_page + 8 * len(layout.arrangements)
    alone = ["near.predicate=simhash", f"index.layout={layout.value}"]
    assert size.computed_bytes(load_settings(config=None, overrides=alone, environ={})) == by_fingerprint
    assert int(together.split()[-1]) == by_fingerprint + 32 + 8 * 6, (
        "a sketch, and eight tables of half a key and a slot"
    )


@pytest.mark.parametrize("predicate", ["simhash", "accurate"])
@pytest.mark.parametrize("layout", list(Layout))
def test_an_entry_as_measured_holds_its_hashes_and_takes_less_than_twice_what_was_computed(
    layout: Layout, predicate: str
) -> None:
    sketched = predicate == "accurate"
    overrides = [f"near.predicate={predicate}", f"index.layout={layout.value}"]
    settings = load_settings(config=None, overrides=overrides, environ={})
    growth = size.measured(100_000, settings)
    hashes = sum(COLUMN_WIDTHS[name] for name in ("fingerprint", "text_hash", "url_hash")) + 32 * sketched
    assert hashes < growth.entry < 2 * size.computed_bytes(settings)


def test_the_table_of_urls_counts() -> None:
    """The table of ``near.track_changes``."""
    without, tracking = (
        load_settings(config=None, overrides=[f"near.track_changes={value}"], environ={}) for value in ("false", "true")
    )
    assert size.computed_bytes(tracking) == size.computed_bytes(without) + 8


@pytest.mark.parametrize("predicate", ["simhash", "accurate"])
def test_what_a_shard_takes_is_what_its_growth_says(predicate: str) -> None:
    settings = load_settings(config=None, overrides=[f"near.predicate={predicate}"], environ={})
    growth = size.measured(100_000, settings)
    shard = parts.new_index(settings)()
    size.store_random(shard, np.random.default_rng(2), 0, 200_000, predicate == "accurate")
    assert 0.8 * shard.nbytes < growth.of(200_000, 1) < 1.3 * shard.nbytes


def test_computed_and_measured_figures_are_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    run("--distinct", "1000000", "--sample", "5000")
    printed = capsys.readouterr().out
    assert "computed from its columns' types" in printed
    assert "measured: 5,000 random entries stored" in printed
    assert "1,000,000 entries in 8 shards" in printed
    assert "predicate accurate" in printed


def test_no_more_entries_are_stored_than_the_index_is_to_hold(capsys: pytest.CaptureFixture[str]) -> None:
    run("--distinct", "3000")
    assert "3,000 random entries stored" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, "1 KiB"),
        (1024, "1 KiB"),
        (1025, "2 KiB"),
        (1024**2 - 1, "1,024 KiB"),
        (1024**2, "1 MiB"),
        (400_000_000, "382 MiB"),
        (1_600_000_000, "1.5 GiB"),
        (1024**3, "1.0 GiB"),
        (1024**3 + 1, "1.1 GiB"),
        (3 * 1024**4, "3.0 TiB"),
        (5000 * 1024**4, "5,000.0 TiB"),
    ],
)
def test_sizes_are_rounded_up(count: int, expected: str) -> None:
    assert size.in_units(count) == expected


@pytest.mark.parametrize("words", [("--distinct", "0"), ("--sample", "-1"), ("--distinct", "10", "--sample", "11")])
def test_impossible_numbers_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="give other numbers"):
        run(*words)
