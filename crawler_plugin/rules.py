"""``python -m crawler_plugin.rules --from JOBDIR``: writes what a crawl has learned of URLs, for other programs.

It writes two files: rules in the form of duplicate-url-discarder (``queryRemoval``, ``subpathRemoval``), and a readable
table of all comparisons with their evidence. A rule covers only the site on which it was learned, and only URLs as they
were seen there: for a parameter with few values the rule names these values. A name that could be read as a pattern
becomes no rule.

Exit codes are those of ``crawler_plugin.wire.errors``: 0 both files are written; 2 wrong usage, or nothing to read.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from crawler_plugin.feedback.state_file import FILE, read_known
from crawler_plugin.feedback.variation_evidence import LEAST_PAGES, MOST_VALUES, KindEvidence, VariationKind
from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import Stop, UsageError
from crawler_plugin.wire.files import replaced

PROGRAM: Final = "python -m crawler_plugin.rules"
ORDER: Final = 100
"""The order among rules of other files; these rules do not depend on each other."""
Rule: TypeAlias = dict[str, Any]
"""The form of a rule that duplicate-url-discarder reads."""
HEADINGS: Final = ("site", "left_out", "becomes", "pages", "same", "different", "values", "url", "without_it")
_SITE: Final = re.compile(r"(?:[a-z0-9-]+\.)*[a-z0-9-]+(?::[0-9]+)?")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""For a parameter, a value or a segment: no character of a pattern, and none that a URL can spell in two ways."""
_WRITTEN: Final = re.compile(r"\{[a-z]+\}")
"""The words that ``segment_template`` writes for a segment that differs."""


class _Parser(argparse.ArgumentParser):
    """Raises ``UsageError`` for a wrong command line."""

    def error(self, message: str) -> NoReturn:
        """Raise the error, with the place to read on."""
        raise UsageError(f"{message}; see {self.prog} --help")


def rules_of(known: Iterable[tuple[VariationKind, KindEvidence]]) -> dict[VariationKind, Rule]:
    """The rules for which the evidence is enough, by kind of variation."""
    evidence = dict(known)
    differing = {(kind.site, _first(kind)) for kind, seen in evidence.items() if seen.different}
    found = {}
    for kind, seen in evidence.items():
        if not (seen.is_enough and _SITE.fullmatch(kind.site)):
            continue
        is_query = kind.name.startswith("?")
        if not is_query and (kind.site, _first(kind)) in differing:
            continue
        rule = _query_rule(kind, seen) if is_query else _path_rule(kind)
        if rule is not None:
            found[kind] = rule
    return found


def _query_rule(kind: VariationKind, seen: KindEvidence) -> Rule | None:
    name = kind.name[1:]
    if not _NAME.fullmatch(name):
        return None
    start = f"{kind.site}/"
    if len(seen.values) > MOST_VALUES:
        return _rule([start], "queryRemoval", [name])
    patterns = [f"{start}?{name}={value}" for value in sorted(seen.values) if _NAME.fullmatch(value)]
    return _rule(patterns, "queryRemoval", [name]) if patterns else None


def _path_rule(kind: VariationKind) -> Rule | None:
    if not kind.name.startswith("/"):
        return None  # a segment at the end of a path cannot be named by its number
    segments = kind.name.strip("/…").split("/")
    if not _NAME.fullmatch(segments[0]):
        return None
    spelt = ["*" if _WRITTEN.fullmatch(segment) else segment for segment in segments]
    if not all(segment == "*" or _NAME.fullmatch(segment) for segment in spelt):
        return None
    return _rule([f"{kind.site}/{'/'.join(spelt)}/"], "subpathRemoval", list(range(len(spelt))))


def _rule(patterns: list[str], processor: str, arguments: list[Any]) -> Rule:
    return {"order": ORDER, "urlPattern": {"include": patterns}, "processor": processor, "args": arguments}


def _first(kind: VariationKind) -> str:
    return kind.name.split("/")[1] if kind.name.startswith("/") else kind.name


def rows_of(known: Iterable[tuple[VariationKind, KindEvidence]]) -> list[tuple[Any, ...]]:
    """The rows of the table under ``HEADINGS``, grouped by site, the most seen first; a row for each example."""
    evidence = dict(known)
    rules = rules_of(evidence.items())
    rows = []
    for kind, seen in sorted(evidence.items(), key=lambda each: (each[0].site, -each[1].same, each[0].name)):
        becomes = "a rule" if kind in rules else "nothing: it led to a different page" if seen.different else ""
        becomes = becomes or ("nothing: no form for it" if seen.is_enough else "nothing: too few pages")
        pages = f"{len(seen.pages)}{'+' * (len(seen.pages) >= LEAST_PAGES)}"
        values = f"{min(len(seen.values), MOST_VALUES)}{'+' * (len(seen.values) > MOST_VALUES)}"
        rows += [
            (kind.site, kind.name, becomes, pages, seen.same, seen.different, values, *example)
            for example in seen.examples
        ]
    return rows


def main(arguments: Sequence[str]) -> int:
    """Write both files; returns the exit code."""
    try:
        _write(_parser().parse_args(arguments))
    except Stop as stop:
        print(f"rules: error: {stop}", file=sys.stderr)
        return stop.exit_code
    return 0


def _parser() -> _Parser:
    parser = _Parser(
        prog=PROGRAM,
        description="Write what a crawl with DEDUP_FEEDBACK has learned about URLs: rules for duplicate-url-discarder, "
        "and a table with the evidence.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--from", dest="jobdir", required=True, type=Path, metavar="JOBDIR", help="the JOBDIR of the crawl"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("dedup-rules.json"),
        metavar="FILE",
        help="file for the rules; the table is written next to it, as .csv (default: dedup-rules.json)",
    )
    return parser


def _write(options: argparse.Namespace) -> None:
    rules_file, table_file = options.out, options.out.with_suffix(".csv")
    if rules_file == table_file:
        raise UsageError(f"--out {rules_file}: the table is written to that name; name a file that ends in .json")
    source = options.jobdir / FILE
    try:
        known = read_known(source)
    except (OSError, ValueError) as error:
        raise UsageError(f"{source}: {error}; name the JOBDIR of a crawl of this version that has ended") from error
    if known is None:
        raise UsageError(f"{source}: no such file; name the JOBDIR of a crawl with DEDUP_FEEDBACK that has ended")
    rules = rules_of(known.variations)
    try:
        with replaced(rules_file) as beside:
            beside.write_text(json.dumps(list(rules.values()), indent=2, sort_keys=True) + "\n", encoding="utf-8")
        with replaced(table_file) as beside, beside.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([HEADINGS, *rows_of(known.variations)])
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}; name a file that can be written by --out") from error
    print(
        f"{rules_file}: {counted(len(rules), 'rule')}; {table_file}: the evidence, also for variations that gave no "
        "rule"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
