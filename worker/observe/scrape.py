"""Asks workers for their counts and for what they own, as Prometheus does."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Final, NamedTuple
from urllib.parse import urljoin, urlsplit

CLAIMED: Final = "dedup_batch_claims_sum"
COMMITTED: Final = "dedup_pages_total"
SHARD_STATE: Final = "dedup_shard_state"
SURVIVORS: Final = "dedup_index_entries"
PARTITION_STATE: Final = "dedup_partition_state"

_TIMEOUT_SECONDS: Final = 5.0
_SAMPLE: Final = re.compile(r"^(?P<name>[a-z_]+)(?:\{(?P<labels>[^}]*)\})? (?P<value>[0-9.e+-]+)", re.MULTILINE)
_LABEL: Final = re.compile(r'(?<![a-z_])([a-z_]+)="([^"]*)"')


class Sample(NamedTuple):
    """One line of an exposition."""

    name: str
    labels: dict[str, str]
    value: float


class WorkerShare(NamedTuple):
    """A worker's own statement: the shards for which it answers and the partitions from which it claims, in order.

    ``survivors`` are the pages that its shards hold, ``committed`` those whose verdict it has written.
    """

    shards: tuple[int, ...] = ()
    partitions: tuple[int, ...] = ()
    survivors: int = 0
    committed: int = 0


def samples(address: str) -> list[Sample]:
    """All values that a worker shows; none if it does not answer."""
    _, exposition = _get(address)
    return [
        Sample(found["name"], dict(_LABEL.findall(found["labels"] or "")), float(found["value"]))
        for found in _SAMPLE.finditer(exposition)
    ]


def summed(found: Iterable[Sample]) -> Counter[str]:
    """Values by metric, summed over labels."""
    sums: Counter[str] = Counter()
    for sample in found:
        sums[sample.name] += round(sample.value)
    return sums


def scrape(addresses: Iterable[str]) -> Counter[str]:
    """Values of all metrics, summed over labels and workers; a worker that does not answer adds nothing."""
    return summed(sample for address in addresses for sample in samples(address))


def share_of(found: Sequence[Sample]) -> WorkerShare:
    """One worker's share, as of its last look at itself, which it takes every second or two."""
    sums = summed(found)
    return WorkerShare(
        shards=_in_state(found, SHARD_STATE, "shard", "answering"),
        partitions=_in_state(found, PARTITION_STATE, "partition", "claiming"),
        survivors=sums[SURVIVORS],
        committed=sums[COMMITTED],
    )


def are_shared_out(shares: Sequence[WorkerShare], shards: int, partitions: int) -> bool:
    """Whether every shard and every partition has exactly one owner, and every worker has some of both."""
    return (
        sorted(number for share in shares for number in share.shards) == list(range(shards))
        and sorted(number for share in shares for number in share.partitions) == list(range(partitions))
        and all(share.shards and share.partitions for share in shares)
    )


def is_ready(address: str) -> bool:
    """Whether the worker with its metrics at this address does all of its own work."""
    status, _ = _get(urljoin(address, "/readyz"))
    return status == HTTPStatus.OK


def _in_state(found: Iterable[Sample], name: str, label: str, state: str) -> tuple[int, ...]:
    owned = (s.labels[label] for s in found if s.name == name and s.labels["state"] == state and s.value)
    return tuple(sorted(map(int, owned)))


def _get(address: str) -> tuple[int, str]:
    """Status and text, 0 and nothing if no answer comes; not by urllib, which would ask a proxy of the environment."""
    parts = urlsplit(address)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request("GET", parts.path)
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8", "replace")
    except (OSError, HTTPException):
        return 0, ""
    finally:
        connection.close()
