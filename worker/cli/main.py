"""The command line: finds the command, reads settings for those that ask, turns errors into exit codes."""

from __future__ import annotations

import argparse
import errno
import importlib
import logging
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import get_terminal_size
from types import ModuleType
from typing import TYPE_CHECKING, Final, NoReturn

from crawler_plugin.wire.errors import UNEXPECTED, Stop, Unavailable, UsageError
from worker import __version__
from worker.observe.log_lines import last_words, log_to_stderr
from worker.stopping import AskedToStop

if TYPE_CHECKING:
    from worker.config import Loaded, Settings

PROGRAM: Final = "python -m worker"
_log = logging.getLogger(__name__)

COMMANDS: Final = {
    "scan": "judge the pages of files (WARC, JSON lines, CSV, Parquet, folders) without Kafka",
    "fingerprint": "write records of the pages of files, on any number of machines, for judge",
    "judge": "judge the pages of records, all at once, without reading a page again",
    "write": "write the pages of a scan that stay, in the form in which they came, here or at a URL",
    "serve": "answer crawlers in any language over HTTP with the verdicts on their pages, without Kafka",
    "demo": "crawl a small site through a real Kafka to verdicts, show the progress, check the sums",
    "broker": "start a real Kafka broker on this machine",
    "topics": "make the topics, check that they are as the settings say, delete some",
    "index": "show what the index topic holds and whether all is well, or copy it to another generation",
    "repair": "list what was lost when logs or pages passed their retention, and go on behind the gap",
    "switch": "let the settings' generation write the outputs from where another one ended",
    "forget": "forget the pages of a site, a host, a time or a scope while workers run, and say what stays where",
    "leave": "hand what a worker owned to the others at once, if it has stopped and will not come back",
    "pardon": "let a page that was wrongly called a duplicate survive",
    "verdicts": "print one crawl's verdicts, wait for the last, join them to its items; or sums of all crawls",
    "groups": "list groups of pages that are near to each other, from the verdicts of a scan or of the topic",
    "report": "write an HTML report of what a scan has found: shares, groups, what looks wrong, pairs",
    "explain": "show two pages side by side: texts, what moved which bits of the fingerprints, the rule that decides",
    "compare": "a short name for explain",
    "evaluate": "compare verdicts with labelled pages: recall, false positives, cost, next to other methods",
    "calibrate": "choose k and threshold by labelled pages, and say what to expect of them",
    "idf": "build the table for the weights tf-idf from your own pages",
    "bench": "measure pages a second and core, from HTML in Kafka to verdicts, and the gain from one more worker",
    "warmup": "compile the workers' functions into the folder named by NUMBA_CACHE_DIR, for an image",
    "size": "say how much memory the index takes and, with --pages-per-day or --records, what everything needs",
}
"""The description of each command, in the order of a first use. Its module, of the same name in this folder, has
``configure(parser)`` and ``run(arguments, load)``; the help imports none of them."""

SHORT_NAMES: Final = {"compare": "explain"}
"""Commands that are other names of commands, with the module that they use."""

RUN: Final = "worker.cli.start"
"""The module of the command without a name: the worker itself."""

LOG_FORMAT: Final = "DEDUP_LOG__FORMAT"
OUT_OF_MEMORY: Final = (
    "memory ran out: give this process more, or set index.memory_mb, commit.megabytes or page.processes lower, and "
    "start it again. Nothing is lost"
)
FAULT: Final = (
    "a fault of this program: start it again, nothing is lost; if it ends the same way, report all lines from the "
    "first line of the fault on"
)
NO_ROOM: Final = (
    "what this command prints or writes has no room: make room there, or send it elsewhere, and run the command again "
    "unless its result is complete"
)
_NO_ROOM: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141


class CommandParser(argparse.ArgumentParser):
    """Raises ``UsageError`` for a wrong command line, so that all errors look alike and end in one place."""

    def error(self, message: str) -> NoReturn:
        """Raise the error, with a reference to the help."""
        raise UsageError(f"{message}; see {self.prog} --help")


def main(argv: Sequence[str], asked: AskedToStop | None = None) -> int:
    """Run one command; the exit code as in ``crawler_plugin.wire.errors``, 130 after Ctrl-C, 141 when the reader left.

    ``asked`` has caught signals since before this module was imported: they are the worker's. Signals end other
    commands as they end any program, unless these commands say otherwise.
    """
    if "--log-json" in argv or os.environ.get(LOG_FORMAT) == "json":  # for errors in settings, too
        log_to_stderr("info", "json")
    return exit_code(lambda: _run(argv, asked))


def exit_code(command: Callable[[], int]) -> int:
    """The exit code of a program that runs this command: its own code, or one for the error, as ``main``'s.

    The error is printed on standard error.
    """
    try:
        try:
            code = command()
        except SystemExit as ended:  # argparse, after --help or --version
            code = int(ended.code or 0)
        sys.stdout.flush()
        return code
    except Stop as stop:
        last_words(str(stop))
        return stop.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _leave_standard_output()
        return PIPE_CLOSED
    except MemoryError:
        last_words(OUT_OF_MEMORY)
        return UNEXPECTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            _leave_standard_output()
            last_words(f"{NO_ROOM} ({error.strerror})")
            return Unavailable.exit_code
        last_words(f"{FAULT} ({type(error).__name__}: {error})".replace("\n", " "), error)
        return UNEXPECTED


