"""The tables of quality in the README and the handbook, from the figures that ``measuring`` stored."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

FIGURES: Final = Path(__file__).resolve().parents[2] / "docs" / "quality" / "figures.json"
"""The figures that ``python -m tools.quality --publish`` measured."""

SETS: Final = ("dev", "web")
PREDICATES: Final = ("simhash", "accurate")
HEADLINE: Final = {
    "accurate": "`accurate`, the default",
    "simhash": "`simhash`",
    "shingles": "MinHash, 128 slots",
    "exact": "equal text",
}
_NOTHING: Final = "–"


def headline() -> str:
    """The few figures that the README has."""
    found = _figures()
    rows = []
    for name, shown in HEADLINE.items():
        cells = [shown]
        for part in SETS:
            html = _groups(found, part, "html", name)["all"]
            cells += [_share(_groups(found, part, "text", name)["all"]), _share(html), _false(html)]
        rows.append([*cells, f"{found['sets']['dev']['text']['methods'][name]['bytes']:,}"])
    head = [
        "",
        "`dev`: by text",
        "by HTML",
        "false by HTML",
        "`web`: by text",
        "by HTML",
        "false by HTML",
        "bytes a page",
    ]
    return f"{_table(head, rows)}\n\n{_pairs(found)} Measured on {found['measured_on']}.\n"


def methods() -> str:
    """All methods on both sets."""
    found = _figures()
    rows = []
    for name in found["sets"]["dev"]["text"]["methods"]:
        cells = [f"`{name}`" if name in PREDICATES else name]
        for part in SETS:
            for field in ("text", "html"):
                every = _groups(found, part, field, name)["all"]
                cells += [_share(every), _false(every)]
        rows.append(cells)
    head = [""]
    head += [f"`{part}`, {field}: {what}" for part in SETS for field in ("text", "HTML") for what in ("found", "false")]
    return f"{_table(head, rows)}\n\n{_pairs(found)} Measured on {found['measured_on']}.\n"


def details() -> str:
    """The harder cases in ``dev``, and the cost of each method there."""
    found = _figures()
    text, html = found["sets"]["dev"]["text"], found["sets"]["dev"]["html"]
    rows = []
    for name, method in text["methods"].items():
        groups = method["groups"]
        rows.append(
            [
                f"`{name}`" if name in PREDICATES else name,
                *(_share(groups.get(group, {})) for group in ("edited", "band 0.8-0.9", "length < 30")),
                f"{method['bytes']:,}",
                f"{method['microseconds']:,}",
            ]
        )
    head = ["", "found of edited", "of the most edited", "of short", "bytes", "µs"]
    load = " and ".join(f"{value:.0f} times ({language})" for language, value in text["block_load"].items())
    return (
        f"{_table(head, rows)}\n\nBy text. Edited: the texts differ; most edited: by a tenth to a fifth of their "
        "tokens; short: fewer than 30 tokens. µs: CPU time from text to what is kept; taking the text out of HTML "
        f"takes {html['extraction_microseconds']:,} µs more. Blocks of the index are {load} as full as with random "
        "fingerprints.\n"
    )


def classes() -> str:
    """The open web's classes."""
    return _by_group(_figures(), "web", "class ")


def relations() -> str:
    """The same for the set on which settings were tuned."""
    return _by_group(_figures(), "dev", "relation ")


def languages() -> str:
    """Both sets by language, with the default predicate."""
    found = _figures()
    groups = {part: _groups(found, part, "html", "accurate") for part in SETS}
    texts = {part: _groups(found, part, "text", "accurate") for part in SETS}
    names = sorted({name for part in SETS for name in texts[part] if name.startswith("language ")})
    rows = []
    for name in names:
        cells = [name.removeprefix("language ")]
        for part in SETS:
            html = groups[part].get(name, {})
            cells += [_share(texts[part].get(name, {})), _share(html), _false(html)]
        rows.append(cells)
    head = ["language"]
    head += [f"`{part}`: {what}" for part in SETS for what in ("found by text", "by HTML", "false by HTML")]
    return _table(head, rows) + "\n"


def extraction() -> str:
    """Word F1 by type of page and extractor."""
    by = _figures()["extractors"]
    rows = [
        [kind, f"{pages['pages']:,}", *(_of_type(each["types"][kind]) for each in by.values())]
        for kind, pages in next(iter(by.values()))["types"].items()
    ]
    head = ["type", "pages", *(f"`{name}`" for name in by)]
    return (
        f"{_table(head, rows)}\n\nWord F1 (share of pages below .5; share of the pages of 20 words or more of which "
        "fewer than five were found).\n"
    )


def extractors() -> str:
    """Verdicts by extractor."""
    rows = []
    for name, each in _figures()["extractors"].items():
        cells = [f"`{name}`"]
        for part in SETS:
            for predicate in reversed(PREDICATES):
                cells += [_share(each["verdicts"][part][predicate]), _false(each["verdicts"][part][predicate])]
        rows.append([*cells, f"{each['milliseconds']:.2f} ms"])
    head = ["`--extractor`"]
    head += [
        f"`{part}`, `{name}`: {what}" for part in SETS for name in reversed(PREDICATES) for what in ("found", "false")
    ]
    return f"{_table([*head, 'CPU time'], rows)}\n\nCPU time: the median of the open web's pages, decoding included.\n"


def _by_group(found: Any, part: str, prefix: str) -> str:
    by = {
        (field, name): _groups(found, part, field, name) for field in ("text", "html") for name in reversed(PREDICATES)
    }
    names = [name for name in by["text", "accurate"] if name.startswith(prefix)]
    tables = []
    for labelled, title, shown in (
        ("of", "Near-duplicates: share found", _share),
        ("others", "Others: called near", _false),
    ):
        chosen = [name for name in names if by["text", "accurate"][name].get(labelled)]
        rows = [
            [
                f"`{name.removeprefix(prefix)}`",
                f"{by['text', 'accurate'][name][labelled]:,}",
                *(shown(groups.get(name, {})) for groups in by.values()),
            ]
            for name in chosen
        ]
        head = [title, "pairs", *(f"{'HTML' if field == 'html' else field}: `{name}`" for field, name in by)]
        tables.append(_table(head, rows))
    return "\n\n".join(tables) + "\n"


def _figures() -> Any:
    return json.loads(FIGURES.read_text(encoding="utf-8"))


def _groups(found: Any, part: str, field: str, method: str) -> Mapping[str, Any]:
    groups: Mapping[str, Any] = found["sets"][part][field]["methods"][method]["groups"]
    return groups


def _pairs(found: Any) -> str:
    told = []
    for part in SETS:
        text, html = (found["sets"][part][field]["pairs"] for field in ("text", "html"))
        told.append(
            f"`{part}` has {text['near_duplicates']:,} pairs of copies by text and {html['near_duplicates']:,} by "
            f"HTML, and {text['others']:,} and {html['others']:,} others"
        )
    return "Found: share of the copies; false: how many others are called near. " + "; ".join(told) + "."


def _share(figures: Mapping[str, Any]) -> str:
    return f"{figures['found'] / figures['of']:.3f}" if figures.get("of") else _NOTHING


def _false(figures: Mapping[str, Any]) -> str:
    return f"{figures['false']:,}" if figures.get("others") else _NOTHING


def _of_type(pages: Mapping[str, Any]) -> str:
    low, empty = pages["below_half"] / pages["pages"], pages["empty"] / max(1, pages["enough"])
    return f"{pages['f1']:.3f} ({low:.2f}; {empty:.3f})"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
