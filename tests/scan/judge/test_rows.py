"""Verdicts made column by column equal verdicts made one by one."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from crawler_plugin.wire.messages import Claim
from crawler_plugin.wire.urls import id_of_url
from tests.scan.judge.test_claims import records_of
from worker.compose import parts
from worker.compose.step import policy
from worker.config import Settings
from worker.local.deduplicator import alone
from worker.local.single_shard import SingleShard
from worker.scan.judge.claims import claims_of
from worker.scan.judge.rows import verdict_rows
from worker.stream.shard.memory_limit import MemoryLimit
from worker.verdict.told import told


def claims(chance: random.Random, count: int) -> list[Claim]:
    """Claims of texts that are equal, near or neither, at URLs of which some repeat, with dead and bare claims in
    between."""
    texts = [(chance.getrandbits(64), chance.randbytes(32), chance.randbytes(32)) for _ in range(9)]
    found = []
    for number in range(count):
        code, sketch, bands = chance.choice(texts)
        bare = chance.random() < 0.2
        found.append(
            Claim(
                partition=0,
                offset=number,
                clock=number,
                url=f"http://{chance.randint(1, 2)}.example/{chance.randint(1, 4)}",
                fingerprint=None if bare else code ^ (1 << chance.randint(0, 63) if chance.random() < 0.5 else 0),
                text_hash=chance.choice((code, chance.getrandbits(64))),
                tokens=chance.randint(90, 110),
                language="zh",
                dead=chance.choice((None,) * 9 + ("timeout", "bad-url: no host")),
                sketch=b"" if bare else sketch,
                bands=b"" if bare else bands,
                title=2 * chance.randint(0, 3) + 1 % chance.randint(1, 2),
                site=chance.randint(1, 3),
            )
        )
    return found


def as_strings(numbers: NDArray[np.int64]) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


@pytest.mark.parametrize("near", [{}, {"predicate": "simhash"}, {"track_changes": True}])
@pytest.mark.parametrize("sizes", [[60], [7, 20, 33]])
def test_they_are_the_same_for_any_batches(near: dict[str, object], sizes: Sequence[int]) -> None:
    settings = alone(Settings.model_validate({"near": near}))
    scheme = parts.scheme(settings, parts.recipe(settings))
    shard = SingleShard(policy(settings, scheme, b"w" * 8), parts.new_index(settings), MemoryLimit())
    sketched = settings.near.predicate == "accurate"
    rows, kinds = claims(random.Random(5), 60), set()
    for size in sizes:
        batch, rows = rows[:size], rows[size:]
        records = records_of(batch)
        decided = shard.decide(claims_of(records, shard.judged, 0, sketched=sketched))
        urls = pa.array([row.url for row in claims(random.Random(5), 60)])
        shard.take(decided)
        found = verdict_rows(records, decided.decisions, urls.take, as_strings, None).to_pylist()
        assert len(found) == size
        for row, decision in zip(found, decided.decisions, strict=True):
            one, original = told(decision), decision.original
            expected = one.having(
                file="f",
                id="i",
                fetched=decision.claim.clock,
                duplicate_of_id=None if original is None else str(sum(original.order)),
                suspect=False,
            )
            assert row == {name: getattr(expected, name) for name in row} | {"canonical": None}
            assert id_of_url(row["url"]) is None
            kinds.add((row["verdict"], row["reason"]))
    assert {"unique", "duplicate", "refetch", "dead"} == {verdict for verdict, _ in kinds}
    assert len(kinds) > 5
