"""Whether both logs still hold all that a replay point needs: one rule for workers, ``inspect`` and ``repair``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from crawler_plugin.wire.errors import Refused, UnreadableRecord
from crawler_plugin.wire.messages import Batch, decode
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS
from worker.stream.log import Bounds, Log, Readable, read_to_end
from worker.stream.policy import COPIED, ReplayPoint


class Reach(Enum):
    """Whether a subscriber can read on from its replay point, in the words that ``inspect`` and ``repair`` print."""

    FINE = "readable"
    GONE = "gone"
    """Retention has removed a batch after it, or an answer that may be needed."""
    BEYOND = "beyond the logs' end"
    """A topic was made anew under the same name."""


@dataclass(frozen=True)
class Logs:
    fingerprints: Bounds
    answers: Bounds

    @property
    def whole(self) -> bool:
        """Nothing has been removed from either."""
        return self.fingerprints.begin == 0 and self.answers.begin == 0

    @property
    def end(self) -> ReplayPoint:
        """Where a reader that has read everything would read on."""
        return ReplayPoint(self.fingerprints.end, self.answers.end)


def logs_of(log: Readable) -> Logs:
    """As of now. Records that a copied index put before the first batch count as removed."""
    fingerprints = log.bounds(FINGERPRINTS, 0)
    return Logs(fingerprints._replace(begin=_behind_copy(log, fingerprints)), log.bounds(ANSWERS, 0))


def _behind_copy(log: Readable, bounds: Bounds) -> int:
    """The first offset of ``fingerprints`` whose record was not put there by a copy of an index."""
    for record in read_to_end(log.reader(FINGERPRINTS, 0, bounds.begin), bounds.end):
        try:
            if decode(Batch, record.value).scheme == COPIED:
                continue
        except (UnreadableRecord, Refused):
            pass
        return record.offset
    return bounds.end


def check_reach(logs: Logs, point: ReplayPoint) -> Reach:
    """Whether everything from a replay point on is there.

    The point of idle workers may be older than the answers that are kept: with no batch after the point, no answer is
    needed.
    """
    if point.batch > logs.fingerprints.end or point.answers_offset > logs.answers.end:
        return Reach.BEYOND
    answers_gone = point.answers_offset < logs.answers.begin and point.batch < logs.fingerprints.end
    return Reach.GONE if point.batch < logs.fingerprints.begin or answers_gone else Reach.FINE


def readable_point(log: Log, point: ReplayPoint, who: str) -> ReplayPoint:
    """Where to read both logs on for this replay point: at it, or after answers that are gone and not needed.

    Raises:
        Refused: a batch, or an answer that may be needed, is gone; ``who`` needs it.
    """
    logs = logs_of(log) if point.batch == 0 else Logs(log.bounds(FINGERPRINTS, 0), log.bounds(ANSWERS, 0))
    fingerprints, answers = logs.fingerprints, logs.answers
    reach = check_reach(logs, point)
    if reach is Reach.BEYOND:
        raise Refused(
            f"{who} stands at batch {point.batch}, answer {point.answers_offset}, but the logs end at "
            f"{fingerprints.end} and {answers.end}: a topic was made anew. Make all of them anew, or give the crawl a "
            "topics.prefix of its own"
        )
    if reach is Reach.GONE:
        raise Refused(
            f"{who} has to read on from batch {point.batch}, answer {point.answers_offset}, but the logs begin at "
            f"{fingerprints.begin} and {answers.begin}: the records between have passed their retention. Stop all "
            "workers and run `python -m worker repair --accept-gap`, which lists what was lost and moves the replay "
            "point"
        )
    return point._replace(answers_offset=max(point.answers_offset, answers.begin))
