"""``python -m worker idf``: a table from documents to the option that reads it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import UsageError
from worker.cli import idf
from worker.config import Settings
from worker.evaluate.literature.variant import read_idf

DOCUMENTS = [
    {
        "id": 1,
        "text": "苹果 café ｆｕｌｌ 51区",
        "html": "<p>apples fall from the trees of the garden</p>",
    },
    {
        "id": 2,
        "text": "梨子 naïve 苹果 Straße",
        "html": "<p>apples rot on the ground of the garden</p>",
    },
    {"id": 3, "text": "梨子 naïve ｆｕｌｌ 51区", "html": "<p>pears rot on the ground</p>"},
]


def run(*words: str, settings: Settings | None = None) -> int:
    parser = argparse.ArgumentParser()
    idf.configure(parser)
    return idf.run(parser.parse_args(words), lambda: settings or Settings())


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    path = tmp_path / "docs.jsonl"
    path.write_text("\n".join(map(json.dumps, DOCUMENTS)), encoding="utf-8")
    return path


def test_the_table_is_one_that_the_option_which_it_prints_reads(
    docs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--docs", str(docs), "--out", str(tmp_path / "idf.tsv")) == 0
    assert f"--weights tf-idf --idf-table {tmp_path / 'idf.tsv'}" in capsys.readouterr().out
    found = read_idf(tmp_path / "idf.tsv", fold_traditional=True)
    assert {"苹果", "梨子", "naïve", "full"} <= found.keys()
    assert found["苹果"] == pytest.approx(0.405465)
    assert found["no such word"] == max(found.values())
    assert "café" not in found


def test_html_is_counted_by_its_main_text(docs: Path, tmp_path: Path) -> None:
    out = tmp_path / "idf.tsv"
    run("--docs", str(docs), "--field", "html", "--least", "1", "--out", str(out))
    words = {line.split("\t")[0] for line in out.read_text(encoding="utf-8").splitlines()}
    assert {"apples", "rot", "pears"} <= words
    assert "p" not in words


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--least", "0"), "--least 0: give a number from 1 on"),
        (("--least", "9"), "no word is in 9 of the 3 documents"),
        (("--docs", "nowhere.jsonl"), "nowhere.jsonl cannot be read"),
        (("--out", "/nowhere/table"), "--out /nowhere/table: cannot be written .* name another file"),
    ],
)
def test_what_cannot_be_done_is_said(words: tuple[str, ...], says: str, docs: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says):
        run("--docs", str(docs), "--out", str(tmp_path / "out"), *words)
