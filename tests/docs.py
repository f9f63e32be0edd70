"""``python -m tests.docs``: what the README and config.yaml repeat from the code is as the code says.

``--write`` brings them up to date: config.yaml as a whole, and in the README what stands between
``<!-- NAME:begin -->`` and ``<!-- NAME:end -->``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from crawler_plugin.catalogue import SETTINGS
from crawler_plugin.stats import STATS
from tests.quality import published
from worker.cli.main import COMMANDS, PROGRAM
from worker.config.show import default_yaml, table
from worker.observe.catalogue import catalogue_table
from worker.topics import topic_specs

ROOT: Final = Path(__file__).resolve().parent.parent
README: Final = ROOT / "README.md"
CONFIG: Final = ROOT / "config.yaml"


def commands() -> str:
    """The commands as a Markdown table."""
    rows = [f"| `{PROGRAM} {name}` | {command.summary} |" for name, command in COMMANDS.items()]
    return "\n".join(["| Command | What it does |", "|---|---|", *rows]) + "\n"


def topics() -> str:
    """The topics with the default settings as a Markdown table."""
    rows = [
        f"| `{spec.name}` | {spec.partitions} | {', '.join(f'`{key}={value}`' for key, value in spec.config.items())} |"
        for spec in topic_specs()
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


PARTS: Final[dict[str, Callable[[], str]]] = {
    "settings": table,
    "commands": commands,
    "topics": topics,
    "metrics": catalogue_table,
    "plugin-settings": plugin_settings,
    "plugin-stats": plugin_stats,
    "quality": published.table,
}
"""Parts of the README by the name in their markers."""


def renewed(readme: str) -> str:
    """The README with every part as the code says.

    Raises:
        ValueError: the markers of a part are not there exactly once.
    """
    for name, part in PARTS.items():
        markers = re.compile(rf"(<!-- {name}:begin -->\n).*?(<!-- {name}:end -->)", re.DOTALL)
        text = part()
        readme, count = markers.subn(lambda found, text=text: found[1] + text + found[2], readme)
        if count != 1:
            raise ValueError(f"README.md has the markers {name}:begin and {name}:end {count} times; write them once")
    return readme


def main(arguments: list[str]) -> int:
    """0 if both files are as they should be, or have been brought there."""
    wanted = {README: renewed(README.read_text(encoding="utf-8")), CONFIG: default_yaml()}
    stale = [path for path, text in wanted.items() if path.read_text(encoding="utf-8") != text]
    if "--write" in arguments:
        for path in stale:
            path.write_text(wanted[path], encoding="utf-8")
        return 0
    for path in stale:
        print(f"{path.name} is behind the code: run python -m tests.docs --write", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
