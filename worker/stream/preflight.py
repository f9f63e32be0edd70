"""The checks before a worker begins: the topics are as agreed, and the logs were written with its scheme."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

from crawler_plugin.wire.errors import Refused, Unavailable, UnreadableRecord, UsageError
from crawler_plugin.wire.forgetting import Forget
from crawler_plugin.wire.messages import Batch, Block, decode, decode_claims
from crawler_plugin.wire.page_headers import Headers
from crawler_plugin.wire.topics import (
    DEAD_LETTERS,
    DEDUPLICATED,
    FINGERPRINTS,
    INDEX,
    INDEX_STANDBY,
    MAX_BYTES_CONFIG,
    OF_CRAWLS,
    TopicSpec,
)
from worker.stream.kafka.topic_admin import MISSING, MORE_PARTITIONS, PARTITIONS, Difference
from worker.stream.log import Log, NotYet, Readable, read_to_end
from worker.stream.partition.record_sizes import LEAST_BYTES
from worker.stream.policy import COPIED, LIVE_HEADER, Policy, other_scheme

VITAL: Final = (PARTITIONS, "cleanup.policy", "message.timestamp.type")
"""Differences with which a verdict could be wrong, or be gone before anyone has read it. Any other difference
(retention, sizes) is for the operator to decide, and is only logged."""

_log = logging.getLogger(__name__)


def check_topics(differences: Sequence[Difference]) -> None:
    """Judge the differences found by ``topic_admin.compare_topics``. Partitions that the setting leaves out only wait.

    Raises:
        Unavailable: a topic is missing.
        Refused: partitions, cleanup policy or time stamps are not as agreed.
    """
    if missing := [str(difference) for difference in differences if difference.what == MISSING]:
        raise Unavailable(f"{'; '.join(missing)}. Make the topics: python -m worker topics create")
    if vital := [difference for difference in differences if difference.what in VITAL]:
        set_right = "`python -m worker topics create --alter-config` sets what can be set"
        moves = dict.fromkeys(difference.move or set_right for difference in vital)
        raise Refused(
            f"{'; '.join(map(str, vital))}. Verdicts would not be exact, or would be removed too early. "
            f"{'. '.join(moves)}"
        )
    for difference in differences:
        if difference.move:
            _log.warning("%s. %s", difference, difference.move)
        else:
            _log.warning("%s; `python -m worker topics create --alter-config` sets it", difference)


def harmless_to_copy(difference: Difference) -> bool:
    """Whether the difference is only that someone gave a log or the index more partitions: the ones in use are
    unchanged."""
    return difference.what == PARTITIONS and int(difference.found or 0) > int(difference.wanted)


def page_partitions(setting: int, differences: Sequence[Difference]) -> range:
    """All partitions of ``pages``, including those that ``topics.partitions`` leaves out."""
    more = (int(found.found or 0) for found in differences if found.what == MORE_PARTITIONS)
    return range(max(setting, *more, 0))


class TopicLimits(NamedTuple):
    """The largest records that the topics accept now: the two logs and the index, and the outputs of pages."""

    logs: int
    outputs: int


def limits(specs: Sequence[TopicSpec], differences: Sequence[Difference]) -> TopicLimits:
    """The limits of the settings or, where a topic accepts less, of the topic.

    Raises:
        UsageError: a topic accepts so little that a verdict may not fit.
    """
    smaller = {found.topic: int(found.found) for found in differences if found.what == MAX_BYTES_CONFIG and found.found}
    logs: list[int] = []
    outputs: list[int] = []
    for spec in specs:
        if spec.topic in (*OF_CRAWLS, INDEX_STANDBY):
            continue  # no worker writes there
        most = min(int(spec.config[MAX_BYTES_CONFIG]), smaller.get(spec.name, 1 << 62))
        if most < LEAST_BYTES:
            raise UsageError(
                f"{spec.name} takes records of at most {most} bytes ({MAX_BYTES_CONFIG}), but verdicts may need "
                f"{LEAST_BYTES}: run `python -m worker topics create --alter-config`"
            )
        (outputs if spec.topic in (DEDUPLICATED, DEAD_LETTERS) else logs).append(most)
    return TopicLimits(min(logs), min(outputs))


def check_scheme(log: Log, policy: Policy) -> None:
    """Check that the log was written with the scheme of this worker and, if it is a copy, that it is whole.

    Raises:
        Refused: it is another scheme or not whole; the message says which setting differs.
    """
    found = _first_of(log, FINGERPRINTS, 0, decode_claims)
    if found is not None and found[0] == COPIED:
        # An index was copied here; then the group has consumed offsets, unless the copy was interrupted. Workers may
        # stand by where the index is copied from a generation that works.
        try:
            whole = LIVE_HEADER in dict(found[1]) or log.pages().committed(0) is not None
        except NotYet:  # a worker is active here
            whole = True
        if not whole and _first_of(log, FINGERPRINTS, 0, decode_claims, behind_copy=True) is None:
            raise other_scheme(policy, COPIED, (), FINGERPRINTS)
    check_scheme_from_outside(log, policy)


def check_scheme_from_outside(log: Readable, policy: Policy) -> bool:
    """Whether any page was judged. The log's scheme is that of its first batch or, if retention removed all batches,
    that of the index blocks.

    Raises:
        Refused: it is another scheme; the message says which setting differs.
    """
    found = _first_of(log, FINGERPRINTS, 0, decode_claims, behind_copy=True)
    shard = 0
    while found is None and shard < policy.shards:
        found = _first_of(log, INDEX, shard, partial(decode, Block))
        shard += 1
    if found is not None and found[0] != policy.scheme:
        raise other_scheme(policy, *found)
    return found is not None


def _first_of(
    log: Readable,
    topic: str,
    partition: int,
    read: Callable[[bytes | None], Batch | Forget | Block],
    *,
    behind_copy: bool = False,
) -> tuple[bytes, Headers, str] | None:
    """Scheme id, its words and the topic, from the first record that can be read; None if there is no such record.

    With ``behind_copy`` it skips the records that a copied index put there.
    """
    begin, end = log.bounds(topic, partition)
    for record in read_to_end(log.reader(topic, partition, begin), end):
        try:
            message = read(record.value)
        except UnreadableRecord:
            continue
        if not (behind_copy and message.scheme == COPIED):
            return message.scheme, record.headers, topic
    return None
