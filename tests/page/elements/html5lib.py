"""The tokenizer tests of html5lib-tests, and the parser's results in their form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from worker.page.elements.markup import KIND, NAME, PARENT, TABLES, parse
from worker.page.elements.parsed import ATTRIBUTE, OF, OWNER, Parsed
from worker.page.elements.vocabulary import EMPTY, RAW, hash_of, table_of

DATA: Final = "Data state"
_OPENED: Final = {
    DATA: "",
    "PLAINTEXT state": "<plaintext>",
    "RCDATA state": "<title>",
    "RAWTEXT state": "<xmp>",
    "Script data state": "<script>",
    "CDATA section state": "<svg><![CDATA[",
}
_MOST_ATTRIBUTES: Final = 31
_AS_XML: Final = {0xFFFF: 0xFFFD, 0x0C: 0x20}
_ESCAPED: Final = re.compile(r"\\u([0-9A-Fa-f]{4})")


@dataclass(frozen=True)
class TokenizerTest:
    """One test in one of its states."""

    name: str
    file: str
    state: str
    markup: str
    tokens: tuple[tuple[Any, ...], ...]


def read_tests(folder: Path) -> Iterator[TokenizerTest]:
    """Read all tests."""
    for path in sorted(folder.glob("*.test")):
        ((_, tests),) = json.loads(path.read_text()).items()
        for test in tests:
            for state in test.get("initialStates", [DATA]):
                yield _read(path.stem, test, state)


def _read(file: str, test: dict[str, Any], state: str) -> TokenizerTest:
    """An element with this state enters it, so the test's last start tag gets that element's name."""
    element = _element(state)

    def in_case_of(found: re.Match[str]) -> str:
        return element if found[0].islower() else element.upper() if found[0].isupper() else element.title()

    def said(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(map(said, value))
        if isinstance(value, dict):
            return {said(name): said(each) for name, each in value.items()}
        return plain(value) if isinstance(value, str) else value

    def plain(text: str) -> str:
        if test.get("doubleEscaped"):
            text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
        if test.get("lastStartTag") and element:
            text = re.sub(test["lastStartTag"], in_case_of, text, flags=re.IGNORECASE)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8", "replace").decode()

    markup, tokens = plain(test["input"]), said(test["output"])
    open_ended = any(error["code"].startswith("eof-in") for error in test.get("errors", ()))
    if tokens and tokens[-1][0] in ("Comment", "DOCTYPE") and markup.endswith(">") and not open_ended:
        markup, tokens = f"{markup}x", (*tokens, ("Character", "x"))  # shows where the element ends
    name = f"{file}: {test['description']}" + ("" if state == DATA else f" ({state})")
    return TokenizerTest(name, file, state, markup, tokens)


def _element(state: str) -> str:
    """The raw element that has this state, if one has."""
    return "" if state in (DATA, "CDATA section state") else _OPENED[state][1:-1]


def difference(test: TokenizerTest) -> str | None:
    """The difference between the parser's result and the test, or None."""
    tokens = [token for token in test.tokens if token[0] not in ("Comment", "DOCTYPE")]
    if test.file == "xmlViolation":  # these tests expect only what XML can express
        as_xml, same = parse(test.markup.translate(_AS_XML)), parse(_written(tokens))
        return None if _texts(as_xml, False) == _texts(same, False) else "other text"
    opened, raw = _OPENED[test.state], _element(test.state)
    tables = _tables(test)
    page = parse(opened + test.markup, tables=tables)
    inside = ""
    if raw:
        while tokens and tokens[0][0] == "Character":
            inside += tokens.pop(0)[1]
    same = parse((f"<{raw}>" if raw else opened.removesuffix("<![CDATA[")) + _written(tokens), tables=tables)
    found = _raw_text(page) if raw else ""
    if inside != found:
        return f"{found!r} for {inside!r}"
    if (got := _texts(page, bool(raw))) != (wanted := _texts(same, bool(raw))):
        return f"{got} for {wanted}"
    said = "".join(token[1] for token in tokens if token[0] == "Character")
    if (text := "".join(text for _, text in _texts(page, bool(raw)))) != said:
        return f"{text!r} for {said!r}"
    starts = [(hash_of(_name(token[1], test)), token[2]) for token in tokens if token[0] == "StartTag"]
    if (tags := _tags(page, test, opened.count("<") - ("CDATA" in opened))) != starts:
        return f"{tags} for {tokens}"
    return None


