"""``python -m worker idf``: a table from documents to the settings that read it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
import yaml

from crawler_plugin.wire.errors import UsageError
from worker.cli import idf
from worker.compose import parts
from worker.config import Settings, load
from worker.page.words.weigh import IdfTable

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


def test_the_settings_that_it_prints_read_the_table_that_it_wrote(
    docs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--docs", str(docs), "--out", str(tmp_path / "idf.tsv")) == 0
    fragment = capsys.readouterr().out.split(":\n", 1)[1]
    assert yaml.safe_load(fragment)["features"]["weights"] == "tf-idf"
    config = tmp_path / "config.yaml"
    config.write_text(fragment, encoding="utf-8")
    made = parts.recipe(load(config=config, overrides=[], environ={}).settings)
    assert isinstance(made.idf, IdfTable)
    tokens = [token for row in DOCUMENTS for token in made.segmenter().tokens(str(row["text"]).casefold())]
    assert {"苹果", "梨子", "naïve", "full"} <= made.idf.keys()
    assert made.idf["苹果"] == pytest.approx(0.405465)
    assert made.idf["no such word"] == max(made.idf.values())
    assert "café" in tokens
    assert "café" not in made.idf


def test_html_is_counted_by_its_main_text(docs: Path, tmp_path: Path) -> None:
    out = tmp_path / "idf.tsv"
    run("--docs", str(docs), "--field", "html", "--least", "1", "--out", str(out))
    words = {line.split("\t")[0] for line in out.read_text(encoding="utf-8").splitlines()}
    assert {"apples", "rot", "pears"} <= words
    assert "p" not in words


def test_a_setting_that_wants_the_table_that_is_being_made_is_no_obstacle(docs: Path, tmp_path: Path) -> None:
    features = Settings().features.model_copy(update={"weights": "tf-idf"})
    settings = Settings().model_copy(update={"features": features})
    assert run("--docs", str(docs), "--out", str(tmp_path / "idf.tsv"), settings=settings) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--least", "0"), "--least 0: give a number from 1 on"),
        (("--least", "9"), "no word stands in 9 of the 3 documents"),
        (("--docs", "nowhere.jsonl"), "nowhere.jsonl cannot be read"),
        (("--out", "/nowhere/table"), "--out /nowhere/table: cannot be written .* name another file"),
    ],
)
def test_what_cannot_be_done_is_said(words: tuple[str, ...], says: str, docs: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says):
        run("--docs", str(docs), "--out", str(tmp_path / "out"), *words)
