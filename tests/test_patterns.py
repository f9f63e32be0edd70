"""Every pattern of worker and plugin is found, and its time is proportional to the text that it reads."""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.patterns import fault

ROOT: Final = Path(__file__).resolve().parent.parent
SEARCHES: Final = ("search", "split", "findall", "finditer", "sub", "subn")
WAYS: Final = dict.fromkeys(SEARCHES, (True, False)) | {"match": (False, False), "fullmatch": (False, True)}
"""The methods of a pattern: whether they try each place, and whether they must match the whole rest."""
FUNCTIONS: Final = {"compile", *WAYS}

BOUNDED: Final = {
    "worker/scan/inputs/fields.py _MARKUP": "the first 4,096 characters of a value are searched",
    "worker/results/report/differences_shown.py _EMPTY_LINES": "a run of 4,000 characters at most is shown",
    "worker/stream/shard/snapshots.py _OURS": "a name of a file has 255 bytes at most",
    "worker/compose/parts.py _USER_WORD": "a line of a dictionary that the operator wrote",
}
"""Quadratic patterns, and why that costs nothing."""


class Found(NamedTuple):
    """A pattern with its place, and the methods that are called on it anywhere."""

    place: str
    pattern: re.Pattern[Any]
    asked: frozenset[str]

    @property
    def fault(self) -> str | None:
        """The worst fault in any of the used methods; in all methods, where the used ones are not known."""
        ways = {WAYS[asked] for asked in self.asked - {"pattern"}} or {*WAYS.values()}
        faults = {fault(self.pattern, searches=searches, to_the_end=to_the_end) for searches, to_the_end in ways}
        return min(filter(None, faults), default=None)


def module_of(path: Path) -> Any:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))


@cache
def asked_of() -> dict[str, set[str]]:
    """For each name in capitals, the methods that are called on it in any file."""
    asked: dict[str, set[str]] = defaultdict(set)
    for path in files():
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id.isupper():
                asked[f"{path}:{node.value.id}" if node.value.id.startswith("_") else node.value.id].add(node.attr)
    return asked


def files() -> list[Path]:
    return [path for package in ("worker", "crawler_plugin") for path in sorted((ROOT / package).rglob("*.py"))]


def calls(path: Path) -> Iterator[tuple[ast.Call, str, str | None, ast.FunctionDef | None]]:
    """Each call of ``re``, the name of the called function, the constant that the result is assigned to, and the
    function around it."""

    def walk(node: ast.AST, name: str | None, function: ast.FunctionDef | None) -> Iterator[Any]:
        if isinstance(node, ast.FunctionDef):
            function = node
        if isinstance(node, ast.AnnAssign | ast.Assign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            direct = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "re.compile"
            name = target.id if direct and isinstance(target, ast.Name) and function is None else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value
            if isinstance(of, ast.Name) and of.id == "re" and node.func.attr in FUNCTIONS:
                yield node, node.func.attr, name, function
        for child in ast.iter_child_nodes(node):
            yield from walk(child, name, function)

    yield from walk(ast.parse(path.read_bytes()), None, None)


def patterns(path: Path) -> Iterator[Found]:
    """All patterns of a file: constants, patterns in calls, patterns that a function without arguments makes."""
    short = path.relative_to(ROOT).as_posix()
    module: Any = None
    for call, called, name, function in calls(path):
        module = module or module_of(path)
        if name is not None:
            key = f"{path}:{name}" if name.startswith("_") else name
            yield Found(f"{short} {name}", getattr(module, name), frozenset(asked_of()[key]))
            continue
        asked = frozenset() if called == "compile" else frozenset({called})
        given = ast.Expression(call if called == "compile" else call.args[0])
        value = _value(given, vars(module))
        if value is None:  # not made of constants: it is found where it ends up
            value = getattr(module, function.name)() if function else list(within(vars(module)))
            assert value, f"{short}:{call.lineno}: make this pattern a constant, or let a function without arguments"
        for one in value if isinstance(value, list) else [value]:
            pattern = one if isinstance(one, re.Pattern) else re.compile(one)
            yield Found(f"{short} {function.name if function else ''}".strip(), pattern, asked)


def _value(given: ast.Expression, names: dict[str, Any]) -> Any:
    """The value of an expression, None where these names are not enough. An escaped part that is not a constant is
    taken for letters."""
    is_bytes = any(isinstance(part, ast.Constant) and isinstance(part.value, bytes) for part in ast.walk(given))
    for letters in (None, b"ab" if is_bytes else "ab"):
        for part in ast.walk(given) if letters else ():
            if isinstance(part, ast.Call) and ast.unparse(part.func) == "re.escape":
                part.args = [ast.Constant(letters)]
        with suppress(NameError):
            return eval(compile(ast.fix_missing_locations(given), "<pattern>", "eval"), names)
    return None


def within(values: Any) -> Iterator[re.Pattern[Any]]:
    """All patterns among values, and in their tuples."""
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, re.Pattern):
            yield value
        elif isinstance(value, tuple):
            yield from within(value)


