"""The benchmark of the index reports correctly what each contender finds, whatever the speeds are."""

from __future__ import annotations

import pytest

from benchmarks import index, index_codes, index_contenders
from benchmarks.index_contenders import CONTENDERS
from crawler_plugin.wire.errors import UsageError


def installed() -> list[type[index_contenders.Contender]]:
    return index_contenders.chosen(None)[0]


@pytest.mark.parametrize("kind", CONTENDERS, ids=lambda kind: kind.name)
def test_every_contender_finds_what_is_within_three_bits_and_nothing_else(
    kind: type[index_contenders.Contender],
) -> None:
    if kind not in installed():
        pytest.skip(f"{kind.package} is not installed: pip install {kind.package}")
    codes = index_codes.crowded(3000, 0.2, 200)
    contender, filling = index.fill(kind, codes.stored)
    truth = index_codes.near_by_brute_force(codes.stored, codes.asked)
    assert 0.4 < truth.mean() < 0.9
    assert contender.finds(codes.asked).tolist() == truth.tolist()
    assert filling.adds > 0


def test_an_unknown_peer_is_refused_with_the_names_of_those_there_are() -> None:
    with pytest.raises(UsageError, match="'hammingbird', 'faiss-cpu', 'simhash', 'dicts of lists'"):
        index_contenders.chosen(["hamingbird"])
