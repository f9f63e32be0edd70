"""``python -m tools.docs``: checks that the README, the handbook and config.yaml repeat the code correctly.

``--write`` updates them: config.yaml as a whole, and on the pages the parts between ``<!-- NAME:begin -->`` and ``<!--
NAME:end -->``.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import textwrap
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

from crawler_plugin.config.catalogue import SETTINGS
from crawler_plugin.metrics.declared import SPIDER_METRICS
from crawler_plugin.stats import STATS
from tests.deploy import plays
from tools.quality import published
from worker.cli import size
from worker.cli.main import COMMANDS, PROGRAM
from worker.compose.topology import specs
from worker.config import Settings, load_settings
from worker.config.catalogue import Entry, catalogue, sections
from worker.config.show import by_section, scalar
from worker.observe.catalogue import CATALOGUE
from worker.page.words.folding import ALIKE, expand

ROOT: Final = Path(__file__).resolve().parent.parent

CONFIG_HEAD: Final = """\
# Every setting with its default, unit and reason. The file may be left out, and any line of it.
# Order: defaults < this file < environment < flags. The file is the one that --config names, else the one that
# DEDUP_CONFIG names, else ./config.yaml, else none. kafka.bootstrap_servers is DEDUP_KAFKA__BOOTSTRAP_SERVERS in
# the environment and --set kafka.bootstrap_servers=HOST:PORT on the command line. An unknown key is an error.
# Look at what is in force with: python -m worker --print-config
"""


def default_yaml() -> str:
    """The whole config file with the defaults: the content of config.yaml at the top of the repository."""
    parts = [CONFIG_HEAD]
    for section, entries in by_section().items():
        parts.append(f"\n# {sections()[section].__doc__}\n{section}:\n")
        parts += [_commented(entry) for entry in entries]
    return "".join(parts)


def settings() -> str:
    """The settings as a Markdown table."""
    rows = ["| Setting | Default | Allowed | What it does |", "|---|---|---|---|"]
    for entry in catalogue().values():
        unit = f" {entry.unit}" if entry.unit and isinstance(entry.default, int | float) else ""
        cells = (f"`{entry.key}`", f"`{scalar(entry.default)}`{unit}", entry.allowed, entry.text)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def commands() -> str:
    """The commands as a Markdown table."""
    rows = [f"| `{PROGRAM} {name}` | {summary} |" for name, summary in COMMANDS.items()]
    return "\n".join(["| Command | What it does |", "|---|---|", *rows]) + "\n"


def topics() -> str:
    """The topics with the default settings as a Markdown table."""
    rows = [
        f"| `{spec.name}` | {spec.partitions} | {', '.join(f'`{key}={value}`' for key, value in spec.config.items())} |"
        for spec in specs(Settings())
    ]
    return "\n".join(["| Topic | Partitions | Settings |", "|---|---|---|", *rows]) + "\n"


def plugin_settings() -> str:
    """The Scrapy settings as a Markdown table."""
    rows = [f"| `{name}` | `{s.default!r}` | {s.allowed} | {s.meaning} |" for name, s in SETTINGS.items()]
    return "\n".join(["| Setting | Default | Allowed | What it does |", "|---|---|---|---|", *rows]) + "\n"


def plugin_stats() -> str:
    """The Scrapy stats as a Markdown table."""
    rows = [f"| `{name}` | {meaning} |" for name, meaning in STATS.items()]
    return "\n".join(["| Stat | Counts |", "|---|---|", *rows]) + "\n"


def alike() -> str:
    """The characters that are spelled as other characters, as a Markdown table."""
    rows = ["| Spelled | instead of | by |", "|---|---|---|"]
    for spelling, others, source in ALIKE:
        shown = " ".join(f"U+{ord(other):04X}" for other in expand(others))
        rows.append(f"| {' '.join(f'U+{ord(letter):04X}' for letter in spelling)} `{spelling}` | {shown} | {source} |")
    return "\n".join(rows) + "\n"


MONTH: Final = (
    "--pages-per-day 3000000000 --records 3000000000 --distinct 2000000000 --page-kb 140 --peak 1 --growth 1 --sample 0"
)
MONTH_SETTINGS: Final = ("output.mode=verdicts", "topics.retention_days=0.25")


def month() -> str:
    """The output of `size` for a month of Common Crawl, as a crawl of one day and as an archive."""
    parser = argparse.ArgumentParser()
    size.configure(parser)
    in_force = load_settings(config=None, overrides=MONTH_SETTINGS, environ={})
    printed = io.StringIO()
    with redirect_stdout(printed):
        size.run(parser.parse_args(MONTH.split()), lambda: in_force)
    command = " ".join([PROGRAM, "size", MONTH, *(f"--set {setting}" for setting in MONTH_SETTINGS)])
    plans = printed.getvalue().partition("\nA crawl of")
    return f"```sh\n{command}\n```\n\n```text\n{(plans[1] + plans[2]).strip()}\n```\n"


README: Final = ROOT / "README.md"
CONFIG: Final = ROOT / "config.yaml"
HANDBOOK: Final = ROOT / "docs"
PAGES: Final = [
    README,
    *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "deploy/README.md")),
    *sorted(HANDBOOK.rglob("*.md")),
]
"""All texts for readers except the changelog."""


def metrics_table() -> str:
    """The metrics as a Markdown table, for the handbook."""
    rows = ["| Metric | Type | Labels | Unit | Meaning |", "|---|---|---|---|---|"]
    for metric in CATALOGUE:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        cells = (f"`{metric.name}`", metric.kind.value, labels, metric.unit, metric.text)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def spider_metrics_table() -> str:
    """The metrics of a running crawl as a Markdown table."""
    rows = ["| Metric | Type | Labels | Unit | Meaning |", "|---|---|---|---|---|"]
    for metric in SPIDER_METRICS:
        labels = ", ".join(f"`{label}`" for label in ("spider", "crawl", metric.label) if label)
        rows.append(f"| `{metric.name}` | {metric.kind} | {labels} | {metric.unit} | {metric.text} |")
    return "\n".join(rows) + "\n"


PARTS: Final[dict[str, tuple[Path, Callable[[], str]]]] = {
    "quality-headline": (README, published.headline),
    "commands": (HANDBOOK / "reference" / "commands.md", commands),
    "settings": (HANDBOOK / "reference" / "settings.md", settings),
    "plugin-settings": (HANDBOOK / "reference" / "plugin.md", plugin_settings),
    "plugin-stats": (HANDBOOK / "reference" / "plugin.md", plugin_stats),
    "metrics": (HANDBOOK / "reference" / "metrics.md", metrics_table),
    "spider-metrics": (HANDBOOK / "reference" / "metrics.md", spider_metrics_table),
    "plays": (HANDBOOK / "how-to" / "watch.md", plays.table),
    "alike": (HANDBOOK / "explanation" / "spelling.md", alike),
    "topics": (HANDBOOK / "reference" / "topics.md", topics),
    "month": (HANDBOOK / "benchmarks" / "large-crawls.md", month),
    "quality": (HANDBOOK / "quality" / "index.md", published.methods),
    "quality-languages": (HANDBOOK / "quality" / "index.md", published.languages),
    "quality-classes": (HANDBOOK / "quality" / "index.md", published.classes),
    "quality-relations": (HANDBOOK / "quality" / "index.md", published.relations),
    "quality-extraction": (HANDBOOK / "quality" / "index.md", published.extraction),
    "quality-extractors": (HANDBOOK / "quality" / "index.md", published.extractors),
    "quality-details": (HANDBOOK / "quality" / "index.md", published.details),
}
"""The parts of the docs that the code writes: page and text, by the name in the page's markers."""


