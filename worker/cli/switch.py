"""``python -m worker switch --from GENERATION``: the outputs pass to the generation that the settings name; with
``--diff`` it shows the changes that this would bring."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.topics import DEAD_LETTERS, PAGES, VERDICTS
from worker.cli._output_file import output_to, path_here
from worker.compose.topology import cluster, specs
from worker.config.generations import in_generation
from worker.operations.switch import Generation, Passing, plan_switch, switch
from worker.results.formats import write_jsonl
from worker.results.generations_compared import GenerationsCompared
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.output_reader import Output, read_outputs
from worker.stream.kafka.topic_admin import compare_topics
from worker.stream.preflight import check_topics, page_partitions

if TYPE_CHECKING:
    from worker.config import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Puts other settings into force that were tried side by side with the present ones: workers with a "
        "topics.generation of their own and output.mode=count have judged the same pages. Stop them, then stop the "
        "workers of the old generation, both with SIGTERM; after this command start the new ones with another "
        "output.mode. Each page then goes out once, from one of the two generations. It refuses (exit code 4) if that "
        "is impossible. Run again, it changes nothing more. With --diff it changes nothing, and workers may run: it "
        "reads the verdicts of both generations, and tells which pages they judge differently, by verdict, host and "
        "URL template, and what becomes of each survivor. Two of these pages: python -m worker explain --topic A B"
    )
    parser.add_argument(
        "--from",
        dest="old",
        metavar="GENERATION",
        required=True,
        help="the generation that writes now; '' if topics.generation was never set",
    )
    parser.add_argument(
        "--diff",
        type=path_here,
        metavar="FILE",
        help="change nothing; write a line for each page that would change, and for each survivor that the new "
        "generation has not judged",
    )


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """0 if the new generation writes from now on.

    Raises:
        Refused: workers are running, or pages would be written twice or not at all; the message says what to do.
        Unavailable: the broker or a topic is not there, or a transaction is pending.
    """
    settings = load()
    if arguments.diff is not None:
        return _compare(arguments.old, settings, arguments.diff)
    differences = compare_topics(client_options(settings.kafka), specs(settings))
    check_topics(differences)
    before = in_generation(settings, arguments.old)
    with cluster(before) as there, cluster(settings) as here:
        old = Generation(before.topics.generation, there)
        new = Generation(settings.topics.generation, here)
        passings = plan_switch(old, new, page_partitions(settings.topics.partitions, differences))
        print("\n".join(borders(passings)))
        switch(old, new, passings)
    print(f"{new.shown} writes from there on: start its workers with an output.mode other than count")
    return 0


def _compare(old: str, settings: Settings, file: Path) -> int:
    """0: the file holds all pages that both have judged with different verdicts, and survivors that only the old one
    has judged.

    Raises:
        UsageError: both are one generation, or the file cannot be written.
        Unavailable: the broker or a topic is not there.
    """
    names = [in_generation(settings, old).topics.generation, settings.topics.generation]
    if names[0] == names[1]:
        raise UsageError("--from names the generation of the settings: compare two, each with its own workers")
    options, topics = client_options(settings.kafka), (VERDICTS, DEAD_LETTERS)
    before, after = (read_outputs(options, settings.topics.prefix, topics, name) for name in names)
    comparison = GenerationsCompared()
    with output_to(file) as out:
        write_jsonl(comparison.rows(verdicts(before), verdicts(after)), out)
    print("\n".join(comparison.lines([f"topics.generation={name!r}" for name in names])))
    return 0


def verdicts(outputs: Iterable[Output]) -> Iterator[Verdict]:
    """The verdicts among the outputs."""
    return (output for output in outputs if isinstance(output, Verdict))


def borders(passings: Sequence[Passing]) -> Iterator[str]:
    """The offset at which each partition passes."""
    for passing in passings:
        yield (
            f"partition {passing.partition} of {PAGES}: from offset {passing.border} on; "
            f"{counted(passing.behind, 'page before it is', 'pages before it are')} still to be counted"
        )
