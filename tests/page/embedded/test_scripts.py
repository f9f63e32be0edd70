"""Which scripts hold data, and what is streamed in pieces."""

from __future__ import annotations

import json

import pytest

from worker.page.elements.markup import parse
from worker.page.embedded.scripts import put_together, scripts_of


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
