"""The tables of recall and false positives in the docs, from the reports that are stored beside the curves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

REPORTS: Final = Path(__file__).resolve().parents[2] / "docs" / "quality"
"""What ``python -m worker evaluate --out`` wrote of each field, without the predictions."""

SHORT: Final = ("length", "< 30")
MOST_EDITED: Final = ("band", "0.8-0.9")


def report(field: str) -> Any:
    """The stored report of ``text`` or ``html``."""
    return json.loads((REPORTS / field / "report.json").read_text(encoding="utf-8"))


def table() -> str:
    """Methods by rows, as Markdown, and where it was measured."""
    text, html = report("text"), report("html")
    head = [
        "",
        "text: found",
        "of edited",
        "of the most edited",
        "of short",
        "false",
        "HTML: found",
        "false",
        "bytes",
        "µs",
    ]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for name, row in text["methods"].items():
        other = html["methods"][name]
        lines.append(
            [
                f"`{name}`" if name in ("simhash", "accurate") else name,
                _share(row["recall"]),
                _share(row["recall_edited"]),
                _share(_group(row, MOST_EDITED)),
                _share(_group(row, SHORT)),
                str(row["false_positives"]["called"]),
                _share(other["recall"]),
                str(other["false_positives"]["called"]),
                f"{row['bytes_a_page']:,.0f}",
                f"{row['microseconds_a_page']:,.0f}",
            ]
        )
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + f"\n\n{_caption(text, html)}\n"


HEADLINE: Final = {
    "accurate": "`accurate`, the default",
    "simhash": "`simhash`",
    "shingles": "MinHash, 128 slots",
    "exact": "equal text",
}


def headline() -> str:
    """The few figures that the README has, as Markdown."""
    text, html = report("text"), report("html")
    others = f"{text['pairs']['other']:,} and {html['pairs']['other']:,}"
    head = ["", "found by text", "of edited copies", "found by HTML", f"false, of {others} others", "bytes a page"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for name, shown in HEADLINE.items():
        row, other = text["methods"][name], html["methods"][name]
        called = [str(each["false_positives"]["called"]) for each in (row, other)]
        lines.append(
            [
                shown,
                _share(row["recall"]),
                _share(row["recall_edited"]),
                _share(other["recall"]),
                " and ".join(called),
                f"{row['bytes_a_page']:,.0f}",
            ]
        )
    pairs = (
        f"{text['pairs']['near_duplicate']:,} pairs by their text and {html['pairs']['near_duplicate']:,} by their HTML"
    )
    rows = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"{rows}\n\nShares of {pairs}, measured on {text['measured_on']}.\n"


def _caption(text: Any, html: Any) -> str:
    load = " and ".join(f"{value:.0f} times ({language})" for language, value in text["block_load"].items())
    return (
        f"Found: share of {text['pairs']['near_duplicate']:,} labelled near-duplicates by their text and "
        f"{html['pairs']['near_duplicate']:,} by their HTML. Edited: the texts differ; most edited: by a tenth "
        f"to a fifth of their tokens; short: fewer than 30 tokens. False: of {text['pairs']['other']:,} and "
        f"{html['pairs']['other']:,} other pairs. µs: CPU time from text to what is kept; taking the text out of HTML "
        f"takes {html['extraction_microseconds']:,.0f} µs more. Blocks of the index are {load} as full as with random "
        f"fingerprints. Measured on {text['measured_on']}."
    )


def _group(method: Any, wanted: tuple[str, str]) -> Any:
    return next(group["near_duplicate"] for group in method["groups"] if (group["dimension"], group["group"]) == wanted)


def _share(share: Any) -> str:
    return f"{share['share']:.3f}"
