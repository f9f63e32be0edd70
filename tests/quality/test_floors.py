"""No verdict may become worse unnoticed: recall and false positives stay on their side of ``floors.json``."""

from __future__ import annotations

from difflib import SequenceMatcher
from pathlib import Path

import pytest

from tests.quality import floors, own_pages
from tests.quality.floors import LABELLED, OWN, Figures
from worker.evaluate.labelled import read_labelled
from worker.page.normalise import normalise
from worker.page.segment import characters_and_words

MOVE = "find out why, or accept it with python -m tests.quality --lower-floors"


def hold(measured: dict[floors.Name, Figures]) -> None:
    """Fail with everything that is below its floor."""
    known = floors.read()
    assert measured.keys() <= known.keys(), "a new figure has no floor yet: python -m tests.quality --raise"
    missed = [f"{' · '.join(name)}: {miss}" for name, found in measured.items() for miss in found.misses(known[name])]
    assert not missed, "\n".join([*missed, MOVE])


def test_the_project_s_own_pages_are_judged_as_well_as_ever() -> None:
    hold(floors.measure_own())


@pytest.mark.data
def test_the_labelled_pages_are_judged_as_well_as_ever(labelled_pages_folder: Path) -> None:
    hold(dict(floors.measure(LABELLED, labelled_pages_folder)))


def test_there_is_a_floor_for_each_predicate_and_field() -> None:
    names = {
        (collection, field, predicate)
        for collection in (OWN, LABELLED)
        for field in floors.FIELDS
        for predicate in floors.PREDICATES
    }
    assert floors.read().keys() == names


@pytest.mark.parametrize(
    ("found", "misses"),
    [
        (Figures(0.9, 0.8, 2), []),
        (Figures(0.95, 0.85, 0), []),
        (Figures(0.8999, 0.8, 2), ["recall 0.8999, the floor is 0.9"]),
        (Figures(0.9, 0.7, 3), ["edited 0.7, the floor is 0.8", "false_positives 3, the floor is 2"]),
    ],
)
def test_what_is_worse_than_its_floor_is_told_with_both_figures(found: Figures, misses: list[str]) -> None:
    assert found.misses(Figures(0.9, 0.8, 2)) == misses


def test_floors_rise_by_themselves_and_fall_only_when_asked_to() -> None:
    name, other = (OWN, "text", "simhash"), (OWN, "html", "simhash")
    old = {name: Figures(0.9, 0.8, 2), other: Figures(0.5, 0.5, 5)}
    measured = {name: Figures(0.95, 0.7, 3)}
    assert floors.renewed(old, measured, lower=False) == {name: Figures(0.95, 0.8, 2), other: old[other]}
    assert floors.renewed(old, measured, lower=True) == {name: measured[name], other: old[other]}


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
