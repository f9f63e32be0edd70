"""Notices when verdicts become worse: found pairs, false pairs and extracted texts stay on their side of
``floors.json``, by class and language."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from tests.fingerprint.definition.segment import characters_and_words
from tests.labelled import VARIABLE
from tools.quality import extraction, floors, own_pages
from tools.quality.floors import LABELLED, OWN, Figures, Name
from tools.quality.measuring import FIGURES
from worker.cli.evaluate import method, parsers
from worker.compose.parts import recipe
from worker.config import Settings
from worker.evaluate.evaluation import evaluate
from worker.evaluate.labels.labelled import read_labelled
from worker.evaluate.scores import false_positives, recall
from worker.page.words.normalise import normalise

MOVE = "find out why, or accept it with python -m tools.quality --lower-floors"

ALL: Name = ("web", "html", "all", "accurate")
CLASS: Name = ("web", "html", "class copy-amp-version", "accurate")
FORUMS: Name = ("web", "extraction", "type forum", "built-in")
TWENTY: Figures = {"f1": 0.8, "empty": 1, "pages": 20}


def hold(name: str, measured: dict[Name, Figures]) -> None:
    """Fail with everything that is below its floor."""
    missed = floors.misses(measured, floors.read(name))
    assert not missed, "\n".join([*missed, MOVE])


@pytest.fixture(scope="module")
def own() -> dict[Name, Figures]:
    return floors.measure_own()


def test_the_project_s_own_pages_are_judged_as_well_as_ever(own: dict[Name, Figures]) -> None:
    hold(OWN, own)


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.data(name)) for name in LABELLED])
def test_the_labelled_pages_are_judged_as_well_as_ever(name: str, labelled_sets: list[Path]) -> None:
    folder = next((folder for folder in labelled_sets if floors.name_of(folder) == name), None)
    if folder is None:
        pytest.skip(f"needs the labelled pages {name!r}: name their folder in {VARIABLE}, too")
    hold(name, floors.measure(name, folder))


def test_what_has_a_floor_is_what_an_evaluation_says(own: dict[Name, Figures], tmp_path: Path) -> None:
    own_pages.write(tmp_path)
    settings = Settings()
    methods = [method(predicate, settings) for predicate in floors.PREDICATES]
    labelled = read_labelled(tmp_path, tmp_path, "html")
    for result in evaluate(labelled, recipe(settings), methods, parsers(settings, 1)).results:
        for group in result.counts:
            if group[0] not in (*floors.DIMENSIONS, "overall") or group[1] == "edited":
                continue
            shown = group[1] if group[0] == "overall" else " ".join(group)
            near, other = recall(result.counts, group), false_positives(result.counts, group)
            expected = {"found": near.hits, "of": near.of} if near.of else {}
            expected |= {"false": other.hits, "others": other.of} if other.of else {}
            assert own[OWN, "html", shown, result.method.name] == expected


def test_each_set_has_floors_by_predicate_field_class_and_language() -> None:
    for name in (OWN, *LABELLED):
        names = floors.read(name).keys()
        judged = {(field, by) for _, field, _, by in names if field != floors.EXTRACTION}
        assert judged == {(field, predicate) for field in floors.FIELDS for predicate in floors.PREDICATES}
        told_by = Counter(group.split()[0] for _, _, group, _ in names)
        assert told_by["language"] >= 2 * len(judged)
        assert told_by["class"] + told_by["relation"] >= 2 * len(judged)
    types = {group for _, field, group, _ in floors.read("web") if field == floors.EXTRACTION}
    assert {"all", "type article", "type forum", "type product"} <= types


@pytest.mark.parametrize(
    ("name", "floor", "found", "worse"),
    [
        (ALL, {"found": 9, "of": 10}, {"found": 9, "of": 10}, []),
        (ALL, {"found": 9, "of": 10}, {"found": 8, "of": 10}, ["found 8, the floor is 9"]),
        (ALL, {"false": 1, "others": 9}, {"false": 2, "others": 9}, ["false 2, the floor is 1"]),
        (CLASS, {"found": 9, "of": 10}, {"found": 7, "of": 10}, []),
        (CLASS, {"found": 9, "of": 10}, {"found": 6, "of": 10}, ["found 6, the floor is 9"]),
        (CLASS, {"false": 1, "others": 9}, {"false": 3, "others": 9}, []),
        (CLASS, {"false": 1, "others": 9}, {"false": 4, "others": 9}, ["false 4, the floor is 1"]),
        (CLASS, {"found": 9, "of": 10}, {"found": 9, "of": 11}, ["of 11, the floor is 10"]),
        (CLASS, {"found": 9, "of": 10}, {}, ["found None, the floor is 9", "of None, the floor is 10"]),
        (FORUMS, TWENTY, {**TWENTY, "f1": 0.76, "empty": 3}, []),
        (FORUMS, TWENTY, {**TWENTY, "f1": 0.74}, ["f1 0.74, the floor is 0.8"]),
        (FORUMS, TWENTY, {**TWENTY, "f1": 0.9, "empty": 4}, ["empty 4, the floor is 1"]),
    ],
)
def test_the_whole_of_a_set_may_not_become_worse_and_a_part_by_two_pairs_or_one_page(
    name: Name, floor: Figures, found: Figures, worse: list[str]
) -> None:
    assert floors.misses({name: found}, {name: floor}) == [f"{' · '.join(name)}: {one}" for one in worse]


def test_a_figure_without_a_floor_and_a_floor_without_a_figure_are_told() -> None:
    told = floors.misses({ALL: {"found": 1}}, {CLASS: {"found": 1}})
    assert told == [
        "web · html · all · accurate: there is no floor",
        "web · html · class copy-amp-version · accurate: there is no figure",
    ]


def test_floors_rise_by_themselves_and_fall_only_when_asked_to() -> None:
    old: dict[Name, Figures] = {
        ALL: {"found": 5, "of": 10, "false": 3, "others": 9},
        CLASS: {"found": 5, "of": 10},
        FORUMS: {"f1": 0.5, "empty": 0, "pages": 9},
    }
    new: dict[Name, Figures] = {ALL: {"found": 6, "of": 10, "false": 4, "others": 9}, CLASS: {"found": 2, "of": 3}}
    best: dict[Name, Figures] = {ALL: {"found": 6, "of": 10, "false": 3, "others": 9}, CLASS: {"found": 2, "of": 3}}
    assert floors.renewed(old, new, lower=False) == best
    assert floors.renewed(old, new, lower=True) == new


def test_floors_are_read_as_they_were_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floors, "FLOORS", tmp_path / "floors.json")
    kept: dict[Name, Figures] = {CLASS: {"found": 2, "of": 3}, FORUMS: {"f1": 0.5, "empty": 0, "pages": 9}}
    floors.write("web", kept, None)
    floors.write(OWN, {}, None)
    assert floors.read("web") == kept


def test_a_set_is_known_by_its_pairs_however_its_folder_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(floors, "FLOORS", tmp_path / "floors.json")
    ours, moved, other = tmp_path / "ours", tmp_path / "moved", tmp_path / "other"
    for folder in (ours, other):
        folder.mkdir()
        (folder / "pairs.jsonl.xz").write_text(f'{{"a": "{folder.name}", "b": "y"}}', encoding="utf-8")
    floors.write("ours", {}, ours)
    shutil.copytree(ours, moved)
    assert [floors.name_of(folder) for folder in (ours, moved, other)] == ["ours", "ours", "other"]


@pytest.mark.parametrize(
    ("text", "truth", "f1"),
    [
        ("one two", "One, two!", 1.0),
        ("one two three", "one", 0.5),
        ("one one", "one one one one", 2 / 3),
        ("", "", 1.0),
        ("one", "", 0.0),
        ("", "one", 0.0),
        ("one", "two", 0.0),
    ],
)
def test_words_are_compared_as_often_as_they_stand_there(text: str, truth: str, f1: float) -> None:
    assert extraction.f1(extraction.words(text), extraction.words(truth)) == pytest.approx(f1)


def test_an_edit_leaves_four_fifths_of_the_tokens_and_different_texts_less_than_seven_tenths(tmp_path: Path) -> None:
    own_pages.write(tmp_path)
    labelled = read_labelled(tmp_path, tmp_path, "text")
    tokens = {key: characters_and_words(normalise(document.body)) for key, document in labelled.documents.items()}
    assert len(own_pages.originals()) >= 60
    for pair in labelled.pairs:
        a, b = (tokens[key] for key in pair.keys)
        matcher = SequenceMatcher(a=a, b=b, autojunk=False)
        if pair.label == 1:
            kept = sum(block.size for block in matcher.get_matching_blocks())
            assert kept >= 0.8 * max(len(a), len(b)), pair
        else:
            assert matcher.quick_ratio() < 0.8 or matcher.ratio() < 0.7, pair


def test_the_handbook_claims_no_more_than_floors_hold() -> None:
    published = json.loads(FIGURES.read_text(encoding="utf-8"))
    for name in LABELLED:
        for (_, field, group, by), floor in floors.read(name).items():
            if field == floors.EXTRACTION:
                claimed = published["extractors"][by]["types"][group.removeprefix("type ")]
            else:
                claimed = published["sets"][name][field]["methods"][by]["groups"][group]
            assert claimed.get("found", 0) <= floor.get("found", 0), (name, field, group, by)
            assert claimed.get("false", 0) >= floor.get("false", 0), (name, field, group, by)
            assert claimed.get("f1", 0.0) < floor.get("f1", 1.0) + 2e-4, (name, group, by)  # floors are rounded down
            assert claimed.get("empty", 0) >= floor.get("empty", 0), (name, group, by)
