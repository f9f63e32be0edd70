"""The causes of changed bits, slots and bands, and the rule that decided, as plain values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from worker.fingerprint.conditions import NearRule
from worker.results.explain.causes import Causes


def rule_objects(rules: Sequence[NearRule]) -> list[dict[str, Any]]:
    """The rules in their order, each with its conditions."""
    return [
        {"rule": rule.name, "holds": rule.holds, "conditions": [condition._asdict() for condition in rule.conditions]}
        for rule in rules
    ]


def cause_object(causes: Causes | None) -> dict[str, Any] | None:
    """Bits with the features that moved them; n-grams with the slots and bands that they hold in one text alone."""
    if causes is None:
        return None
    return {
        "shown_with_different_things": causes.shown,
        "bits": [bit._asdict() | {"by": [share._asdict() for share in bit.by]} for bit in causes.bits],
        "slots": causes.slots,
        "bands": causes.bands,
        "bands_of_other_lengths": causes.lengths,
        "ngrams": [place._asdict() for place in causes.places],
    }