def _tables(test: TokenizerTest) -> Any:
    """Tables that keep all attributes of all elements in the test, and everything that might be taken for one."""
    tags = [token for token in test.tokens if token[0] == "StartTag"]
    names = dict.fromkeys(name for token in tags for name in token[2])
    names |= dict.fromkeys(filter(None, re.split(r"[\s=/><\"']+", test.markup.lower())))
    bits = {hash_of(_name(name, test)): 1 << place for place, name in enumerate(list(names)[: _MOST_ATTRIBUTES - 1])}
    valued = {hash_of(_name(token[1], test)): (1 << _MOST_ATTRIBUTES) - 1 for token in tags}
    elements, _, words, roles, _, *others = TABLES
    return elements, table_of(valued or {1: 0}), words, roles, table_of(bits or {1: 0}), *others


def _name(name: str, test: TokenizerTest) -> str:
    """The name as the parser keeps it: names with a NUL mean nothing, so the parser does not replace the NUL."""
    return name.replace("\ufffd", "\0") if "\0" in test.markup else name


def _written(tokens: list[tuple[Any, ...]]) -> str:
    """Plain markup with the same tokens."""

    def escaped(text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;").replace("\r", "&#13;")

    written = ""
    for kind, *said in tokens:
        if kind == "Character":
            written += escaped(said[0])
        elif kind == "EndTag":
            written += f"</{said[0]}>"
        else:
            attributes = "".join(f' {name}="{escaped(value)}"' for name, value in said[1].items())
            written += f"<{said[0]}{attributes}{' /' if said[2:] == [True] else ''}>"
    return written


def _raw_text(page: Parsed) -> str:
    """The text of the first element, which is raw."""
    runs = [page.text(row) for row, run in enumerate(page.runs) if run[OWNER] == 1]
    runs += [page.value(row) for row, value in enumerate(page.values) if value[OF] == 1 and value[ATTRIBUTE] == EMPTY]
    return "".join(runs)


def _texts(page: Parsed, raw: bool) -> list[tuple[tuple[int, ...], str]]:
    """Texts with the elements around them, without the text of the first element where that is raw."""
    texts: list[tuple[tuple[int, ...], str]] = []
    numbers = {
        row: len([1 for each in page.elements[:row, NAME] if each != EMPTY]) for row in range(len(page.elements))
    }
    for row, run in enumerate(page.runs):
        path, owner = [], int(run[OWNER])
        if raw and owner == 1:
            continue
        while owner > 0:
            path += [numbers[owner]] if page.elements[owner, NAME] != EMPTY else []
            owner = int(page.elements[owner, PARENT])
        before = texts.pop()[1] if texts and texts[-1][0] == tuple(path) else ""
        texts.append((tuple(path), before + page.text(row)))
    return [(path, text) for path, text in texts if text]


def _tags(page: Parsed, test: TokenizerTest, before: int) -> list[tuple[int, dict[str, str]]]:
    names = {hash_of(_name(name, test)): name for token in test.tokens if token[0] == "StartTag" for name in token[2]}
    tags: list[tuple[int, dict[str, str]]] = []
    for row, element in enumerate(page.elements.tolist()):
        if row > before and not (element[NAME] == EMPTY and element[KIND] & RAW):
            values = [place for place, value in enumerate(page.values) if value[OF] == row]
            found = {int(page.values[place, ATTRIBUTE]): page.value(place) for place in values}
            found.pop(EMPTY, None)
            tags.append((element[NAME], {names.get(each, f"?{each}"): value for each, value in found.items()}))
    return tags
