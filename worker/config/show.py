"""Settings as people read them: the YAML of ``--print-config``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import yaml
from pydantic import SecretStr

from worker.config.catalogue import Entry, catalogue, sections
from worker.config.load import DEFAULT, Loaded
from worker.config.section import REDACTED


def effective_yaml(loaded: Loaded, notes: Mapping[str, str] = MappingProxyType({})) -> str:
    """The settings in force, each with where it came from, and what ``notes`` says of its key; secrets as asterisks."""
    lines = [f"# file: {loaded.file or 'none'}"]
    for section, entries in by_section().items():
        lines += ["", f"{section}:"]
        values = getattr(loaded.settings, section)
        for entry in entries:
            origin = loaded.origins.get(entry.key, DEFAULT)
            value = getattr(values, entry.name)
            if origin == f"{entry.key}_file":
                value = None  # shown, it would be given twice: here and by the file
            note = f": {notes[entry.key]}" if entry.key in notes else ""
            lines.append(f"  {entry.name}: {scalar(value)}  # {origin}{note}")
    return "\n".join(lines)


def by_section() -> dict[str, list[Entry]]:
    """The settings of each section."""
    return {section: [entry for entry in catalogue().values() if entry.section == section] for section in sections()}


def scalar(value: Any) -> str:
    """A value as YAML in one line; asterisks for a secret."""
    if isinstance(value, SecretStr):
        value = REDACTED
    plain = value if value is None or isinstance(value, bool | int | float) else str(value)
    dumped: str = yaml.safe_dump(plain, default_flow_style=True, width=10_000, allow_unicode=True)
    return dumped.removesuffix("\n").removesuffix("\n...")