def _commented(entry: Entry) -> str:
    unit = f" Unit: {entry.unit}." if entry.unit else ""
    text = textwrap.wrap(entry.text, 110, break_on_hyphens=False)
    comment = "".join(f"  # {line}\n" for line in [*text, f"Allowed: {entry.allowed}.{unit}"])
    return f"{comment}  {entry.name}: {scalar(entry.default)}\n"


def renewed(page: Path, text: str) -> str:
    """The page's text with every generated part renewed.

    Raises:
        ValueError: the markers of a part do not occur exactly once.
    """
    for name, (place, part) in PARTS.items():
        if place != page:
            continue
        markers = re.compile(rf"(<!-- {name}:begin -->\n).*?(<!-- {name}:end -->)", re.DOTALL)
        text, count = markers.subn(_between(part()), text)
        if count != 1:
            where = page.relative_to(ROOT)
            raise ValueError(f"{where} has the markers {name}:begin and {name}:end {count} times; write them once")
    return text


def _between(made: str) -> Callable[[re.Match[str]], str]:
    """A replacement that keeps the two markers and puts this text between them."""
    return lambda found: found[1] + made + found[2]


def main(arguments: list[str]) -> int:
    """0 if all pages and config.yaml are up to date, or were updated."""
    pages = {place for place, _ in PARTS.values()}
    wanted = {page: renewed(page, page.read_text(encoding="utf-8")) for page in sorted(pages)}
    wanted[CONFIG] = default_yaml()
    stale = [path for path, text in wanted.items() if path.read_text(encoding="utf-8") != text]
    if "--write" in arguments:
        for path in stale:
            path.write_text(wanted[path], encoding="utf-8")
            print(f"{path.relative_to(ROOT)} is up to date now")
        return 0
    for path in stale:
        print(f"{path.relative_to(ROOT)} is behind the code: run python -m tools.docs --write", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
