"""``python -m worker switch --from GENERATION``: the outputs pass to the generation that the settings name."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from crawler_plugin.wire.topics import PAGES
from worker.compose.topology import cluster, specs
from worker.config.generations import in_generation
from worker.operations.switch import Generation, Passing, plan_switch, switch
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.topic_admin import compare_topics
from worker.stream.preflight import check_topics

if TYPE_CHECKING:
    from worker.config import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "For other settings side by side with those in force: workers with a topics.generation of their own and "
        "output.mode=count have judged the same pages. Stop them, then stop the workers of the old generation, both "
        "with SIGTERM; after this command start the new ones with another output.mode. Over both generations each "
        "page then goes out once. Refuses (exit code 4) where that cannot be. Run again, it changes nothing more."
    )
    parser.add_argument(
        "--from",
        dest="old",
        metavar="GENERATION",
        required=True,
        help="the generation that writes now; '' where topics.generation was never set",
    )


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """0 if the new generation writes from now on.

    Raises:
        Refused: workers are running, or pages would be written twice or not at all; the message says what to do.
        Unavailable: the broker or a topic is not there, or a transaction is pending.
    """
    settings = load()
    check_topics(compare_topics(client_options(settings.kafka), specs(settings)))
    before = in_generation(settings, arguments.old)
    with cluster(before) as there, cluster(settings) as here:
        old = Generation(before.topics.generation, there)
        new = Generation(settings.topics.generation, here)
        passings = plan_switch(old, new, range(settings.topics.partitions))
        print("\n".join(borders(passings)))
        switch(old, new, passings)
    print(f"{new.shown} writes from there on: start its workers with an output.mode other than count")
    return 0


def borders(passings: Sequence[Passing]) -> Iterator[str]:
    """Where each partition passes."""
    for passing in passings:
        yield (
            f"partition {passing.partition} of {PAGES}: from offset {passing.border} on; "
            f"{passing.behind} pages before it are still to be counted"
        )
