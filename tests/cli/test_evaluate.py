"""``python -m worker evaluate``, from files to files."""

from __future__ import annotations

import argparse
import json
import lzma
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from crawler_plugin.wire.errors import UsageError
from worker.cli import evaluate
from worker.config import Settings
from worker.evaluate import plots

STORY = "The lighthouse keeper counted {} ships before breakfast, wrote them down in the blue book and went to bed. "
TEXTS = {
    "a": STORY.format("eleven") + "Nobody ever asked him what the numbers were for, and he never said.",
    "copy": STORY.format("eleven") + "Nobody ever asked him what the numbers were for, and he never said.",
    "edit": STORY.format("twelve") + "Nobody ever asked him what the numbers were for, and he never said.",
    "far": "灯塔看守人今天没有数船，他在厨房里修一把旧椅子，一直修到天黑。",
    "empty": "",
    "void": "",
}
PAIRS: list[dict[str, Any]] = [
    {"a": "a", "b": "copy", "label": 1, "band": "identical_text", "relation": "copy"},
    {"a": "edit", "b": "a", "label": 1, "band": "0.9-0.95", "relation": "edit", "class": "a word"},
    {"a": "a", "b": "far", "label": 0, "relation": "other"},
    {"a": "empty", "b": "void", "label": 0},
    {"a": "empty", "b": "far"},
]


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    evaluate.configure(parser)
    return evaluate.run(parser.parse_args(words), Settings)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labelled")
    with lzma.open(folder / "docs.jsonl.xz", "wt", encoding="utf-8") as file:
        for id, text in TEXTS.items():
            html = f"<html><body><main><p>{text}</p></main></body></html>" if id != "far" else None
            file.write(json.dumps({"id": id, "text": text, "html": html, "lang": "en"}) + "\n")
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, PAIRS)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def out(folder: Path) -> Path:
    """The output of an evaluation with all methods."""
    out = folder / "new" / "out"
    assert run("--docs", str(folder), "--pairs", str(folder), "--processes", "1", "--out", str(out)) == 0
    return out


def report_of(out: Path) -> Any:
    return json.loads((out / "report.json").read_text(encoding="utf-8"))


def test_predictions_are_a_line_a_pair_and_method_with_ids_as_listed(out: Path) -> None:
    found = [json.loads(line) for line in (out / "predictions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert all(list(row) == ["method", "a", "b", "near", "distance", "sketch"] for row in found)
    listed = [(name, pair["a"], pair["b"]) for name in evaluate.METHODS for pair in PAIRS]
    assert [(row["method"], row["a"], row["b"]) for row in found] == listed
    near = {(row["method"], row["a"], row["b"]) for row in found if row["near"]}
    assert {method for method, a, b in near if (a, b) == ("a", "copy")} == set(evaluate.METHODS)
    assert ("accurate", "edit", "a") in near
    assert ("exact", "edit", "a") not in near
    assert {(a, b) for _, a, b in near} == {("a", "copy"), ("edit", "a")}


def test_the_report_counts_what_the_predictions_say(out: Path) -> None:
    report = report_of(out)
    assert report["pairs"] == {"near_duplicate": 2, "other": 2, "unlabelled": 1}
    assert list(report["methods"]) == list(evaluate.METHODS)
    assert report["scheme"]["near.k"] == 3
    accurate, exact = report["methods"]["accurate"], report["methods"]["exact"]
    assert (accurate["recall"]["called"], exact["recall"]["called"]) == (2, 1)
    assert accurate["recall_edited"] == {"called": 1, "of": 1, "share": 1.0, "low": 0.206549, "high": 1.0}
    assert accurate["false_positives"]["of"] == 2
    assert accurate["microseconds_a_page"] > 0
    assert exact["bytes_a_page"] == 8
    relations = {group["group"] for group in exact["groups"] if group["dimension"] == "relation"}
    assert relations == {"copy", "edit", "other"}
    assert {group["group"] for group in exact["groups"] if group["dimension"] == "class"} == {"a word"}
    assert {group["group"] for group in exact["groups"] if group["dimension"] == "language"} == {"en"}


def test_tables_are_written_as_markdown(out: Path) -> None:
    text = (out / "report.md").read_text(encoding="utf-8")
    assert "# Recall and false positives by text" in text
    assert "Measured on " in text
    assert "| method | recall |" in text
    assert "\n| exact | 0.500 |" in text


@pytest.mark.skipif(not plots.can_draw(), reason=plots.NEEDED)
def test_a_curve_is_a_picture_of_its_own_with_title_and_description(out: Path) -> None:
    found = {path.stem for path in out.glob("*.svg")}
    assert found == {name for name in evaluate.METHODS if name != "exact"}
    for path in out.glob("*.svg"):
        root = ET.parse(path).getroot()
        described = root.find("{http://www.w3.org/2000/svg}desc")
        assert root.find("{http://www.w3.org/2000/svg}title") is not None
        assert described is not None
        assert described.text
        assert not {value for node in root.iter() for key, value in node.items() if "href" in key and value[0] != "#"}


def test_without_matplotlib_all_but_the_curves_is_written_and_pip_is_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plots, "can_draw", lambda: False)
    assert run("--docs", str(folder), "--pairs", str(folder), "--methods", "simhash", "--out", str(tmp_path)) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["predictions.jsonl", "report.json", "report.md"]
    assert "pip install 'crawl-dedup[evaluate]'" in capsys.readouterr().err


def test_html_is_judged_by_its_main_text_and_pairs_without_it_are_left_out(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--field", "html", "--methods", "exact,accurate", "--processes", "1", "--out", str(tmp_path))
    run("--docs", str(folder), "--pairs", str(folder), *words)
    report = report_of(tmp_path)
    assert report["pairs"] == {"near_duplicate": 2, "other": 1, "unlabelled": 0}
    assert report["pairs_left_out"] == 2
    assert report["methods"]["accurate"]["recall"]["called"] == 2
    printed = capsys.readouterr().out
    assert "2 pairs left out, as a side has no html" in printed
    assert "Taking the text out:" in printed


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--methods", "simhash,magic"), "there is no method 'magic'; name some of simhash, accurate"),
        (("--methods", " ,"), "no method is named; name some of"),
        (("--sentences", "0"), "--sentences and --ngram are at least 1, --share and --threshold above 0"),
        (("--threshold", "nan"), "--share and --threshold above 0 and at most 1"),
        (("--processes", "0"), "--processes 0: give a number from 1 to 1024"),
        (("--docs", "/nowhere"), "/nowhere cannot be read"),
        (
            ("--methods", "exact", "--processes", "1", "--out", "/proc/nowhere"),
            "--out /proc/nowhere: cannot be written",
        ),
    ],
)
def test_what_cannot_be_done_is_said(words: tuple[str, ...], says: str, folder: Path) -> None:
    with pytest.raises(UsageError, match=says):
        run("--docs", str(folder), "--pairs", str(folder), *words)
