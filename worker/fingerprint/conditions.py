"""The predicates of ``worker.fingerprint.near`` in parts: which condition of which rule two records meet."""

from __future__ import annotations

from typing import NamedTuple

from worker.fingerprint.near import (
    EXACT_TEXT,
    HAMMING,
    SKETCH,
    AccurateNear,
    NearRecord,
    Ratio,
    SimHashNear,
    SketchedRecord,
)
from worker.fingerprint.scoped import TEMPLATE, ScopedNear, TitledRecord, alike
from worker.fingerprint.sketch import BANDS, SLOTS, agreement, as_keys, similarity


class Condition(NamedTuple):
    """The demand of a rule, the value that was found, and whether it meets the demand."""

    asks: str
    found: str
    holds: bool


class NearRule(NamedTuple):
    """A rule that holds if all its conditions are met. ``name`` is a verdict's reason."""

    name: str
    conditions: tuple[Condition, ...]

    @property
    def holds(self) -> bool:
        """Whether the two records are near by this rule alone."""
        return all(condition.holds for condition in self.conditions)


def rules(near: SimHashNear | AccurateNear, a: TitledRecord, b: TitledRecord) -> tuple[NearRule, ...]:
    """The rules of the predicate in their order: two records are near if one of them holds, and the first that holds is
    the reason."""
    found = [_equal_texts(a, b) if a.fingerprint is None or b.fingerprint is None else _hamming(near, a, b)]
    if isinstance(near, AccurateNear):
        found.append(_sketch(near, a, b))
    told = _comparable(ScopedNear(near), a, b)
    return tuple(rule._replace(conditions=(*rule.conditions, told)) for rule in found)


def _comparable(near: ScopedNear, a: TitledRecord, b: TitledRecord) -> Condition:
    same_site = a.site == b.site != 0
    if a.title == b.title and a.title != 0:
        found = "they have no titles and show the same" if a.title & 1 else "their titles are the same"
    elif same_site:
        found = "one site, and "
        if a.doubt or b.doubt:
            found += "a text that its title does not announce, with another title"
        else:
            found += "titles alike" if alike(a.title_words, b.title_words) else "titles with different words"
    else:
        found = "two sites"
        if max(a.doubt, b.doubt) >= TEMPLATE:
            found += ", and one site has the text under several titles"
        elif a.doubt or b.doubt:
            found += f", and a text that its title does not announce; at least {near.least_across} tokens are needed"
    return Condition("by titles and sites, the texts are the pages' own", found, near.comparable(a, b))


def _equal_texts(a: NearRecord, b: NearRecord) -> NearRule:
    has = [one.fingerprint is not None for one in (a, b)]
    which = {(False, False): "neither has one", (True, False): "A has one", (False, True): "B has one"}[has[0], has[1]]
    equal = a.text_hash == b.text_hash
    return NearRule(
        EXACT_TEXT,
        (
            Condition("neither has a fingerprint", which, not any(has)),
            Condition("the texts are equal", "they are" if equal else "they are not", equal),
        ),
    )


def _hamming(near: SimHashNear | AccurateNear, a: SketchedRecord, b: SketchedRecord) -> NearRule:
    assert a.fingerprint is not None and b.fingerprint is not None
    distance = (a.fingerprint ^ b.fingerprint).bit_count()
    conditions = [
        Condition(f"at most {near.k} bits differ (near.k)", f"{distance}", distance <= near.k),
        _tokens(near.ratio, a, b),
    ]
    if isinstance(near, AccurateNear) and a.sketch and b.sketch and a.text_hash != b.text_hash:
        conditions.append(_agreement(near.hamming_threshold, a, b))
    return NearRule(HAMMING, tuple(conditions))


def _sketch(near: AccurateNear, a: SketchedRecord, b: SketchedRecord) -> NearRule:
    least, ratio = near.sketch_rule(a.tokens, b.tokens)
    common = int((as_keys([a.bands]) == as_keys([b.bands])).sum()) if a.bands and b.bands else 0
    return NearRule(
        SKETCH,
        (
            Condition("a band in common", f"{common} of {BANDS}", common > 0),
            _agreement(least, a, b),
            _tokens(ratio, a, b),
        ),
    )


def _agreement(least: int, a: SketchedRecord, b: SketchedRecord) -> Condition:
    found = agreement(a.sketch, b.sketch)
    told = f"{found}, a similarity of {min(1.0, max(0.0, similarity(found))):.2f}"
    return Condition(f"sketches agree in at least {least} of {SLOTS} slots", told, found >= least)


def _tokens(ratio: Ratio, a: NearRecord, b: NearRecord) -> Condition:
    asks = f"the shorter has at least {ratio.numerator}/{ratio.denominator} of the longer's tokens"
    return Condition(asks, f"{a.tokens} and {b.tokens}", ratio.allows(a.tokens, b.tokens))
