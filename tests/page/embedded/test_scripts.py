"""Data is found in scripts and read leniently."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.page.elements.markup import parse
from worker.page.embedded.scripts import MOST_DEPTH, MOST_ROWS, literals, put_together, resolved, scripts_of, unescaped


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ("type='application/ld+json'", "linked_data"),
        ("type=' Application/LD+JSON; charset=utf-8'", "linked_data"),
        ("type=application/json id=__NEXT_DATA__", "states"),
        ("type=application/vnd.x+json", "states"),
        ("", "states"),
        ("type=module", "states"),
        ("type=text/javascript", "states"),
        ("type=text/template", ""),
        ("type=text/x-handlebars id=a", ""),
    ],
)
def test_scripts_are_told_by_their_type(attributes: str, kind: str) -> None:
    found = scripts_of(parse(f"<script type=text/html>no</script><script {attributes}>x&amp;</script>"))
    assert found._asdict() == {"linked_data": [], "states": []} | ({kind: ["x&amp;"]} if kind else {})


@pytest.mark.parametrize(
    ("markup", "states"),
    [
        ("<div id=app data-page='{&quot;a&quot;:1}'></div><script>last</script>", ['{"a":1}', "last"]),
        ("<div hidden data-preloaded='{\"a\":1}'></div>", ['{"a":1}']),
        ("<astro-island uid=x props='{\"a\":[0,1]}' ssr></astro-island>", ['{"a":[0,1]}']),
        ("<div data-page=2></div><p data-page='{\"a\":1}'>x", []),
    ],
)
def test_attributes_may_hold_a_state(markup: str, states: list[str]) -> None:
    assert scripts_of(parse(markup)).states == states


@pytest.mark.parametrize("name", ["x-data", ":post", "data-react-props", "wire:snapshot", "data-page"])
def test_an_attribute_of_any_name_may_hold_json(name: str) -> None:
    long = {"body": "x" * 300}
    assert scripts_of(parse(f"<my-post {name}='{json.dumps(long)}' {name}2='{{}}'>")).states == [json.dumps(long)]
    quoted = json.dumps(long).replace('"', "&quot;")
    assert scripts_of(parse(f'<div {name}="{quoted}">')).states == [json.dumps(long)]


def test_json_is_told_by_its_beginning_where_the_type_is_no_program() -> None:
    page = "".join(f"<script type=qwik/json>{text}</script>" for text in (' {"a": "x"}', "[0]", "{{#if a}}", "<p>a"))
    assert scripts_of(parse(page)).states == [' {"a": "x"}', "[0]"]


def test_markdown_is_text() -> None:
    assert literals(scripts_of(parse('<script type=text/markdown># "A"\nb</script>')).states).texts[-1] == '# "A"\nb'


def test_what_angular_escapes_is_read() -> None:
    found = scripts_of(parse("<script type=application/json>{&q;a&q;:&q;&l;b&g; it&s;s \\&q;&a;&a;q;&q;}</script>"))
    assert found.states == ['{"a":"<b> it\'s \\"&&q;"}']
    other = '{"a":"&q;"}'
    assert scripts_of(parse(f"<script type=application/json>{other}</script>")).states == [other]


def test_pieces_that_are_pushed_are_put_together_behind_the_rest() -> None:
    pieces = ['1:{"a":"x', ' y"}\n']
    pushed = "".join(f"<script>self.__f.push([1,{json.dumps(piece)}])</script>" for piece in pieces)
    found = scripts_of(parse(f"{pushed}<script>last</script>"))
    assert found.states == ["last", '1:{"a":"x y"}\n\n[]']


def test_long_strings_stand_where_they_are_named_once() -> None:
    text = "Ä<p>x"
    rows = f'2:T{len(text.encode()):x},{text}1:{{"a":"$2","b":"$2","c":"$9"}}\n3:T2,zz'
    assert json.loads(put_together(rows).partition(":")[2].partition("\n")[0]) == {"a": text, "b": "$2", "c": "$9"}
    assert put_together(rows).endswith('\n["zz"]')


@pytest.mark.parametrize("rows", ["", "\n", "1:T", "1:Tfffffff,x", "1:T0,1:T0,", '"$1"' * 3, "1:T1,x" * 1000])
def test_rows_that_are_cut_or_empty_do_no_harm(rows: str) -> None:
    assert put_together(rows).rstrip().endswith("]")


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
        ('a = decodeURIComponent("%7B%22a%22%3A%22x%C3%A9%20%5C%22y%5C%22%22%7D")', ['a=xé "y"']),
        ("{a: ['%5b%22x%22%5d', '%7B', '%7Bx%2', '%7B%22%zz%2']}", ["a.*.*=x", "a.*=%7B", "a.*=%7Bx%2", "a.*.=%zz%2"]),
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


@pytest.mark.parametrize("piece", ["[", '{"a":', '"', '\\"', "'", '["', "a:", '{"a":"{', "//", "[[1],", "'%7B%22',"])
def test_hostile_sources_are_read_to_a_limit(piece: str) -> None:
    assert len(literals([piece * 100_000]).parents) <= MOST_ROWS + 1


@pytest.mark.parametrize(
    "source", ["[" * 100_000, "[[1], " + "9" * 10_000 + "]", '[{"a": 0}]', '[{"a": 5}]', "[[1], [0]]", "[]", "[1"]
)
def test_what_names_no_places_is_left_or_emptied(source: str) -> None:
    assert resolved(source) in (None, "{}", "[[]]", "[]")
