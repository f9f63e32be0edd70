"""Documents and labelled pairs of them: the values, and the files that they are read from.

Documents are JSON objects, one a line: ``id``, ``text`` or ``html`` or both, and if known ``url``, ``lang`` and
``n_tokens``. With their URLs they are judged as pages of their sites.
Pairs are such lines with ``a``, ``b`` and, if known, ``label`` (1: near-duplicates, 0: not, null: not scored),
``band``, ``lang``, ``class``, ``relation``, ``kind`` and ``n_max`` (tokens of the longer side); or CSV with the columns
a and b, all of them near-duplicates, or a, b and label, with or without a first row of these names.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.urls import canonical_url
from worker.evaluate.labels.lines import Problems, lines

Field = Literal["text", "html"]
Label = Literal[0, 1] | None
Id = str | int

META: Final[Mapping[Field, PageMeta]] = {
    "text": PageMeta(url="", form="text"),
    "html": PageMeta(url="", content_type="text/html; charset=utf-8"),
}
"""How each field's documents are passed to the parts that read pages."""

FACETS: Final = ("band", "class", "relation", "kind")
"""Names of a pair by which results are grouped."""

IDENTICAL_TEXT: Final = "identical_text"
"""The band of pairs whose texts are equal token by token."""

_ENDINGS: Final = ("", ".xz", ".gz", ".zst", ".bz2")
_LABELS: Final[dict[str, Label]] = {"1": 1, "0": 0, "": None, "null": None}


