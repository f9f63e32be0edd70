"""``python -m worker index copy``: the index of a generation goes on in another one."""

from __future__ import annotations

import argparse
import secrets
from functools import partial
from pathlib import Path

from worker.cli import compose
from worker.cli.run import policy
from worker.cli.topology import cluster, specs
from worker.config import Settings, in_generation
from worker.errors import UsageError
from worker.operations.copy_index import copy, drained, lines, refuse_used
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.topic_admin import compare_topics, create_topics
from worker.stream.policy import Policy
from worker.stream.preflight import check_topics
from worker.urls import canonical_url


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 if the new generation is ready for its workers.

    Raises:
        Refused: something is not at rest, or the new generation was used before; the message says what to do.
        Unavailable: the broker is not there, or a transaction is pending.
        UsageError: a file or a name that cannot be used.
    """
    without = _urls(arguments.without)
    after = in_generation(settings, arguments.to, **({} if arguments.shards is None else {"shards": arguments.shards}))
    if after.topics.generation == settings.topics.generation:
        raise UsageError("--to names the generation that is copied: take another name")
    options = client_options(settings.kafka)
    check_topics(compare_topics(options, specs(settings)))
    with cluster(settings) as source:
        found = drained(source, settings.topics.generation, _policy(settings), range(settings.topics.partitions))
        create_topics(options, specs(after), after.topics.replication_factor)
        check_topics(compare_topics(options, specs(after)))
        with cluster(after) as target:
            names = settings.topics.generation, after.topics.generation
            rules = _policy(after)
            refuse_used(target, names[1], rules)
            result = copy(source, target, names, found, rules, partial(secrets.token_bytes, 16), frozenset(without))
    print("\n".join(lines(result, without)))
    print(f"start workers with topics.generation={names[1]} and topics.shards={after.topics.shards}")
    return 0


def _policy(settings: Settings) -> Policy:
    return policy(settings, compose.scheme(settings, compose.recipe(settings)), secrets.token_bytes(8))


def _urls(file: Path | None) -> list[str]:
    """The canonical URLs of a file, one a line.

    Raises:
        UsageError: it cannot be read, or a line is no URL.
    """
    if file is None:
        return []
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--without {file} cannot be read ({error}): name a UTF-8 file, a URL a line") from error
    urls = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                urls.append(canonical_url(line))
            except ValueError as error:
                raise UsageError(f"--without {file}, line {number}: {error}") from error
    return list(dict.fromkeys(urls))
