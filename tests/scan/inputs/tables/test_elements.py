"""Elements of JSON arrays, whole ones and broken ones, however the file is cut into pieces."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.scan.inputs.tables.elements import elements_of
from worker.scan.inputs.tables.lines import Line
from worker.scan.inputs.unpacking import UnpackedPiece

MOST = 1000
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('"\\{}[],:\n é')),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.sampled_from('"\\{a')), inner, max_size=3),
)


def elements(content: bytes, step: int = 7, most: int = MOST) -> list[Line]:
    pieces = (UnpackedPiece(content[at : at + step]) for at in range(0, len(content), step))
    return list(elements_of(pieces, most))


def told(content: bytes) -> list[bytes | str]:
    """The content of each element, or the error in its place, however the file is cut."""
    found = elements(content)
    assert all(elements(content, step) == found for step in (1, 2, 3, 10_000))
    return [line.broken or line.content.strip() for line in found]


@given(st.lists(VALUES, max_size=5), st.sampled_from([None, 2]), st.booleans(), st.integers(1, 40))
def test_elements_are_those_that_json_reads_and_an_offset_is_where_one_begins(
    values: list[Any], indent: int | None, ascii_only: bool, step: int
) -> None:
    content = json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode()
    found = elements(content, step, 1 << 20)
    assert [json.loads(line.content) for line in found] == values
    for line in found:
        assert content[line.offset :].startswith(line.content)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"[]", []),
        (b"\xef\xbb\xbf [\n]\n", []),
        (b'[\n{"a":1},\n{"a":2}\n][\n{"a":3}\n]', [b'{"a":1}', b'{"a":2}', b'{"a":3}']),
        (b'[1, "a,]", [2, 3], null]', [b"1", b'"a,]"', b"[2, 3]", b"null"]),
        (b'[{"a":1},{"a":', [b'{"a":1}', "damaged"]),
        (b'[{"a":1},', [b'{"a":1}', "damaged"]),
        (b'[{"a":1}', [b'{"a":1}', "damaged"]),
        (b"[", ["damaged"]),
        (b'[{"a":"he "said"},{"a":2}]', ["no-json", b'{"a":2}']),
        (b'[{"a":1},{"b":"x\n},\n{"a":2}]', [b'{"a":1}', "no-json", b'{"a":2}']),
        (b'[{"a":1}},{"a":2}]', ["no-json", b'{"a":2}']),
        (b'[{"a":[1},{"a":2}]', ["no-json", b'{"a":2}']),
        (b'[{"a":1}]; {"a":2}]', [b'{"a":1}', "no-json", b'{"a":2}']),
        (b'[{"a":"' + b"x" * MOST + b'"},{"a":2}]', ["too-large", b'{"a":2}']),
        (b"[" + b'{"a":' * 10_001 + b"1", ["no-json"]),
    ],
)
def test_what_is_no_part_of_an_array_is_named_and_reading_goes_on(content: bytes, expected: list[bytes | str]) -> None:
    assert told(content) == expected


def test_damage_costs_the_elements_that_it_is_in() -> None:
    pieces = [
        UnpackedPiece(b'[{"a":1},{"a"'),
        UnpackedPiece(b"", 7, damage="a hole"),
        UnpackedPiece(b'},{"a":3},{"a":4}]'),
    ]
    assert list(elements_of(pieces, MOST)) == [
        Line(1, b'{"a":1}'),
        Line(13, b"", "damaged", "a hole (byte 7 of the file as it is stored)"),
        Line(15, b'{"a":3}'),
        Line(23, b'{"a":4}'),
    ]


@pytest.mark.parametrize("part", [b'{"a"', b'"', b"\\", b"{ ", b"[", b"\n", b'[}{"', b"x"])
def test_what_is_too_large_is_not_held(part: bytes) -> None:
    import tracemalloc

    pieces = (UnpackedPiece((b"" if number else b"[") + part * (1000 // len(part))) for number in range(100))
    tracemalloc.start()
    for _ in elements_of(pieces, 10_000):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50_000
