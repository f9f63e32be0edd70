"""Pages of few texts under few titles of few sites, so that all collide, for tests of ``ScopedNear``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.fingerprint.definition.sketch import bands, sketch
from tests.index.test_accurate import ENDLESS
from tests.index.worlds import flipped
from tests.simulation.plain_index import PlainIndex
from worker.index.entries import Survivor
from worker.index.queries import Queries
from worker.index.shard import Shard

_TEXTS = [ENDLESS[start : start + count] for start in (0, 2, 90) for count in (9, 49, 50, 62)]
_SKETCHES = [(sketch(text), bands(text)) for text in _TEXTS]
_PRINTS = (0, 2**64 - 1, 0x0123_4567_89AB_CDEF)


def pages_of(chance: np.random.Generator, count: int, *, hot: float = 0.3) -> list[Survivor]:
    """Pages without order; a share of ``hot`` has one text, with different sites, titles and doubts."""
    pages = []
    for _ in range(count):
        of_one = chance.random() < hot
        text = 3 if of_one else int(chance.integers(0, len(_TEXTS)))
        flips = [] if of_one else chance.choice(64, int(chance.integers(0, 4)), replace=False).tolist()
        own_sketch, own_bands = _SKETCHES[text]
        tokens = len(_TEXTS[text])
        pages.append(
            Survivor(
                order=(0, 0),
                url="",
                fingerprint=None if chance.random() < 0.15 else flipped(_PRINTS[text % 3], flips),
                text_hash=text % 5,
                tokens=tokens if chance.random() < 0.8 else int(chance.choice([0, 49, 50])),
                fetched=0,
                sketch=b"" if chance.random() < 0.2 else own_sketch,
                bands=b"" if chance.random() < 0.2 else own_bands,
                scope=int(chance.choice([0, 0, 1, 2**63 + 5])),
                site=int(chance.choice([0, 1, 2, 2**32 - 1])),
                title=int(chance.choice([0, 2, 4, 7, 2**32 - 1])),
                title_words=int(chance.choice([0, 0b111, 0b1110, 0b11100, 2**63 + 1])),
                doubt=int(chance.choice([0, 0, 1, 1, 2])),
            )
        )
    return pages


def placed(pages: Sequence[Survivor], batch: int) -> list[Survivor]:
    """The pages as survivors of one batch."""
    return [page._replace(order=(batch, place), url=f"http://{batch}/{place}") for place, page in enumerate(pages)]


def said(index: Shard | PlainIndex, asked: Sequence[Survivor], expired_up_to: int = -1) -> list[object]:
    """The results of an index without slots, which differ."""
    found = index.earliest_near(Queries.of(asked), expired_up_to)
    return [
        (query, found.order(query), found.distance_of(query), found.reason(query), index.url(found.slot(query)))
        for query in found.hits()
    ]
