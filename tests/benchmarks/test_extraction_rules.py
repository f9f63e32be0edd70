"""The table with the effect of each rule of extraction."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.extraction_rules import as_markdown, measure, word_f1
from worker.page.main_text.rules import RULES

ARTICLE = "".join(f"<p>Der Fluss Nummer {n} fließt langsam durch die Ebene ins Meer.</p>" for n in range(4))
TEXT = " ".join(f"Der Fluss Nummer {n} fließt langsam durch die Ebene ins Meer." for n in range(4))
PAGES = [
    ("a.example", f"<nav>Start und mehr davon auf vielen anderen Seiten</nav>{ARTICLE}", TEXT),
    ("b.example", f"<p>Start</p><nav>{ARTICLE}</nav>", TEXT),
]


@pytest.mark.parametrize(
    ("found", "truth", "f1"), [("", "", 1.0), ("a", "", 0.0), ("", "a", 0.0), ("A b", "b c", 0.5), ("a a", "a", 2 / 3)]
)
def test_f1_is_of_words_as_multisets(found: str, truth: str, f1: float) -> None:
    assert word_f1(found, truth) == pytest.approx(f1)


def test_each_rule_is_told_by_the_pages_that_it_helps() -> None:
    effects, with_all, sites = measure(PAGES)
    by_name = {rule.name: effect for rule, effect in effects.items()}
    assert list(effects) == [rule for rule in RULES if rule.name != "unseen"]
    assert (by_name["meaning"].helped, by_name["meaning"].sites) == (1, {"a.example"})
    assert by_name["names-lie"].helped == 1, "without it the second page is navigation"
    assert by_name["no-scripts"].helped == by_name["no-scripts"].hurt == 0
    assert (len(with_all), sites) == (2, {"a.example", "b.example"})
    assert "| `meaning` | drops |" in as_markdown(effects, with_all, sites)


def test_the_command_writes_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = tmp_path / "pages.jsonl"
    pages.write_text("".join(json.dumps({"url": f"https://{s}/", "html": h, "text": t}) + "\n" for s, h, t in PAGES))
    out = tmp_path / "docs" / "rules.md"
    assert main(["extraction-rules", str(pages), "--out", str(out)]) == 0
    assert out.read_text(encoding="utf-8").count("\n| `") == len(RULES) - 1
    pages.write_text("{}\n")
    assert main(["extraction-rules", str(pages)]) == 2
    assert "line 1: no url, html and text" in capsys.readouterr().err
