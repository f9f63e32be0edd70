"""Settings in file, environment and flags: all errors in them are one ``UsageError``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from crawler_plugin.wire.errors import UsageError
from worker.config import load
from worker.config.catalogue import catalogue, sections
from worker.config.model import Settings
from worker.config.show import effective_yaml

FILE = Path(tempfile.mkdtemp(prefix="fuzz-settings-")) / "config.yaml"
EMPTY = FILE.with_name("empty.yaml")
EMPTY.touch()
MOST_LINES = 4
"""The most lines: for each unknown name the nearest known one is searched, which takes time."""
ENTRIES = list(catalogue().values())


def attack(data: bytes) -> None:
    """Read the data as a file; as flags, one per line; as variables that their first byte names."""
    FILE.write_bytes(b"\n".join(data.split(b"\n")[: 2 * MOST_LINES]))
    lines = data.decode(errors="surrogateescape").split("\n")[:MOST_LINES]
    variables = {ENTRIES[ord(line[0]) % len(ENTRIES)].environment: line[1:] for line in lines if line}
    for config, overrides, environ in ((FILE, [], {}), (EMPTY, lines, {}), (EMPTY, [], variables)):
        try:
            loaded = load(config=config, overrides=overrides, environ=environ)
        except UsageError:
            continue
        assert isinstance(loaded.settings, Settings)
        effective_yaml(loaded)


def seeds() -> Iterator[bytes]:
    """Some settings of each section, in files and as flags; files that are odd."""
    for section in sections():
        keys = [entry.key.partition(".")[2] for entry in ENTRIES if entry.key.startswith(f"{section}.")]
        yield f"{section}:\n".encode() + b"".join(f"  {key}: 1\n".encode() for key in keys[:3])
        yield "\n".join(f"{section}.{key}=1" for key in keys[:3]).encode()
    yield b"near: &a\n  k: *a\n"
    yield b"[" * 1500
    yield b"near:\n  k: 0x_\n"
