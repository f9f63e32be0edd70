"""``python -m worker index inspect|copy|seed|export|import``: the blocks that rebuild shards, and copies of them."""

from __future__ import annotations

import argparse
import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import CheckFailed, Refused, UsageError
from crawler_plugin.wire.topics import FINGERPRINTS, INDEX
from crawler_plugin.wire.urls import canonical_url
from worker.cli._installed import require
from worker.cli._output_file import name_given, output_to, path_here
from worker.cli.size import in_units
from worker.compose.topology import cluster, specs
from worker.config.generations import in_generation, with_near
from worker.operations.copy_index import Copied, copy, covered, drained, kept, lines, refuse_used, seed
from worker.operations.inspect import ShardReport, inspect
from worker.operations.live_copy import LiveCopy
from worker.results.formats import write_jsonl
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.topic_admin import compare_topics, create_topics
from worker.stream.preflight import check_topics, harmless_to_copy, page_partitions
from worker.terminal import aligned

if TYPE_CHECKING:
    from worker.config import Settings
    from worker.stream.policy import Policy

INSPECT: Final = "inspect"
COPY: Final = "copy"
SEED: Final = "seed"
EXPORT: Final = "export"
IMPORT: Final = "import"

_LOOK_SECONDS: Final = 0.02
_CLOSE: Final = 16
"""With at most this many batches left, a live copy is at the end of a log to which workers write all the time."""
_PATIENCE_SECONDS: Final = 30.0
"""Seconds after which the command says what it waits for: as long as a killed worker keeps its place."""

_HEADS: Final = ("shard", "entries", "complete up to", "floor", "blocks", "damaged", "size", "writers", "to spare")

_JUDGES: Final = "start workers with topics.generation={!r}: they judge the pages on the topic from the first one on"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "inspect: reads the index topic from its beginning and changes nothing; workers may run. Complete up to: the "
        "last batch whose survivors the blocks hold, -1 for none; floor: a batch up to which all entries have expired; "
        "to spare: batches and answers by which the logs reach back beyond the shard's replay point (negative: gone). "
        "Exit code 1 if anything is damaged or gone. copy: makes the topics of another generation and writes all "
        "entries there, in their order, for workers that go on with other settings of a few kinds; later pages are "
        "judged as they would have been. Stop all workers with SIGTERM first, when all pages are committed; or give "
        "--live, which copies while they work. Start workers of the new generation during the copy: once they have "
        "loaded all shards, they take over, and the old workers end and refuse to run again. Needs as much memory as "
        "the blocks take on the topic and, with --near, as the index takes. seed: makes the topics of "
        "topics.generation, which must be unused, and writes there the pages that a state without Kafka has seen (a "
        "folder that scan --state or worker.local has written), or the pages of records (of fingerprint): its workers "
        "compare the pages on the topic with them. export: writes the survivors as records, files of a million, for "
        "another cluster (import), an archive (judge --against), or any program that reads Parquet; changes nothing, "
        "and workers may run. Survivors that no block holds yet, of the last index.flush_seconds, are not in the "
        "export. import: like seed, but it takes the survivors of an export as they are, in their order, while seed "
        "judges pages. Needs the settings of the old cluster, except topics.shards. Run again, export and import go on "
        "where they stopped."
    )
    parser.add_argument("action", choices=(INSPECT, COPY, SEED, EXPORT, IMPORT), help="what to do")
    parser.add_argument(
        "source",
        nargs="*",
        type=name_given,
        metavar="SOURCE",
        help="with seed: the folder of the state, or records; with import: the folder or URL of an export",
    )
    parser.add_argument("--to", metavar="GENERATION", help="with copy: topics.generation of the new topics")
    parser.add_argument("--shards", type=int, metavar="N", help="with copy: topics.shards there (default: as here)")
    parser.add_argument(
        "--without", type=Path, metavar="FILE", help="with copy: URLs to forget, one a line; those not found are listed"
    )
    parser.add_argument(
        "--near",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="with copy: a setting of the section near in the new generation; the entries are judged again by it; "
        "repeatable",
    )
    parser.add_argument(
        "--fallen",
        type=path_here,
        metavar="FILE",
        help="with copy --near: where to list the entries that fall, a JSON object a line (default: standard output)",
    )
    parser.add_argument(
        "--live", action="store_true", help="with copy: copy while workers run, then hand over to new ones"
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="with copy --live: how many new workers take over (default: as many as run when it begins)",
    )
    parser.add_argument("--out", type=name_given, metavar="DIR|URL", help="with export: the folder for the records")
    parser.add_argument("--json", action="store_true", help="one JSON object a shard, with all writers and problems")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """0 if all is well.

    Raises:
        CheckFailed: there is damage or a gap; the message says where.
        UsageError: arguments that do not go together.
        Refused: the topics differ from the settings.
        Unavailable: the broker or a topic is not there.
    """
    copies, seeds, exports, imports = (arguments.action == action for action in (COPY, SEED, EXPORT, IMPORT))
    if (seeds or imports) != bool(arguments.source) or (imports and len(arguments.source) > 1):
        raise UsageError(
            "seed needs the folder of a state, or records; import needs the folder of one export; the other actions "
            "take neither"
        )
    if exports != (arguments.out is not None):
        raise UsageError("export needs --out DIR|URL; the other actions take no --out")
    given = arguments.without, arguments.near, arguments.fallen, arguments.live, arguments.workers
    of_copy = arguments.shards is not None, *given
    if copies != (arguments.to is not None) or (not copies and any(of_copy)):
        raise UsageError(
            "copy needs --to GENERATION and may have --shards, --without, --near, --fallen, --live and --workers; the "
            "other actions take none of them"
        )
    settings = load()
    if copies:
        return _copy(arguments, settings)
    if seeds:
        return _seed(arguments.source, settings)
    if imports:
        return _import(arguments.source[0], settings)
    if exports:
        return _export(arguments.out, settings)
    check_topics(compare_topics(client_options(settings.kafka), specs(settings)))
    with cluster(settings) as broker:
        reports = inspect(broker, range(settings.topics.shards))
    print("\n".join((json.dumps(asdict(report)) for report in reports) if arguments.json else table(reports)))
    if problems := [f"  shard {report.shard}: {problem}" for report in reports for problem in report.problems]:
        raise CheckFailed("the index needs a look:\n" + "\n".join(problems))
    return 0


