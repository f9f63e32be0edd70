"""Literals of scripts: what is read of them, however they are spelled, and that nothing raises."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.page.embedded.literals import MOST_DEPTH, MOST_ROWS, literals, resolved, unescaped


def paths(source: str) -> list[str]:
    """Each string behind the keys that lead to it; an array is written as a star."""
    found = literals([source])
    lines = []
    for row, text in enumerate(found.texts):
        if text is None:
            continue
        keys = [found.keys[row] if not found.arrays[found.parents[row]] else "*"]
        parent = found.parents[row]
        while parent:
            in_array = found.arrays[found.parents[parent]]
            keys.append("*" if in_array else found.keys[parent])
            parent = found.parents[parent]
        lines.append(f"{'.'.join(reversed(keys))}={text}".lstrip(".*="))
    return lines


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('{"a": "x", "b": ["y", {"c": "z"}]}', ["a=x", "b.*=y", "b.*.c=z"]),
        ("window.state = {a: 'x', \"b\": 1, c: {d: 'y'},};", ["a=x", "c.d=y"]),
        (r'{"a": "\u0041\ud83d\ude00\n\"\/\x41\q"}', ['a=A😀\n"/Aq']),
        (r'{"a": "{\"b\": \"x\"}", "c": "y"}', ["a.b=x", "c=y"]),
        (r"""s = JSON.parse('{"a": "it\'s \\"x\\""}')""", ['a=it\'s "x"']),
        ('{"a": "line\nbreak"}', ["a=line\nbreak"]),
        ("// don't\nx = {a: 'y'}", ["a=y"]),
        ('{"a": "b", "cut', ["a=b", "cut"]),
        ('[{"title": 1, "tags": 2}, "x", [3, 1], "y"]', ["title=x", "tags.*=y"]),
        ('[["Reactive", 1], {"a": 2}, "x"]', ["a=x"]),
        ('[{"_1": 2}, "key", "x"]', ["key=x"]),
        ('["a", "b"]', ["a", "b"]),
        ("", []),
    ],
)
def test_strings_are_found_under_their_keys(source: str, expected: list[str]) -> None:
    assert [line.replace("*=", "") if line.startswith("*") else line for line in paths(source)] == expected


def test_the_names_of_values_that_are_no_strings_are_known() -> None:
    found = literals(['{"id": 7, "text": "x", "list": []}'])
    assert found.named == {(1, "id"), (1, "text"), (1, "list")}


def test_what_is_not_wanted_has_no_row_and_nor_has_what_holds_nothing_else() -> None:
    found = literals(['{"a": {"b": "no"}, "c": {"d": "yes", "id": 1}}'], lambda key, text: text == "yes")
    assert (found.texts, found.parents) == ([None, None, None, "yes"], [-1, 0, 1, 2])
    assert found.named == {(1, "a"), (1, "c"), (2, "d"), (2, "id")}


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert unescaped(r"\ud83d!") == "\ufffd!"


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_all_strings_of_json_are_found_in_its_order(value: object) -> None:
    def strings(of: object) -> list[str]:
        if isinstance(of, dict):
            return [string for each in of.values() for string in strings(each)]
        if isinstance(of, list):
            return [string for each in of for string in strings(each)]
        return [of] if isinstance(of, str) else []

    source = json.dumps({"value": value})
    whole = [text for text in strings(value) if not (text.lstrip()[:1] in ("{", "[") and '"' in text)]
    if len(whole) == len(strings(value)):
        assert [text for text in literals([source]).texts if text is not None] == whole


@given(st.text(st.sampled_from("{}[]:,\"'\\/ nu0a1_\n")))
def test_any_text_gives_rows_behind_their_parents(source: str) -> None:
    found = literals([source])
    assert all(0 <= parent < row for row, parent in enumerate(found.parents) if row)
    assert len(found.parents) == len(found.keys) == len(found.texts) == len(found.arrays)


def test_what_stands_deeper_than_is_kept_is_closed_where_it_ends() -> None:
    deep = MOST_DEPTH + 50
    source = '{"a": ' + "[" * deep + '"x"' + "]" * deep + ', "b": "y"}'
    found = literals([source])
    assert found.texts[-2:] == ["x", "y"]
    assert (found.keys[-1], found.parents[-1]) == ("b", 1)


@pytest.mark.parametrize("piece", ["[", '{"a":', '"', '\\"', "'", '["', "a:", '{"a":"{', "//", "[[1],"])
def test_hostile_sources_are_read_to_a_limit(piece: str) -> None:
    assert len(literals([piece * 100_000]).parents) <= MOST_ROWS + 1


@pytest.mark.parametrize(
    "source", ["[" * 100_000, "[[1], " + "9" * 10_000 + "]", '[{"a": 0}]', '[{"a": 5}]', "[[1], [0]]", "[]", "[1"]
)
def test_what_names_no_places_is_left_or_emptied(source: str) -> None:
    assert resolved(source) in (None, "{}", "[[]]", "[]")