def _leave_standard_output() -> None:
    """The interpreter flushes standard output once more at its end; it must find something to write to."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(argv: Sequence[str], asked: AskedToStop | None) -> int:
    place = _place_of_command(argv)
    before = _top_parser().parse_args(argv[:place])
    if place is None:
        return _without_command(before, asked)
    if asked is not None:
        asked.leave()
    if before.check_config or before.print_config:
        raise UsageError("--check-config and --print-config go without a command; leave one of the two out")
    name = argv[place]
    module = _command(name)
    parser = CommandParser(prog=f"{PROGRAM} {name}", description=COMMANDS[name], allow_abbrev=False)
    module.configure(parser)
    add_settings_options(parser)
    after = parser.parse_args(argv[place + 1 :])
    return int(module.run(after, loader(before, after)))


def _place_of_command(argv: Sequence[str]) -> int | None:
    """The place of the first word that is neither an option nor an option's value."""
    takes_value = {"--config", "--set"}
    place = 0
    while place < len(argv):
        if not argv[place].startswith("-"):
            return place
        place += 2 if argv[place] in takes_value else 1
    return None


def _top_parser() -> CommandParser:
    width = max(map(len, COMMANDS))
    commands = "\n".join(
        textwrap.fill(f"  {name:{width}}  {summary}", get_terminal_size().columns, subsequent_indent=" " * (width + 4))
        for name, summary in COMMANDS.items()
    )
    parser = CommandParser(
        prog=PROGRAM,
        usage=f"{PROGRAM} [options] [command] ...",
        description="Keeps near-duplicate pages out of a crawl while the crawl runs.",
        epilog=f"commands:\n{commands}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"crawl-dedup {__version__}")
    parser.add_argument("--check-config", action="store_true", help="say whether the settings are right, and end")
    parser.add_argument("--print-config", action="store_true", help="print the settings and their origins, and end")
    add_settings_options(parser)
    return parser


def add_settings_options(parser: argparse.ArgumentParser) -> None:
    """Options of every command."""
    group = parser.add_argument_group("settings", "before or after the command")
    group.add_argument("--config", type=Path, metavar="FILE", help="instead of DEDUP_CONFIG or ./config.yaml")
    group.add_argument(
        "--set", action="append", default=[], dest="overrides", metavar="KEY=VALUE", help="any setting; repeatable"
    )
    group.add_argument("--log-json", action="store_true", help="the same as --set log.format=json")


def _without_command(options: argparse.Namespace, asked: AskedToStop | None) -> int:
    if options.check_config or options.print_config:
        from worker.compose.machine import index_memory, memory_limit
        from worker.config.show import effective_yaml

        loaded = _load(options)
        for warning in loaded.open_secrets():
            print(f"{PROGRAM}: {warning}", file=sys.stderr)
        memory = index_memory(loaded.settings, memory_limit())
        if memory.warning:
            print(f"{PROGRAM}: {memory.warning}", file=sys.stderr)
        here = {"index.memory_mb": f"{memory.mib} MiB here, {memory.account}"} if memory.computed else {}
        print(effective_yaml(loaded, here) if options.print_config else f"ok: {loaded.file or 'no config file'}")
        return 0
    options.asked = asked or AskedToStop()
    return int(importlib.import_module(RUN).run(options, loader(options)))


def _command(name: str) -> ModuleType:
    if name not in COMMANDS:
        from worker.config.catalogue import did_you_mean

        question = did_you_mean(name, COMMANDS)
        raise UsageError(f"there is no command {name!r}; {question or 'the commands are ' + ', '.join(COMMANDS)}")
    return importlib.import_module(f"worker.cli.{SHORT_NAMES.get(name, name)}")


def loader(*options: argparse.Namespace) -> Callable[[], Settings]:
    """The function by which a command loads its settings. From then on, log messages follow these settings."""

    def load() -> Settings:
        loaded = _load(*options)
        settings = loaded.settings
        log_to_stderr(settings.log.level, settings.log.format, settings.kafka.instance_id)
        for warning in loaded.open_secrets():
            _log.warning(warning)
        return settings

    return load


def _load(*options: argparse.Namespace) -> Loaded:
    """Settings by the options before and after the command; the later ``--config`` counts."""
    from worker.config import load
    from worker.config.load import asks_for_json

    config = next((given.config for given in reversed(options) if given.config is not None), None)
    overrides = [override for given in options for override in given.overrides]
    if any(given.log_json for given in options):
        overrides.append("log.format=json")
    try:
        return load(config=config, overrides=overrides, environ=os.environ)
    except UsageError:
        if asks_for_json(config=config, overrides=overrides, environ=os.environ):
            log_to_stderr("info", "json")
        raise
