"""An evaluation for people, as tables in plain text or Markdown, and for programs, as one object."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePath
from typing import Any, Final

from worker.evaluate.evaluation import Evaluation, Result
from worker.evaluate.labels.labelled import Label
from worker.evaluate.scores import EDITED, OVERALL, Counts, Group, Share, false_positives, recall
from worker.terminal import aligned

_NOTHING: Final = "–"


@dataclass(frozen=True)
class Table:
    """``rows`` have as many cells as ``head``; the first column is text, the others are figures."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def as_text(self) -> str:
        """Columns aligned for a terminal."""
        lines = aligned([self.head, *self.rows], right=range(1, len(self.head)), indent="  ")
        return "\n".join([self.title, *lines])

    def as_markdown(self) -> str:
        """A table under its title."""
        rule = ["---", *["---:"] * (len(self.head) - 1)]
        rows = ["| " + " | ".join(line) + " |" for line in (self.head, rule, *self.rows)]
        return "\n".join([f"**{self.title}**", "", *rows])


def tables(evaluation: Evaluation) -> list[Table]:
    """Overall; then recall and false positives group by group."""
    results = evaluation.results
    found = [_overall(evaluation)]
    kinds: tuple[tuple[str, Label, Callable[[Counts, Group], Share]], ...] = (
        ("Found of the pairs labelled near-duplicates", 1, recall),
        ("Called near-duplicates of the other pairs", 0, false_positives),
        ("Called near-duplicates of the pairs without a label", None, _unlabelled),
    )
    for title, label, of in kinds:
        rows = _rows_by_group(results, label, of)
        if rows:
            found.append(Table(title, ("group", "pairs", *(result.method.name for result in results)), rows))
    return found


def summary(evaluation: Evaluation) -> str:
    """The subject of the evaluation, in a sentence or two."""
    labelled, collection = evaluation.labelled, evaluation.collection
    count = {label: sum(pair.label == label for pair in labelled.pairs) for label in (1, 0, None)}
    said = (
        f"{labelled.field}: {len(labelled.documents):,} documents, {count[1]:,} pairs labelled near-duplicates, "
        f"{count[0]:,} other pairs, {count[None]:,} without a label"
    )
    if labelled.left_out:
        said += f"; {labelled.left_out:,} pairs left out, as a side has no {labelled.field}"
    if collection.unreadable:
        key, error = next(iter(collection.unreadable.items()))
        said += f"; {len(collection.unreadable):,} documents unreadable, near to nothing (the first: {key}, {error})"
    if evaluation.load:
        loads = ", ".join(f"{load:.1f} times in {language or '?'}" for language, load in evaluation.load.items())
        said += f".\nBlock load, fullness of 16-bit blocks compared with random fingerprints: {loads}"
    if labelled.field == "html":
        said += f".\nTaking the text out: {collection.extraction_seconds() * 1e6:,.0f} µs of CPU time a page"
    return said + "."


def as_object(evaluation: Evaluation, circumstances: Mapping[str, Any]) -> dict[str, Any]:
    """Everything except the single calls, as plain values for JSON, after the ``circumstances``."""
    labelled, collection = evaluation.labelled, evaluation.collection
    return {
        **circumstances,
        "field": labelled.field,
        "documents": len(labelled.documents),
        "pairs": {_name(label): sum(pair.label == label for pair in labelled.pairs) for label in (1, 0, None)},
        "pairs_left_out": labelled.left_out,
        "unreadable": {key: str(error) for key, error in sorted(collection.unreadable.items())},
        "extraction_microseconds": round(collection.extraction_seconds() * 1e6, 1),
        "block_load": {language: round(load, 2) for language, load in evaluation.load.items()},
        "methods": {result.method.name: _method(result) for result in evaluation.results},
    }


def _method(result: Result) -> dict[str, Any]:
    counts = result.counts
    return {
        "recall": _share(recall(counts)),
        "recall_edited": _share(recall(counts, EDITED)),
        "false_positives": _share(false_positives(counts)),
        "microseconds_a_page": round(result.microseconds, 1),
        "bytes_a_page": round(result.kept_bytes, 1),
        "groups": [
            {"dimension": dimension, "group": name, **{_name(label): _share(share) for label, share in shares.items()}}
            for (dimension, name), shares in counts.items()
        ],
    }


def _share(share: Share) -> dict[str, Any]:
    low, high = share.interval
    value = None if math.isnan(share.value) else round(share.value, 6)
    return {"called": share.hits, "of": share.of, "share": value, "low": round(low, 6), "high": round(high, 6)}


def _name(label: Label) -> str:
    return "unlabelled" if label is None else ("other", "near_duplicate")[label]


def _overall(evaluation: Evaluation) -> Table:
    head = ("method", "recall", "95 % interval", "of edited", "false positives", "rate at most", "µs a page", "bytes")
    rows = []
    for result in evaluation.results:
        every, false = recall(result.counts), false_positives(result.counts)
        low, high = every.interval
        rows.append(
            (
                result.method.name,
                _figure(every),
                f"{low:.3f}–{high:.3f}" if every.of else _NOTHING,
                _figure(recall(result.counts, EDITED)),
                f"{false.hits:,} of {false.of:,}" if false.of else _NOTHING,
                f"{false.interval[1]:.1e}" if false.of else _NOTHING,
                f"{result.microseconds:,.0f}",
                f"{result.kept_bytes:,.0f}",
            )
        )
    return Table("All pairs", head, tuple(rows))


def _rows_by_group(
    results: Sequence[Result], label: Label, of: Callable[[Counts, Group], Share]
) -> tuple[tuple[str, ...], ...]:
    listed = [group for group, shares in results[0].counts.items() if label in shares] if results else []
    if label == 0:
        listed = [group for group in listed if group != EDITED]  # unrelated texts are never equal
    rows = []
    for dimension, groups in groupby(listed, key=lambda group: group[0]):
        for group in groups:
            name = (
                group[1]
                if group == OVERALL or dimension in ("overall", "language and length")
                else (f"{dimension} {group[1]}")
            )
            shares = [of(result.counts, group) for result in results]
            cells = (f"{share.hits:,}" if label == 0 else _figure(share) for share in shares)
            rows.append((name, f"{shares[0].of:,}", *cells))
    return tuple(rows)


def _unlabelled(counts: Counts, group: Group) -> Share:
    return counts.get(group, {}).get(None, Share(0, 0))


def _figure(share: Share) -> str:
    if not share.of:
        return _NOTHING
    return f"{share.value:.4f}" if share.of >= 1000 else f"{share.value:.3f}"


def as_markdown(evaluation: Evaluation, machine: str, pictures: Sequence[str]) -> str:
    """Summary, where it was measured, tables, and the ``pictures`` next to the file."""
    parts = [
        f"# Recall and false positives by {evaluation.labelled.field}",
        summary(evaluation),
        f"Measured on {machine}.",
        *(table.as_markdown() for table in tables(evaluation)),
        *(f"![Recall and false positives of {PurePath(name).stem}]({name})" for name in pictures),
    ]
    return "\n\n".join(parts) + "\n"
