"""Labelled pairs and methods → the calls of each method, how right they are, and its costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from worker.evaluate.kept_by_method import Collection, Parsers, collect
from worker.evaluate.labels.labelled import Labelled, Pair
from worker.evaluate.load import block_load, unrelated
from worker.evaluate.methods import FAR, Call, Method, OfWorker
from worker.evaluate.scores import Counts, tally
from worker.fingerprint.fingerprinter import Recipe
from worker.page.extract import Extractor
from worker.page.main_text.content import main_content

LOADED_TOKENS: Final = 30
"""Block load is measured on texts of this many tokens: short ones are unlike each other, and would hide it."""


@dataclass(frozen=True)
class Result:
    """One method on all pairs. ``calls`` are in the order of the pairs; ``microseconds`` is CPU time a page from its
    text on, ``kept_bytes`` are the bytes that the method keeps of a page, both on average."""

    method: Method
    calls: tuple[Call, ...]
    counts: Counts
    microseconds: float
    kept_bytes: float


@dataclass(frozen=True)
class Evaluation:
    """All methods on all pairs. ``tokens`` are of each pair's longer side; ``load`` is the block load by language."""

    labelled: Labelled
    collection: Collection
    tokens: tuple[int, ...]
    results: tuple[Result, ...]
    load: Mapping[str, float]

    def predictions(self) -> Iterator[dict[str, Any]]:
        """An object a pair and method."""
        for result in self.results:
            for pair, call in zip(self.labelled.pairs, result.calls, strict=True):
                yield {"method": result.method.name, "a": pair.a, "b": pair.b, **call._asdict()}


def evaluate(
    labelled: Labelled,
    recipe: Recipe,
    methods: Sequence[Method],
    parsers: Parsers,
    extractor: Extractor = main_content,
) -> Evaluation:
    """Parse every document once, and let every method call every pair.

    Raises:
        UsageError, Unavailable: parsers cannot be started.
    """
    collection = collect(labelled.documents, labelled.field, recipe, methods, parsers, extractor)
    pairs = labelled.pairs
    tokens = tuple(pair.tokens if pair.tokens is not None else collection.tokens(*pair.keys) for pair in pairs)
    results = []
    for method in methods:
        calls = tuple(called(method, collection, pair) for pair in pairs)
        counts = tally(pairs, tokens, [call.near for call in calls])
        seconds, kept_bytes = collection.seconds(method), collection.kept_bytes(method)
        results.append(Result(method, calls, counts, seconds * 1e6, kept_bytes))
    return Evaluation(labelled, collection, tokens, tuple(results), _load(labelled, collection, methods))


def called(method: Method, collection: Collection, pair: Pair) -> Call:
    """The method's call on a pair; far if one side could not be read."""
    a, b = (collection.of(key, method) for key in pair.keys)
    return FAR if a is None or b is None else method.call(a, b)


def _load(labelled: Labelled, collection: Collection, methods: Sequence[Method]) -> dict[str, float]:
    """By language, for the first method that has fingerprints of 64 bits. Equal texts count once, paired or not."""
    method = next((method for method in methods if isinstance(method, OfWorker)), None)
    if method is None:
        return {}
    by_language: dict[str, list[int]] = {}
    texts: set[int] = set()
    in_order = [key for key in labelled.documents if key in collection.kept]  # not as processes finished
    for key in unrelated(in_order, labelled.pairs):
        page = collection.of(key, method)
        is_long = page.fingerprint is not None and collection.kept[key].tokens >= LOADED_TOKENS
        if is_long and page.text_hash not in texts:
            texts.add(page.text_hash)
            by_language.setdefault(labelled.documents[key].language, []).append(page.fingerprint)
    loads = {language: block_load(fingerprints) for language, fingerprints in sorted(by_language.items())}
    return {language: load for language, load in loads.items() if load is not None}