@dataclass(frozen=True, slots=True)
class Document:
    """``body`` is the field that is compared; ``url`` is empty where it is not known."""

    id: Id
    body: str
    language: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two documents and the known facts on them.

    ``tokens`` is the listed length of the longer side, None if it was not listed. ``facets`` are further names by which
    results are grouped: band, class, relation, kind. A relation that only repeats the class does not count.
    """

    a: Id
    b: Id
    label: Label
    language: str
    tokens: int | None
    facets: Mapping[str, str] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, str]:
        """The ids under which both are found."""
        return str(self.a), str(self.b)


@dataclass(frozen=True)
class Labelled:
    """Documents by id, the pairs of them, and how many more listed pairs have a side without the field."""

    field: Field
    documents: Mapping[str, Document]
    pairs: tuple[Pair, ...]
    left_out: int


def read_labelled(documents: Path, pairs: Path, compared: Field) -> Labelled:
    """Both files. Each may be a folder that holds ``docs.jsonl`` or ``pairs.jsonl``, compressed or not.

    Raises:
        UsageError: a file that cannot be read, or everything that is wrong in it, with its lines.
    """
    known, without = _documents(_file(documents, "docs.jsonl"), compared)
    listed = _pairs(_file(pairs, "pairs.jsonl"), known, without)
    chosen = tuple(pair for pair in listed if not without.intersection(pair.keys))
    if not chosen:
        raise UsageError(f"{pairs} lists no pair whose documents both have the field {compared}; name another --field")
    used = {key for pair in chosen for key in pair.keys}
    documents_in_use = {key: document for key, document in known.items() if key in used}
    return Labelled(compared, documents_in_use, chosen, len(listed) - len(chosen))


def read_documents(path: Path, compared: Field) -> list[Document]:
    """The documents that have the field.

    Raises:
        UsageError: as ``read_labelled``, or none has it.
    """
    known, _ = _documents(_file(path, "docs.jsonl"), compared)
    return list(known.values())


def read_objects(path: Path) -> Iterator[dict[str, Any]]:
    """Each line of the documents as an object.

    Raises:
        UsageError: the file cannot be read; errors in it are reported at its end.
    """
    file = _file(path, "docs.jsonl")
    problems = Problems(file)
    for _, row in _objects(file, problems):
        yield row
    problems.raise_if_any()


def _file(path: Path, name: str) -> Path:
    if not path.is_dir():
        return path
    for ending in _ENDINGS:
        if (path / (name + ending)).is_file():
            return path / (name + ending)
    raise UsageError(f"{path} holds no {name}, nor one that is compressed; name the file itself")


def _documents(path: Path, compared: Field) -> tuple[dict[str, Document], frozenset[str]]:
    """Documents that have the field, and the ids of those that do not."""
    problems = Problems(path)
    first_seen: dict[str, int] = {}
    known: dict[str, Document] = {}
    for number, row in _objects(path, problems):
        if not _is_id(row.get("id")):
            problems.add(number, f"its id is {_shown(row, 'id')}; give each document a text or number of its own")
            continue
        key = str(row["id"])
        if key in first_seen:
            problems.add(number, f"id {key!r} is in line {first_seen[key]} already; give each document its own")
            continue
        first_seen[key] = number
        body = row.get(compared)
        if isinstance(body, str):
            known[key] = Document(row["id"], body, str(row.get("lang") or ""), url_of(row))
        elif body is not None or compared == "text":
            problems.add(number, f"its {compared} is {_shown(row, compared)}; write it as a JSON string")
    problems.raise_if_any()
    if not known:
        raise UsageError(f"{path} holds no document with the field {compared}; name another file or another --field")
    return known, frozenset(first_seen.keys() - known.keys())


def url_of(row: Mapping[str, Any]) -> str:
    """The canonical URL, as a worker computes it; empty if there is none."""
    try:
        return canonical_url(str(row.get("url") or ""))
    except ValueError:
        return ""


def _pairs(path: Path, known: Mapping[str, Document], without: frozenset[str]) -> list[Pair]:
    problems = Problems(path)
    first_seen: dict[frozenset[str], int] = {}
    found = []
    ids = known.keys() | without
    for number, row in _rows(path, problems, ids):
        problem = _wrong_with(row, ids)
        if problem:
            problems.add(number, problem)
            continue
        keys = frozenset((str(row["a"]), str(row["b"])))
        if keys in first_seen:
            problems.add(number, f"this pair is in line {first_seen[keys]} already; leave one of the two out")
            continue
        first_seen[keys] = number
        found.append(_pair(row, known))
    problems.raise_if_any()
    if not found:
        raise UsageError(f'{path} lists no pairs; write one a line, as {{"a": …, "b": …, "label": 1}}')
    return found


def _wrong_with(row: Mapping[str, Any], ids: Set[str]) -> str | None:
    for side in ("a", "b"):
        if not _is_id(row.get(side)):
            return f"its {side} is {_shown(row, side)}; write the id of a document there"
        if str(row[side]) not in ids:
            return f"document {row[side]!r} is not among the documents; add it there, or leave the pair out"
    if str(row["a"]) == str(row["b"]):
        return f"document {row['a']!r} is paired with itself; leave the pair out"
    label = row.get("label")
    if not (label is None or (label in (0, 1) and isinstance(label, int))):
        return f"its label is {label!r}; write 1 for near-duplicates, 0 for others, null for neither"
    return None


def _pair(row: Mapping[str, Any], known: Mapping[str, Document]) -> Pair:
    sides = [known[key] for key in (str(row["a"]), str(row["b"])) if key in known]
    languages = {side.language for side in sides}
    facets = {name: str(row[name]) for name in FACETS if row.get(name)}
    if facets.get("relation") == facets.get("class"):
        facets.pop("relation", None)
    if len(sides) == 2 and sides[0].body == sides[1].body:
        facets.setdefault("band", IDENTICAL_TEXT)
    tokens = row.get("n_max")
    return Pair(
        a=row["a"],
        b=row["b"],
        label=None if row.get("label") is None else 1 if row["label"] else 0,
        language=str(row.get("lang") or (languages.pop() if len(languages) == 1 else "mixed")),
        tokens=tokens if isinstance(tokens, int) else None,
        facets=facets,
    )


def _rows(path: Path, problems: Problems, ids: Set[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number of the line and the pair, from JSON lines or, if the first line is no JSON, CSV."""
    beginning = next(lines(path), (0, "{"))[1]
    if beginning.startswith(("{", "[")):
        yield from _objects(path, problems)
        return
    names = [name.lower() for name in _cells(beginning)]
    has_head = names == ["a", "b", "label"] or (names[:2] == ["a", "b"] and not {"a", "b"} <= ids)
    for number, line in islice(lines(path), int(has_head), None):
        cells = _cells(line)
        if not 2 <= len(cells) <= 3:
            problems.add(number, f"{len(cells)} columns; write a,b or a,b,label")
        elif len(cells) == 2:
            yield number, {"a": cells[0], "b": cells[1], "label": 1}
        elif cells[2].lower() not in _LABELS:
            problems.add(number, f"its label is {cells[2]!r}; write 1 for near-duplicates, 0 for others, or nothing")
        else:
            yield number, {"a": cells[0], "b": cells[1], "label": _LABELS[cells[2].lower()]}


def _cells(line: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line]))]
    except csv.Error:
        return []


def _objects(path: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in lines(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            problems.add(number, f"not JSON ({error}); write one object a line")
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            problems.add(number, f"a JSON {type(row).__name__}, not an object; write one object a line")


def _is_id(value: object) -> bool:
    return (isinstance(value, str) and value != "") or (isinstance(value, int) and not isinstance(value, bool))


def _shown(row: Mapping[str, Any], name: str) -> str:
    """The value as it stands there, for a message."""
    if name not in row:
        return "missing"
    shown = json.dumps(row[name], ensure_ascii=False)
    return shown if len(shown) <= 60 else shown[:59] + "…"