def _copy(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 if the new generation is ready for its workers; with ``--live``, if it has begun.

    Raises:
        Refused: a worker or a page is not at rest, or the new generation was used before; the message says what to do.
        Unavailable: the broker is not there, or a transaction is pending.
        UsageError: a file or a name that cannot be used.
    """
    from worker.compose import parts
    from worker.compose.kernels import compile_apart
    from worker.compose.step import policy
    from worker.fingerprint.scheme import Scheme
    from worker.operations.rejudging import Rejudging, is_judged_again

    def rules_of(of: Settings) -> Policy:
        return policy(of, parts.scheme(of, parts.recipe(of)), secrets.token_bytes(8))

    without = _urls(arguments.without)
    after = in_generation(settings, arguments.to, **({} if arguments.shards is None else {"shards": arguments.shards}))
    after = with_near(after, dict(_near_setting(given) for given in arguments.near))
    if after.topics.generation == settings.topics.generation:
        raise UsageError("--to names the generation that is copied: take another name")
    before, rules = rules_of(settings), rules_of(after)
    again = is_judged_again(Scheme.decode(before.scheme_text), Scheme.decode(rules.scheme_text))
    if again:
        compile_apart()
    falls = Rejudging(rules, parts.new_index(after)) if again else None
    options = client_options(settings.kafka)
    differences = compare_topics(options, specs(settings))
    check_topics([difference for difference in differences if not harmless_to_copy(difference)])
    partitions = page_partitions(settings.topics.partitions, differences)
    names, new_key = (settings.topics.generation, after.topics.generation), partial(secrets.token_bytes, 16)
    with cluster(settings) as source:
        found = None if arguments.live else drained(source, names[0], before, partitions)
        create_topics(options, specs(after), after.topics.replication_factor)
        check_topics(compare_topics(options, specs(after)))
        with cluster(after) as target:
            refuse_used(target, names[1], rules)
            if found is None:
                live = LiveCopy(source, target, names, before, rules, new_key, partitions, frozenset(without), falls)
                result = _hand_over(live, after, arguments.workers)
            else:
                result = copy(source, target, names, found, rules, new_key, frozenset(without), falls)
    print("\n".join(lines(result, without)), flush=True)
    if result.fallen:
        with output_to(arguments.fallen) as out:
            write_jsonl((fallen._asdict() for fallen in result.fallen), out)
    if not arguments.live:
        print(f"start workers with {_settings_of(after)}")
    return 0


def _hand_over(live: LiveCopy, after: Settings, workers: int | None) -> Copied:
    """Copy, wait for the new generation's workers, by default as many as work now, and hand over to them."""
    workers = len(live.source.workers()) if workers is None else workers
    try:
        live.begin()
        print(
            f"copied {counted(live.copied.result.entries, 'entry', 'entries')}. Start {workers or 'some'} workers with "
            f"{_settings_of(after)}: they stand by, and take over once they have loaded all shards",
            flush=True,
        )
        while live.follow(_LOOK_SECONDS) > _CLOSE or live.awaited():
            pass
        while len(live.target.workers()) < workers:
            live.follow(1.0)
        settled = time.monotonic() + 2 * after.kafka.heartbeat_seconds
        while time.monotonic() < settled:  # while they divide the shards, two may believe that they own one
            live.follow(_LOOK_SECONDS)
        live.call_over()
        while live.follow(_LOOK_SECONDS) > _CLOSE or live.awaited():
            pass
        live.hand_over()
        begun = told = time.monotonic()
        while not live.end():
            time.sleep(_LOOK_SECONDS)
            if time.monotonic() - told > _PATIENCE_SECONDS:
                told = time.monotonic()
                print(
                    "waits for the old workers to commit what they have claimed, and to end: restart those that were "
                    "killed",
                    flush=True,
                )
        print(f"handed over in {time.monotonic() - begun:.1f} s", flush=True)
    finally:
        live.close()
    return live.copied.result


def _settings_of(after: Settings) -> str:
    """The settings that workers of the new generation start with, for people."""
    return f"topics.generation={after.topics.generation} and topics.shards={after.topics.shards}"


def _near_setting(given: str) -> tuple[str, str]:
    """Raises ``UsageError`` for text that is not ``KEY=VALUE``."""
    key, found, value = given.removeprefix("near.").partition("=")
    if not found:
        raise UsageError(f"--near {given} is not KEY=VALUE, as in --near k=2")
    return key, value


def _seed(names: Sequence[str], settings: Settings) -> int:
    """0 if the generation is ready for its workers; inputs that are no state count as records, which are judged
    first."""
    from worker.local.state_file import BLOCKS

    if len(names) == 1 and (Path(names[0]) / BLOCKS).is_file():
        return _seed_state(Path(names[0]), settings)
    require("scan", "reading records takes packages that workers do not need")
    from worker.scan.judging import fill_state, record_files

    files = record_files(names)
    with TemporaryDirectory(prefix="crawl-dedup-") as folder:
        fill_state(files, settings, Path(folder) / "state", Path(folder) / "work")
        return _seed_state(Path(folder) / "state", settings)


def _seed_state(folder: Path, settings: Settings) -> int:
    """0 if the generation is ready for its workers.

    Raises:
        Refused: the state is open, damaged or of other settings, or the generation was used before.
        Unavailable: the broker is not there.
        UsageError: there is no state in the folder.
    """
    from worker.compose import parts
    from worker.compose.step import policy
    from worker.local.deduplicator import alone
    from worker.local.state_file import StateFile

    made = parts.recipe(settings)
    with closing(StateFile(folder, parts.scheme(alone(settings), made))) as state:
        blocks = list(state.blocks())
    name = settings.topics.generation
    rules = policy(settings, parts.scheme(settings, made), secrets.token_bytes(8))
    options = client_options(settings.kafka)
    create_topics(options, specs(settings), settings.topics.replication_factor)
    differences = compare_topics(options, specs(settings))
    check_topics(differences)
    with cluster(settings) as target:
        found = kept(blocks, target, rules, page_partitions(settings.topics.partitions, differences))
        refuse_used(target, name, rules)
        result = seed(target, name, found, rules, partial(secrets.token_bytes, 16))
    print("\n".join(lines(result, [])))
    print(_JUDGES.format(name))
    return 0


def _export(out: str, settings: Settings) -> int:
    """0 if the records are there.

    Raises:
        Refused: the index is still empty, or a block is damaged.
        UsageError: there is an export in that folder, or other records.
        Unavailable: the broker is not there, or the disk fails.
    """
    require("scan", "writing records takes packages that workers do not need")
    from worker.compose import parts
    from worker.compose.step import policy
    from worker.local.deduplicator import alone
    from worker.places import Folder
    from worker.scan.exporting import export

    made = parts.recipe(settings)
    rules = policy(settings, parts.scheme(settings, made), secrets.token_bytes(8))
    check_topics(compare_topics(client_options(settings.kafka), specs(settings)))
    with cluster(settings) as source:
        covers = [covered(source, shard, rules) for shard in range(settings.topics.shards)]
        behind = source.bounds(FINGERPRINTS, 0).end - 1 - min(found.end for found in covers)
    name = f"{settings.topics.prefix}{INDEX}"
    scheme = parts.scheme(alone(settings), made)
    result = export(covers, name, Folder(out), parts.reading(settings, made), scheme)
    if not result.survivors:
        raise Refused(f"no block of {name} holds a survivor: wait for index.flush_seconds, then run this again")
    if result.before:
        print(f"{counted(result.before, 'survivor was', 'survivors were')} there from an earlier run")
    print(
        f"exported {counted(result.survivors, 'survivor')}, up to batch {result.up_to}; "
        f"{counted(behind, 'batch', 'batches')} came after it"
    )
    shown = Folder(out)
    print(
        f"elsewhere: `python -m worker index import {shown}`, or `python -m worker judge RECORDS --against {shown} "
        "--out DIR`"
    )
    return 0


def _import(source: str, settings: Settings) -> int:
    """0 if the generation is ready for its workers.

    Raises:
        Refused: a file of the export is damaged or missing, it is of other settings, or the generation was used before.
        UsageError: there is no export, or only a part of one.
        Unavailable: the broker is not there, or the disk or the network fails.
    """
    require("scan", "reading records takes packages that workers do not need")
    from worker.compose import parts
    from worker.compose.step import policy
    from worker.local.deduplicator import alone
    from worker.operations.import_index import import_index
    from worker.places import Folder
    from worker.scan.records.exported import whole

    made = parts.recipe(settings)
    export = whole(Folder(source), parts.scheme(alone(settings), made))
    name = settings.topics.generation
    rules = policy(settings, parts.scheme(settings, made), secrets.token_bytes(8))
    options = client_options(settings.kafka)
    create_topics(options, specs(settings), settings.topics.replication_factor)
    differences = compare_topics(options, specs(settings))
    check_topics(differences)
    with cluster(settings) as target:
        result = import_index(target, name, export, rules, page_partitions(settings.topics.partitions, differences))
    print(f"imported {counted(result.entries, 'survivor')}")
    print(_JUDGES.format(name))
    return 0


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


def table(reports: Sequence[ShardReport]) -> Iterator[str]:
    """A line for each shard, aligned, and one for all of them."""
    yield from aligned([_HEADS, *map(_cells, reports)], right=range(len(_HEADS)))
    entries = sum(report.entries for report in reports)
    size = sum(report.bytes for report in reports)
    yield f"together {counted(entries, 'entry', 'entries')}, {in_units(size)} on the topic"


def _cells(report: ShardReport) -> tuple[str, ...]:
    return (
        str(report.shard),
        f"{report.entries:,}",
        str(report.complete_up_to),
        str(report.floor),
        str(report.blocks),
        str(report.damaged),
        in_units(report.bytes),
        str(len(report.writers)),
        f"{report.batches_to_spare} / {report.answers_to_spare}",
    )
