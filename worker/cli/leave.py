"""``python -m worker leave NAME``: a worker that does not come back gives up its places in its groups."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from crawler_plugin.wire.errors import CheckFailed
from crawler_plugin.wire.topics import group_names
from worker.compose.topology import cluster

if TYPE_CHECKING:
    from worker.config import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "When a worker with a kafka.instance_id ends, the others wait for it until kafka.session_timeout_seconds are "
        "over, and verdicts wait, too, unless its shards have a second holder. This command ends the wait: the others "
        "take over what it owned at once. Use it for a worker that was killed or stopped and will not be started "
        "again. A worker that runs joins again within seconds: send it SIGUSR1 instead of SIGTERM, and it leaves when "
        "it has drained. Exit code 1 if no worker has that name."
    )
    parser.add_argument("names", nargs="+", metavar="NAME", help="kafka.instance_id of a worker; a pod's name")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """0 if all of them were there and are not any more.

    Raises:
        CheckFailed: a group has no member of a name; those before it have left.
        UsageError: the broker refuses.
        Unavailable: the broker is not there.
    """
    settings = load()
    groups = " and ".join(group_names(settings.kafka.group, settings.topics.generation))
    with cluster(settings) as broker:
        for name in arguments.names:
            was_there, had_stopped = broker.leave(name)
            if not was_there:
                raise CheckFailed(
                    f"no worker {name!r} is in {groups} now; workers with a kafka.instance_id: "
                    f"{', '.join(broker.named()) or 'none'}: check the name, and kafka.group and topics.generation"
                )
            print(f"{name} has left {groups}: the others take over what it owned")
            if not had_stopped:
                print(
                    f"{name} had not said that it stopped: if it runs, it joins again within seconds. To make it leave "
                    "at its end, stop it with SIGUSR1"
                )
    return 0
