"""The file in the ``JOBDIR`` that holds a crawl's evidence on groups and variations.

The crawl works without it: a crawl that loses the file learns anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, replace
from pathlib import Path
from typing import Final, NamedTuple

from crawler_plugin.feedback.evidence import GroupCounts
from crawler_plugin.feedback.variation_evidence import KindEvidence, VariationEvidence, VariationKind
from crawler_plugin.wire.files import replaced

FILE: Final = "dedup.feedback"
FORM: Final = 2
"""The form of the file. Raise it when the content changes its meaning; files of another form are refused."""


class Known(NamedTuple):
    """A crawl's evidence on groups and variations."""

    groups: Mapping[str, GroupCounts]
    variations: VariationEvidence

    @property
    def of_an_earlier_crawl(self) -> Known:
        """The same knowledge for another crawl, which has made no request yet."""
        return self._replace(groups={name: replace(counts, fetched=0) for name, counts in self.groups.items()})


def read_known(path: Path) -> Known | None:
    """The file's content; None where there is no file.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is damaged, or of another form.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        told = json.loads(text)
        if told["form"] != FORM:
            raise ValueError(f"form {told['form']!r}, not {FORM}")
        variations = VariationEvidence()
        for site, name, *evidence in told["variations"]:
            variations.put(VariationKind(str(site), str(name)), _evidence(*evidence))
        return Known({str(group): _counts(*numbers) for group, *numbers in told["groups"]}, variations)
    except (LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"it is damaged ({type(error).__name__}: {error})") from error


def write_known(path: Path, groups: Iterable[tuple[str, GroupCounts]], variations: VariationEvidence) -> None:
    """Replace the file, whole or not at all.

    Raises:
        OSError: the file cannot be written.
    """
    told = {
        "form": FORM,
        "groups": [(group, *astuple(counts)) for group, counts in groups],
        "variations": [
            (*kind, seen.same, seen.different, sorted(seen.pages), sorted(seen.values), seen.examples)
            for kind, seen in variations
        ],
    }
    with replaced(path) as beside:
        beside.write_text(json.dumps(told), encoding="utf-8")


def _evidence(
    same: int, different: int, pages: list[str], values: list[str], examples: list[list[str]]
) -> KindEvidence:
    are_counts = all(type(number) is int and number >= 0 for number in (same, different))
    are_texts = all(type(text) is str for text in (*pages, *values))
    if not (are_counts and are_texts and len(pages) <= same):
        raise ValueError("it is damaged")
    return KindEvidence(same, different, set(pages), set(values), [(str(url), str(base)) for url, base in examples])


def _counts(new: float, copies: float, verdicts: int, found: int, fetched: int) -> GroupCounts:
    are_whole = all(type(number) is int and number >= 0 for number in (verdicts, found, fetched))
    has_weight = new + copies > 0
    if not (are_whole and new >= 0 and copies >= 0 and has_weight == (verdicts > 0)):
        raise ValueError("it is damaged")
    return GroupCounts(float(new), float(copies), verdicts, found, fetched)
