"""Settings as people read them: the YAML of ``--print-config``, config.yaml with all defaults, the handbook's table."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import yaml
from pydantic import SecretStr

from worker.config.catalogue import Entry, catalogue, sections
from worker.config.load import DEFAULT, Loaded
from worker.config.model import REDACTED

_WIDTH = 110

_HEAD = """\
# Every setting with its default, unit and reason. The file may be left out, and any line of it.
# Order: defaults < this file < environment < flags. The file is the one that --config names, else the one that
# DEDUP_CONFIG names, else ./config.yaml, else none. kafka.bootstrap_servers is DEDUP_KAFKA__BOOTSTRAP_SERVERS in
# the environment and --set kafka.bootstrap_servers=HOST:PORT on the command line. An unknown key is an error.
# Look at what is in force with: python -m worker --print-config
"""


def effective_yaml(loaded: Loaded, notes: Mapping[str, str] = MappingProxyType({})) -> str:
    """The settings in force, each with where it came from, and what ``notes`` says of its key; secrets as asterisks."""
    lines = [f"# file: {loaded.file or 'none'}"]
    for section, entries in _by_section().items():
        lines += ["", f"{section}:"]
        values = getattr(loaded.settings, section)
        for entry in entries:
            origin = loaded.origins.get(entry.key, DEFAULT)
            value = getattr(values, entry.name)
            if origin == f"{entry.key}_file":
                value = None  # shown, it would be given twice: here and by the file
            note = f": {notes[entry.key]}" if entry.key in notes else ""
            lines.append(f"  {entry.name}: {_scalar(value)}  # {origin}{note}")
    return "\n".join(lines)


def default_yaml() -> str:
    """The whole config file with the defaults; what config.yaml at the top of the repository holds."""
    parts = [_HEAD]
    for section, entries in _by_section().items():
        parts.append(f"\n# {sections()[section].__doc__}\n{section}:\n")
        parts += [_commented(entry) for entry in entries]
    return "".join(parts)


def table() -> str:
    """The settings as a Markdown table."""
    rows = ["| Setting | Default | Allowed | What it does |", "|---|---|---|---|"]
    for entry in catalogue().values():
        unit = f" {entry.unit}" if entry.unit and isinstance(entry.default, int | float) else ""
        cells = (f"`{entry.key}`", f"`{_scalar(entry.default)}`{unit}", entry.allowed, entry.text)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _by_section() -> dict[str, list[Entry]]:
    return {section: [entry for entry in catalogue().values() if entry.section == section] for section in sections()}


def _commented(entry: Entry) -> str:
    unit = f" Unit: {entry.unit}." if entry.unit else ""
    text = textwrap.wrap(entry.text, _WIDTH, break_on_hyphens=False)
    comment = "".join(f"  # {line}\n" for line in [*text, f"Allowed: {entry.allowed}.{unit}"])
    return f"{comment}  {entry.name}: {_scalar(entry.default)}\n"


def _scalar(value: Any) -> str:
    if isinstance(value, SecretStr):
        value = REDACTED
    plain = value if value is None or isinstance(value, bool | int | float) else str(value)
    dumped: str = yaml.safe_dump(plain, default_flow_style=True, width=10_000, allow_unicode=True)
    return dumped.removesuffix("\n").removesuffix("\n...")
