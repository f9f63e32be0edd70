"""``python -m worker calibrate``: from labelled pairs to settings."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import get_args

import pytest

from crawler_plugin.wire.errors import CheckFailed, UsageError
from worker.cli import calibrate
from worker.config import Settings, load
from worker.config.model import NearSettings

WORDS = ["harbour", "ferry", "rope", "lantern", "gull", "bread", "tide", "clock", "stairs", "barrel", "chart"]


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    calibrate.configure(parser)
    return calibrate.run(parser.parse_args(words), Settings)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve texts with a copy each that lacks its last word, and pairs of texts that have no word in common."""
    folder = tmp_path_factory.mktemp("labelled")
    documents, pairs = [], []
    for number in range(12):
        text = [f"{word}{number}{deck}" for deck in "abcdefgh" for word in WORDS]
        documents += [{"id": f"{number}", "text": " ".join(text)}, {"id": f"{number}x", "text": " ".join(text[:-1])}]
        pairs.append({"a": f"{number}", "b": f"{number}x", "label": 1})
        pairs.append({"a": f"{number}", "b": f"{(number + 1) % 12}", "label": 0})
    for name, rows in (("docs.jsonl", documents), ("pairs.jsonl", pairs)):
        (folder / name).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return folder


@pytest.mark.parametrize("predicate", get_args(NearSettings.model_fields["predicate"].annotation))
def test_the_settings_that_it_prints_are_ones_that_a_worker_takes(
    predicate: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--predicate", predicate, "--processes", "1")
    assert run("--docs", str(folder), "--pairs", str(folder), *words) == 0
    printed = capsys.readouterr().out
    assert ("1.0000 (0.758–1.000)" in printed) or predicate == "simhash"
    assert "0 (0.0e+00–2.4e-01)" in printed
    fragment = printed[printed.index("near:\n") :]
    config = tmp_path / "config.yaml"
    config.write_text(fragment, encoding="utf-8")
    near = load(config=config, overrides=[], environ={}).settings.near
    assert near.predicate == predicate
    assert 0 <= near.k <= calibrate.MOST_K
    assert ("threshold: " in fragment) == (predicate == "accurate")


def test_without_settings_that_are_careful_enough_the_answer_is_no(folder: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("0,0x,0\n1,2,1\n3,0,0\n", encoding="utf-8")
    docs = tmp_path / "docs.jsonl"
    rows = [json.dumps({"id": id, "text": "the same words of the harbour"}) for id in ("0", "0x", "1", "2", "3")]
    docs.write_text("\n".join(rows), encoding="utf-8")
    with pytest.raises(
        CheckFailed, match=r"at most 0\.0001 of 2 other pairs near-duplicates, the best settings call 2; look"
    ):
        run("--docs", str(docs), "--pairs", str(pairs), "--processes", "1")


@pytest.mark.parametrize("share", ["-0.1", "1.5", "nan"])
def test_a_share_is_between_0_and_1(share: str, folder: Path) -> None:
    with pytest.raises(UsageError, match=r"--false-positives .*: a share is between 0 and 1; give one"):
        run("--docs", str(folder), "--pairs", str(folder), "--false-positives", share)
