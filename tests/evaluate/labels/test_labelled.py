"""Documents and labelled pairs as they are read, and the errors on wrong ones."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from crawler_plugin.wire.errors import UsageError
from worker.evaluate.labels.labelled import IDENTICAL_TEXT, Pair, read_documents, read_labelled

DOCUMENTS = [
    {"id": "x", "text": "one two three", "html": "<p>one two three</p>", "lang": "en"},
    {"id": "y", "text": "one two four", "html": None, "lang": "en"},
    {"id": 7, "text": "一二三", "html": "<p>一二三</p>", "lang": "zh"},
    {"id": "empty", "text": ""},
]


def written(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return written(tmp_path / "docs.jsonl", DOCUMENTS)


def problems_of(docs: Path, rows: Sequence[Any]) -> str:
    with pytest.raises(UsageError) as told:
        read_labelled(docs, written(docs.parent / "pairs.jsonl", rows), "text")
    assert told.value.exit_code == 2
    return str(told.value)


def test_a_pair_keeps_its_ids_as_listed_and_all_that_is_known_of_it(docs: Path) -> None:
    facets = {"band": "neg", "class": "c", "relation": "r", "kind": "md"}
    row = {"a": "x", "b": 7, "label": 0, "lang": "mixed", "n_max": 12, **facets}
    labelled = read_labelled(docs, written(docs.parent / "pairs.jsonl", [row]), "text")
    assert labelled.pairs == (Pair("x", 7, 0, "mixed", 12, facets),)
    assert set(labelled.documents) == {"x", "7"}


def test_a_relation_that_repeats_the_class_is_not_told_twice(docs: Path) -> None:
    rows = [{"a": "x", "b": "y", "class": "c", "relation": "c"}, {"a": "x", "b": 7, "relation": "r"}]
    first, second = read_labelled(docs, written(docs.parent / "pairs.jsonl", rows), "text").pairs
    assert (first.facets, second.facets) == ({"class": "c"}, {"relation": "r"})


@pytest.mark.parametrize(("row", "label"), [({"label": 1}, 1), ({"label": 0}, 0), ({"label": None}, None), ({}, None)])
def test_a_pair_without_a_label_is_called_and_not_scored(docs: Path, row: dict[str, Any], label: int | None) -> None:
    pairs = written(docs.parent / "pairs.jsonl", [{"a": "x", "b": "y", **row}])
    assert [pair.label for pair in read_labelled(docs, pairs, "text").pairs] == [label]


def test_language_and_identity_come_from_the_documents_where_the_pair_says_nothing(docs: Path) -> None:
    more = written(docs, [*DOCUMENTS, {"id": "z", "text": "one two three", "lang": "en"}])
    pairs = written(docs.parent / "pairs.jsonl", [{"a": "x", "b": "z"}, {"a": "x", "b": 7}])
    first, second = read_labelled(more, pairs, "text").pairs
    assert (first.language, first.facets) == ("en", {"band": IDENTICAL_TEXT})
    assert (second.language, second.facets) == ("mixed", {})


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (["x,y", "x,7"], [1, 1]),
        (["a,b", "x,y"], [1]),
        (["A , B , label", "x,y,0", '"x",7,', "y,7,null", "empty,x,1"], [0, None, None, 1]),
    ],
)
def test_csv_of_two_columns_lists_duplicates_and_a_third_column_is_the_label(
    docs: Path, rows: list[str], labels: list[int | None]
) -> None:
    labelled = read_labelled(docs, written(docs.parent / "pairs.csv", rows), "text")
    assert [pair.label for pair in labelled.pairs] == labels


def test_documents_called_a_and_b_are_no_head_of_a_table(tmp_path: Path) -> None:
    docs = written(tmp_path / "docs.jsonl", [{"id": name, "text": name} for name in "abc"])
    assert len(read_labelled(docs, written(tmp_path / "pairs.csv", ["a,b", "a,c"]), "text").pairs) == 2
    assert len(read_labelled(docs, written(tmp_path / "pairs.csv", ["a,b,label", "a,c,1"]), "text").pairs) == 1


def test_a_folder_stands_for_the_files_of_usual_names_in_it(docs: Path) -> None:
    written(docs.parent / "pairs.jsonl", [{"a": "x", "b": "y"}])
    assert len(read_labelled(docs.parent, docs.parent, "text").pairs) == 1
    docs.unlink()
    with pytest.raises(UsageError, match=r"holds no docs\.jsonl"):
        read_labelled(docs.parent, docs.parent, "text")


def test_pairs_with_a_side_that_lacks_the_field_are_left_out_and_counted(docs: Path) -> None:
    pairs = written(docs.parent / "pairs.jsonl", [{"a": "x", "b": "y"}, {"a": "x", "b": 7}])
    labelled = read_labelled(docs, pairs, "html")
    assert [pair.keys for pair in labelled.pairs] == [("x", "7")]
    assert labelled.left_out == 1
    assert labelled.documents["x"].body == "<p>one two three</p>"
    only_y = written(docs.parent / "pairs.jsonl", [{"a": "empty", "b": "y"}])
    with pytest.raises(UsageError, match="no pair whose documents both have the field html; name another --field"):
        read_labelled(docs, only_y, "html")


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"a": "x", "b": "nobody"}, r"line 1: document 'nobody' is not among the documents; add it there, or leave"),
        ({"a": "x", "b": "x"}, "line 1: document 'x' is paired with itself; leave the pair out"),
        ({"a": 7, "b": "7"}, "line 1: document 7 is paired with itself"),
        ({"a": "x"}, "line 1: its b is missing; write the id of a document there"),
        ({"a": None, "b": "x"}, "line 1: its a is null; write"),
        ({"a": ["x"], "b": "y"}, r'line 1: its a is \["x"\]; write'),
        ({"a": "x", "b": "y", "label": 2}, "line 1: its label is 2; write 1 for near-duplicates"),
        ({"a": "x", "b": "y", "label": "1"}, "line 1: its label is '1'; write 1"),
        ({"a": "x", "b": "y", "label": 1.0}, r"line 1: its label is 1\.0; write 1"),
        ('{"a": "x", ', r"line 1: not JSON \(.*\); write one object a line"),
        ("x", "line 1: 1 columns; write a,b or a,b,label"),
        ("x,y,yes", "line 1: its label is 'yes'; write 1"),
        ("x,y,1,2", "line 1: 4 columns; write"),
        ('[{"a": "x", "b": "y"}]', "line 1: a JSON list, not an object; write one object a line"),
    ],
)
def test_a_wrong_pair_is_named_with_file_line_and_next_move(docs: Path, row: Any, says: str) -> None:
    told = problems_of(docs, [row])
    assert told.startswith(f"{docs.parent / 'pairs.jsonl'}, ")
    assert re.search(says, told)


def test_a_pair_listed_twice_is_named_with_both_lines_whichever_way_round(docs: Path) -> None:
    told = problems_of(docs, [{"a": "x", "b": "y"}, {"a": "x", "b": 7}, {"a": "y", "b": "x"}])
    assert "line 3: this pair is in line 1 already; leave one of the two out" in told


def test_all_problems_of_a_file_are_told_together(docs: Path) -> None:
    told = problems_of(docs, [{"a": "x", "b": "y"}, {"a": "x", "b": "q"}, "[1]", "{", {"a": "x", "b": "x"}])
    assert [line.split(":")[0].strip() for line in told.splitlines()[1:]] == ["line 2", "line 3", "line 4", "line 5"]


def test_no_pairs_at_all_say_how_one_is_written(docs: Path) -> None:
    assert 'lists no pairs; write one a line, as {"a": …' in problems_of(docs, [""])


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"id": "x", "text": "t"}, {"id": "x", "text": "u"}], "line 2: id 'x' is in line 1 already; give each"),
        ([{"id": 1, "text": "t"}, {"id": "1", "text": "u"}], "line 2: id '1' is in line 1 already"),
        ([{"text": "t"}], "line 1: its id is missing; give each document a text or number of its own"),
        ([{"id": True, "text": "t"}], "line 1: its id is true; give"),
        ([{"id": "", "text": "t"}], 'line 1: its id is ""; give'),
        ([{"id": "x"}], "line 1: its text is missing; write it as a JSON string"),
        ([{"id": "x", "text": None}], "line 1: its text is null; write"),
        ([{"id": "x", "text": list(range(99))}], r"line 1: its text is \[0, 1, .*…; write"),
        ([["x", "t"]], "line 1: a JSON list, not an object; write one object a line"),
        (["<html>"], "line 1: not JSON"),
        ([""], "holds no document with the field text; name another file or another --field"),
    ],
)
def test_wrong_documents_are_named_with_file_line_and_next_move(tmp_path: Path, rows: list[Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_documents(written(tmp_path / "docs.jsonl", rows), "text")


def test_html_that_is_no_string_is_wrong_and_null_is_none(tmp_path: Path) -> None:
    rows = [{"id": 1, "html": None}, {"id": 2, "html": "<p>"}, {"id": 3}]
    assert [document.id for document in read_documents(written(tmp_path / "d", rows), "html")] == [2]
    with pytest.raises(UsageError, match="line 1: its html is 5; write it as a JSON string"):
        read_documents(written(tmp_path / "d", [{"id": 1, "html": 5}]), "html")
