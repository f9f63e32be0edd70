"""Texts → inverse document frequencies: the table that weights ``tf-idf`` need."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from crawler_plugin.wire.errors import UsageError
from worker.fingerprint.text_reader import TextReader
from worker.page.words.noise import NoiseWords


class DocumentFrequencies(NamedTuple):
    """For each token the number of documents that contain it, among the ``documents`` that have a token."""

    documents: int
    by_token: Counter[str]


class Rarity(NamedTuple):
    """One line of a table."""

    token: str
    idf: float


def count_documents(texts: Iterable[str], reader: TextReader, noise: NoiseWords) -> DocumentFrequencies:
    """Count the tokens that are features, without noise words. Equal texts count once: copies make nothing common."""
    found: Counter[str] = Counter()
    seen: set[frozenset[str]] = set()
    for text in texts:
        tokens = frozenset(noise.left_of(reader.tokens(text).words))
        if tokens and tokens not in seen:
            seen.add(tokens)
            found.update(tokens)
    return DocumentFrequencies(len(seen), found)


def table(counted: DocumentFrequencies, least: int = 2) -> list[Rarity]:
    """Tokens that occur in at least ``least`` documents, the most frequent first, with ln(documents / its documents).

    Manning, Raghavan, Schütze: Introduction to Information Retrieval, section 6.2.1. A token that is not in the table
    counts as rare as the rarest that is, so tokens of fewer documents need no line; a token of all has idf 0.

    Raises:
        UsageError: fewer than two different documents, or no token occurs in ``least`` of them.
    """
    if counted.documents < 2:
        raise UsageError(f"an idf table of {counted.documents} different documents says nothing; give more documents")
    listed = [(count, token) for token, count in counted.by_token.items() if count >= least]
    if not listed:
        raise UsageError(f"no word is in {least} of the {counted.documents} documents; give more, or a lower --least")
    listed.sort(key=lambda entry: (-entry[0], entry[1]))
    return [Rarity(token, math.log(counted.documents / count)) for count, token in listed]
