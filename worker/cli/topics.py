"""``python -m worker topics create|check|delete``: makes the topics, compares them and their pages with what is
required, and deletes a generation's topics."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import CheckFailed, UsageError
from crawler_plugin.wire.topics import ALL, OF_CRAWLS, PAGES, TopicSpec, group_names, topic_name
from worker.compose.topology import cluster, specs
from worker.config.generations import in_generation
from worker.operations.switch import Generation, refuse_running
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.topic_admin import (
    MISSING,
    Difference,
    alter_topics,
    compare_topics,
    create_topics,
    delete_topics,
)
from worker.terminal import aligned

if TYPE_CHECKING:
    from worker.config import Settings

CREATE: Final = "create"
CHECK: Final = "check"
DELETE: Final = "delete"
_FAULTS_SHOWN: Final = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "create: makes the topics that are missing; says where those that exist differ from the settings (exit code "
        "1) and leaves them as they are without --alter-config. check: only compares; with --sample it also says what "
        "is wrong with the pages that producers sent last. delete: removes the index, the logs and the outputs of one "
        "generation and its consumer groups, for ever; never pages and jobs."
    )
    parser.add_argument("action", choices=(CREATE, CHECK, DELETE), help="what to do")
    parser.add_argument(
        "--generation",
        metavar="NAME",
        help="with delete: the generation, whatever the settings say; '' if topics.generation was never set",
    )
    parser.add_argument(
        "--sample",
        type=int,
        metavar="N",
        help="with check: also check that the last records of pages, about N, are as pages must be (exit code 1 if "
        "not)",
    )
    parser.add_argument(
        "--alter-config",
        action="store_true",
        help="with create: also give existing topics the wanted settings (retention, sizes, cleanup), and pages and "
        "outputs the partitions that they lack, for good; never the logs and the index",
    )


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """0 if the topics are as wanted.

    Raises:
        CheckFailed: they differ; the message names each difference and the next move.
        UsageError: ``check`` was asked to alter, or the broker refuses what the settings require.
        Unavailable: the broker is not there.
    """
    if arguments.alter_config and arguments.action != CREATE:
        raise UsageError("--alter-config changes topics and check only looks: use topics create --alter-config")
    if (arguments.action == DELETE) != (arguments.generation is not None):
        raise UsageError("delete needs --generation NAME, create and check take it from the setting topics.generation")
    if arguments.sample is not None and (arguments.action != CHECK or arguments.sample < 1):
        raise UsageError("--sample N goes with check, and N is at least 1")
    settings = load()
    if arguments.action == DELETE:
        return _delete(in_generation(settings, arguments.generation))
    options = client_options(settings.kafka)
    wanted = specs(settings)
    created: list[str] = []
    altered: list[Difference] = []
    if arguments.action == CREATE:
        created = create_topics(options, wanted, settings.topics.replication_factor)
    differences = compare_topics(options, wanted)
    if differences and arguments.action == CREATE and arguments.alter_config:
        altered = alter_topics(options, differences)
        differences = compare_topics(options, wanted)
    print(table(wanted, differences, created=created, altered={difference.topic for difference in altered}))
    if differences:
        raise CheckFailed(
            "the topics are not as the settings say:\n"
            + "\n".join(f"  {difference}" for difference in differences)
            + "\n"
            + "\n".join(next_moves(differences))
        )
    if arguments.sample is not None:
        _check_pages(settings, arguments.sample)
    return 0


def _check_pages(settings: Settings, count: int) -> None:
    topics = settings.topics
    with cluster(settings) as broker:
        # What knows of pages takes a second to import.
        from worker.operations.page_sample import faults_of, last_records

        sample = last_records(broker, topics.partitions, count)
        found = [list(faults_of(record, topics.max_message_bytes)) for record in sample]
    name = topic_name(topics.prefix, PAGES)
    if not found:
        raise CheckFailed(f"{name} has no record: send some pages, and check again")
    print(f"{counted(len(found), 'record')} of {name} read")
    faults = [fault for of_record in found for fault in of_record]
    if faults:
        more = f"\n  and {len(faults) - _FAULTS_SHOWN:,} more" if len(faults) > _FAULTS_SHOWN else ""
        raise CheckFailed(
            f"{sum(map(bool, found)):,} of them are not as pages must be:\n"
            + "\n".join(f"  {fault}" for fault in faults[:_FAULTS_SHOWN])
            + f"{more}\nMend the program that sends them: docs/reference/pages.asyncapi.yaml says how a page is sent. "
            "Check again when new ones have come"
        )


def _delete(settings: Settings) -> int:
    with cluster(settings) as groups:
        refuse_running(Generation(settings.topics.generation, groups))
    topics = settings.topics
    names = [topic_name(topics.prefix, topic, topics.generation) for topic in ALL if topic not in OF_CRAWLS]
    groups_too = group_names(settings.kafka.group, settings.topics.generation)
    deleted = delete_topics(client_options(settings.kafka), names, groups_too)
    print("\n".join(f"deleted {name}" for name in deleted) or "there is nothing to delete")
    return 0


def table(
    wanted: Sequence[TopicSpec],
    differences: Sequence[Difference],
    *,
    created: Collection[str] = (),
    altered: Collection[str] = (),
) -> str:
    """A line for each topic: name, partitions, cleanup policy, state."""
    rows = [("topic", "partitions", "cleanup", "state")]
    for spec in wanted:
        state = _state(spec.name, differences, created=created, altered=altered)
        rows.append((spec.name, str(spec.partitions), spec.config["cleanup.policy"], state))
    return "\n".join(aligned(rows))


def next_moves(differences: Sequence[Difference]) -> Iterator[str]:
    """What to do about the differences, a sentence for each kind."""
    if any(difference.what == MISSING for difference in differences):
        yield "To make the missing topics: python -m worker topics create"
    if any(difference.what != MISSING and not difference.move for difference in differences):
        yield "To set what differs: python -m worker topics create --alter-config"
    yield from dict.fromkeys(difference.move for difference in differences if difference.move)


def _state(name: str, differences: Sequence[Difference], *, created: Collection[str], altered: Collection[str]) -> str:
    whats = [difference.what for difference in differences if difference.topic == name]
    if MISSING in whats:
        return "missing"
    if whats:
        return "differs: " + ", ".join(whats)
    if name in created:
        return "created"
    return "altered" if name in altered else "as wanted"