def every_pattern() -> list[Found]:
    return [found for path in files() for found in patterns(path)]


def test_every_pattern_takes_time_in_line_with_what_it_reads() -> None:
    found = every_pattern()
    faults = {one.place: one.fault for one in found if one.fault is not None}
    assert faults == dict.fromkeys(BOUNDED, "quadratic"), "write it so that it is linear, or bound what it reads"
    assert len(found) > 100, "they are found, not just looked for"


def test_patterns_are_made_by_the_standard_library_under_its_own_name() -> None:
    for path in files():
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                assert all(name.asname is None for name in node.names if name.name == "re"), path
            elif isinstance(node, ast.ImportFrom):
                assert node.module not in ("re", "regex"), path


def test_calls_are_seen_wherever_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(
        "import re\nONE: Final = re.compile('a')\nTWO = (re.compile('b'),)\nTHREE = Holder(re.compile('c'))\n"
        "def f(text):\n    return re.search('d+e', text) or re.compile('e')\n"
    )
    seen = [(called, name, function and function.name) for _, called, name, function in calls(path)]
    assert seen == [
        ("compile", "ONE", None),
        ("compile", None, None),
        ("compile", None, None),
        ("search", None, "f"),
        ("compile", None, "f"),
    ]


@pytest.mark.parametrize(
    ("pattern", "of_search", "of_fullmatch"),
    [
        (r"[^-_+ ]+(?:(?:[-_+ ]|%20)+[^-_+ ]+){2,}", "exponential", "exponential"),
        (r"(a+)+b", "exponential", "exponential"),
        (r"(a*)*b", "exponential", "exponential"),
        (r"(a|a)*b", "exponential", "exponential"),
        (r"(?:aa|b|ab|a)*c", "exponential", "exponential"),
        (r"(?:a?){20}b", "exponential", "exponential"),
        (r"(?:[a-f]+|[d-k]+)+!", "exponential", "exponential"),
        (r"(?:(?i:ab)|AB)*!", "exponential", "exponential"),
        (r"a*a*b", "quadratic", "quadratic"),
        (r"a+\s*b?\s*c", "quadratic", "quadratic"),
        (r"\w+$", "quadratic", None),
        (r"x.*y", "quadratic", None),
        (r"(?:a+b)?", "quadratic", None),
        (r"(?:(?:ab)*c)*", "quadratic", None),
        (r"(?=.*a)b", "quadratic", None),
        (r"<a[^>]{0,2000}>", "quadratic", None),
        (r"\s+-", "quadratic", None),
        (r"^\s+-", None, None),
        (r"(?m:^)\s+-", "quadratic", None),
        (r"\d+", None, None),
        (r"<a[^<>]*>", None, None),
        (r"(?<!\w)\w+!", None, None),
        (r"(?:[a-z]++|-)+!", "quadratic", None),
        (r"[a-z0-9]+(?:-[a-z0-9]+)*", None, None),
        (r"[a-z]+(?:'[a-z]+)*|.", None, None),
        (r"\s*+=\s*+[\"']?+\s*+a", "quadratic", None),
        (r"=\s*+[\"']?+\s*+a", None, None),
        (r"(?:[ab]|(?<=c)[bc])*+d", "quadratic", None),
    ],
)
def test_a_pattern_is_judged_by_its_syntax_tree(pattern: str, of_search: str | None, of_fullmatch: str | None) -> None:
    compiled = re.compile(pattern)
    assert fault(compiled, searches=True, to_the_end=False) == of_search
    assert fault(compiled, searches=False, to_the_end=True) == of_fullmatch
