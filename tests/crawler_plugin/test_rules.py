"""Rules for other programs, and attacks of a site on them."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.feedback.decision import FeedbackPolicy
from crawler_plugin.feedback.state_file import FILE, write_known
from crawler_plugin.feedback.template_memory import TemplateMemory
from crawler_plugin.feedback.variation_evidence import LEAST_PAGES, KindEvidence, VariationKind
from crawler_plugin.rules import HEADINGS, main, rows_of, rules_of

ENOUGH = {str(number) for number in range(LEAST_PAGES)}
MANY = {str(number) for number in range(11)}


def enough(values: set[str] | None = None, different: int = 0) -> KindEvidence:
    return KindEvidence(LEAST_PAGES, different, ENOUGH, values or set(), [("https://a.example/?x=1", "…")])


def rule_of(kind: str, evidence: KindEvidence, site: str = "a.example") -> Any:
    (rule,) = rules_of([(VariationKind(site, kind), evidence)]).values() or [None]
    return rule and (rule["urlPattern"]["include"], rule["processor"], rule["args"])


@pytest.mark.parametrize(
    ("kind", "values", "rule"),
    [
        ("?sid", MANY, (["a.example/"], "queryRemoval", ["sid"])),
        ("?sort", {"up", "down"}, (["a.example/?sort=down", "a.example/?sort=up"], "queryRemoval", ["sort"])),
        ("?sort", {"up", "*", "a|", "%2A", ""}, (["a.example/?sort=up"], "queryRemoval", ["sort"])),
        ("/print/…", set(), (["a.example/print/"], "subpathRemoval", [0])),
        ("/s/{id}/…", set(), (["a.example/s/*/"], "subpathRemoval", [0, 1])),
        ("/{id}/…", set(), None),
        ("/*/…", set(), None),
        ("…/print", set(), None),
        ("?*", MANY, None),
        ("?a b", MANY, None),
    ],
)
def test_a_kind_becomes_a_rule_of_its_site_or_none(kind: str, values: set[str], rule: Any) -> None:
    assert rule_of(kind, enough(values)) == rule
    assert rule_of(kind, enough(values, different=1)) is None


@pytest.mark.parametrize("site", ["", "*", "a.example/b", "a.example|", "a.example?x", "A.example", "[::1]", "a b"])
def test_what_is_no_plain_name_of_a_host_becomes_no_rule(site: str) -> None:
    assert rule_of("?sid", enough(MANY), site) is None
    assert rule_of("?sid", enough(MANY), "a.example:8080") is not None


def test_a_folder_in_which_another_kind_differs_is_left_alone() -> None:
    both = [
        (VariationKind("a.example", "/s/{id}/…"), enough()),
        (VariationKind("a.example", "/s/news/…"), enough(different=1)),
    ]
    assert rules_of(both) == {}


@given(
    st.text(min_size=1, max_size=30), st.sampled_from(["https://evil.example/{}?{}", "https://evil.example/{}/{}/1"])
)
def test_whatever_a_site_shows_its_rules_are_for_itself(text: str, form: str) -> None:
    known = TemplateMemory(FeedbackPolicy())
    for number in range(LEAST_PAGES):
        page = f"https://evil.example/{number}"
        known.learn(page, "duplicate", "https://honest.example/")
        known.learn(f"{page}?{text}", "duplicate", "https://honest.example/")
        known.learn(form.format(text, number), "duplicate", "https://honest.example/")
    for rule in rules_of(known.variations).values():
        for pattern in rule["urlPattern"]["include"]:
            assert pattern.startswith("evil.example/")


def learned(jobdir: Path) -> None:
    """Write the knowledge of a finished crawl: ``sid`` changes nothing, ``page`` does, and ``ref`` was seen too
    rarely."""
    known = TemplateMemory(FeedbackPolicy())
    for number in range(70):
        page = f"https://a.example/news/{number}"
        known.learn(page, "unique")
        known.learn(f"{page}?sid={number}", "duplicate", page)
        known.learn(f"{page}?page={number}", "unique")
        known.learn(f"https://a.example/print/news/{number}", "duplicate", page)
        if number < 5:
            known.learn(f"{page}?ref=x", "duplicate", page)
    jobdir.mkdir()
    write_known(jobdir / FILE, known, known.variations)


def test_both_files_are_written_and_what_became_no_rule_says_why(tmp_path: Path) -> None:
    learned(tmp_path / "job")
    command = [sys.executable, "-m", "crawler_plugin.rules", "--from", str(tmp_path / "job"), "--out", "my.json"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout == "my.json: 2 rules; my.csv: the evidence, also for variations that gave no rule\n"
    rules = json.loads((tmp_path / "my.json").read_text())
    assert [rule["args"] for rule in rules] == [["sid"], [0]]
    with (tmp_path / "my.csv").open(encoding="utf-8", newline="") as file:
        heading, *rows = csv.reader(file)
    assert tuple(heading) == HEADINGS
    by_kind = {row[1]: row for row in rows}
    assert by_kind["?sid"][2:7] == ["a rule", "60+", "70", "0", "10+"]
    assert by_kind["?sid"][7:] == ["https://a.example/news/2?sid=2", "https://a.example/news/2"]
    assert by_kind["?page"][2] == "nothing: it led to a different page"
    assert by_kind["?ref"][2:5] == ["nothing: too few pages", "5", "5"]


def test_no_cell_of_the_table_is_a_formula() -> None:
    kinds = [(VariationKind("a.example", name), enough(MANY)) for name in ("?=1", "?@a", "…/-1", "/+1/…")]
    assert not any(str(cell).startswith(("=", "+", "-", "@")) for row in rows_of(kinds) for cell in row)


@pytest.mark.parametrize("text", [None, "{", '{"form": 1}'])
def test_a_folder_without_knowledge_is_refused_with_what_to_name(
    text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / FILE).write_text(text)
    assert main(["--from", str(tmp_path), "--out", str(tmp_path / "a.json")]) == 2
    assert "name the JOBDIR of a crawl" in capsys.readouterr().err
    assert not (tmp_path / "a.json").exists()


def test_a_table_in_the_place_of_the_rules_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--from", str(tmp_path), "--out", str(tmp_path / "a.csv")]) == 2
    assert ".json" in capsys.readouterr().err
    assert main(["--from"]) == 2


def test_duplicate_url_discarder_takes_the_rules_and_leaves_other_sites_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from duplicate_url_discarder.url_canonicalizer import UrlCanonicalizer
    from url_matcher import util

    # Otherwise it fetches the list of public suffixes from the network.
    monkeypatch.setattr(util, "get_domain", lambda url: url.rpartition("//")[2].partition(":")[0])

    learned(tmp_path / "job")
    assert main(["--from", str(tmp_path / "job"), "--out", str(tmp_path / "rules.json")]) == 0
    canonicalizer = UrlCanonicalizer([tmp_path / "rules.json"])
    for url, becomes in {
        "https://a.example/sea/7?sid=x&page=2": "https://a.example/sea/7?page=2",
        "http://a.example/print/sea/7?sid=x": "http://a.example/sea/7",
        "https://a.example/sea/print/7?ref=x": "https://a.example/sea/print/7?ref=x",
        "https://b.a.example/sea/7?sid=x": "https://b.a.example/sea/7?sid=x",
        "https://b.example/?sid=x&u=a.example/": "https://b.example/?sid=x&u=a.example/",
    }.items():
        assert canonicalizer.process_url(url) == becomes
