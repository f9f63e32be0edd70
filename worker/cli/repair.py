"""``python -m worker repair``: goes on after a gap, when records that workers would have to read are gone."""

from __future__ import annotations

import argparse
import re
import secrets
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import CheckFailed, UsageError
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, INDEX, PAGES
from worker.compose import parts
from worker.compose.step import policy
from worker.compose.topology import cluster, specs
from worker.operations.repair import PartitionPlace, Plan, Survey, barrier, carry_out, plan, refuse_superseded, survey
from worker.operations.skip import Spot, skip
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.topic_admin import compare_topics
from worker.stream.preflight import check_topics, page_partitions

if TYPE_CHECKING:
    from worker.config import Settings

NOTHING: Final = "nothing to repair: all workers can read on from where they stand"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Shows where each shard and each partition of pages would read on, what the topics still hold, and what is "
        "lost. Without --accept-gap nothing is changed; exit code 1 if there is a gap. With it, replay points and "
        "consumed offsets are moved behind the gap, and from then on everything is exact again. All workers must be "
        "stopped, also those that are paused. The first line names the topics and groups that are looked at; a "
        "generation that has given its outputs to another one is refused."
    )
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        type=spot,
        metavar="PARTITION:OFFSET",
        help="make this page a dead letter, unread; it must be its partition's next page that is not claimed; "
        "repeatable",
    )
    parser.add_argument("--accept-gap", action="store_true", help="accept the loss, so that workers can go on")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """0 if there is nothing to repair, or it was repaired, or the pages were skipped.

    Raises:
        UsageError: a page to be skipped is not the next one.
        CheckFailed: there is a gap, and it was not accepted; or there is a record that must not be decided.
        Refused: workers are running, another generation took this one's place, a topic was made anew, or the index
            contradicts itself.
        Unavailable: the broker or a topic is not there, or a transaction is pending.
    """
    settings = load()
    topics = settings.topics
    print(looked_at(settings), flush=True)
    options = client_options(settings.kafka)
    differences = compare_topics(options, specs(settings))
    check_topics(differences)
    partitions = page_partitions(topics.partitions, differences)
    rules = policy(settings, parts.scheme(settings, parts.recipe(settings)), secrets.token_bytes(8))
    if outside := [str(asked) for asked in arguments.skip if asked.partition not in partitions]:
        raise UsageError(f"{PAGES} has {len(partitions)} partitions, so there is no page {outside[0]}")
    with cluster(settings) as broker:
        refuse_superseded(broker, topics.generation, partitions, rules)
        if arguments.skip:
            for skipped in skip(broker, arguments.skip, rules):
                print(f"skipped {skipped}: start the workers, which write its dead letter")
            return 0
        surveyed = survey(broker, rules, partitions)
        planned = plan(surveyed, rules)
        print("\n".join(places(surveyed)))
        barred = barrier(broker, surveyed, rules)
        if planned.empty and barred is not None:
            raise CheckFailed(f"there is no gap, but all workers end at one record: {barred.refusal()}")
        if planned.empty:
            print(NOTHING)
            return 0
        print("\n".join(losses(planned)))
        if not arguments.accept_gap:
            raise CheckFailed(
                "there is a gap, and workers refuse to go on. To accept the losses listed above and go on behind it: "
                "stop all workers, then python -m worker repair --accept-gap"
            )
        carry_out(broker, planned, rules, partial(secrets.token_bytes, 16))
    print(
        f"repaired: {counted(len(planned.bridges), 'shard')} and "
        f"{counted(len(planned.moves), 'partition')} go on behind the gap"
    )
    return 0


def spot(text: str) -> Spot:
    """A page as it is named in ``dedup-source``."""
    found = re.fullmatch(r"(\d{1,9}):(\d{1,18})", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no PARTITION:OFFSET such as 3:17")
    return Spot(int(found[1]), int(found[2]))


def looked_at(settings: Settings) -> str:
    """The crawl and generation that the settings mean, among all on the broker."""
    topics, group = settings.topics, settings.kafka.group
    return f"topics.prefix={topics.prefix!r}, kafka.group={group!r}, topics.generation={topics.generation!r}"


def places(surveyed: Survey) -> Iterator[str]:
    """Where everything stands, compared with what is there."""
    logs = surveyed.logs
    yield f"{FINGERPRINTS} holds batches {_span(*logs.fingerprints)}, {ANSWERS} holds answers {_span(*logs.answers)}"
    for shard in surveyed.shards:
        batch, answer = shard.point
        yield f"shard {shard.shard} of {INDEX} reads on from batch {batch}, answer {answer}: {shard.reach.value}"
    for partition in surveyed.partitions:
        yield f"partition {partition.partition} of {PAGES}, which holds {_span(*partition.pages)}, " + _stand(partition)


def losses(planned: Plan) -> Iterator[str]:
    """The losses that cannot be recovered."""
    yield "lost:"
    if planned.annulled:
        first, last = planned.annulled[0], planned.annulled[-1]
        yield (
            f"  batches {first} to {last}: no shard has kept their decisions. Committed pages keep their verdicts, but "
            "no later page is compared with them; the others are judged anew"
        )
    for bridge in planned.bridges:
        for after, to in bridge.holes:
            yield f"  shard {bridge.shard}: survivors of batches {after + 1} to {to} that stand in no block"
    for move in planned.moves:
        if move.skipped:
            yield (
                f"  partition {move.partition} of {PAGES}: no verdict for {counted(len(move.skipped), 'page')} at "
                f"offsets {_span(move.skipped.start, move.skipped.stop)}; crawl them again"
            )
        else:
            yield f"  partition {move.partition} of {PAGES}: no page; it goes on at offset {move.committed.offset}"


def _stand(partition: PartitionPlace) -> str:
    point = partition.point
    if point is not None:
        where = (
            f"is consumed up to {partition.offset} and reads on from batch {point.batch}, answer {point.answers_offset}"
        )
        return f"{where}: {partition.reach.value}"
    if partition.committed is None and partition.offset == partition.pages.begin:
        return "has no consumed offset"
    return f"has no consumed offset that can be right; by the outputs it is committed up to {partition.offset}"


def _span(begin: int, end: int) -> str:
    """``end`` is the first offset that is not there."""
    return f"{begin} to {end - 1}" if begin < end else f"none (the next is {end})"
