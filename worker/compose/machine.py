"""The machine under a worker: how much memory it has, how much of it the index may take, how freed memory goes back."""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from worker.config import Settings
from worker.config.model import AUTO
from worker.index.layout import Layout
from worker.stream.shard.memory_limit import MemoryLimit

MIB: Final = 1 << 20
PARSER_BYTES: Final = 120 * MIB
"""Private memory of a parser that has read some pages: interpreter, dictionary, tables; measured: 110 to 114 MiB."""
SHARE: Final = 0.7
"""Share of the memory that goes to index and parsers: the rest is for the worker itself, pages on their way, and the
temporary memory of growing and loading."""
LEAST_SHARE: Final = 0.2
"""Share of the memory that the index gets, however much the parsers may take: they seldom take it all at once."""

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_MAPPED_FROM: Final = 256 * 1024
_KEPT_AT_THE_TOP: Final = 1 << 20
_ARENAS: Final = 2
_log = logging.getLogger(__name__)


class MachineMemory(NamedTuple):
    """Bytes, and the source of the limit: a file of the control group, or the machine."""

    bytes: int
    source: str


class IndexMemory(NamedTuple):
    """The limit for the index of this worker, in MiB (0: no limit), its derivation, and a warning or nothing.

    ``computed``: it was not set as a number.
    """

    mib: int
    account: str
    warning: str = ""
    computed: bool = True


def parsers(settings: Settings) -> int:
    """Parsing processes: ``page.processes``, or one for each core."""
    return settings.page.processes or os.cpu_count() or 1


def memory_limit(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> MachineMemory:
    """The least of what the control groups of this process and the machine allow.

    The control groups above a control group limit it, too. In a container it may be shown as the root, or under a name
    that only the host can see (version 1): the root is looked at in any case.
    """
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([MachineMemory(physical, "this machine"), *_group_limits(proc, groups)], key=lambda limit: limit.bytes)


def index_memory(settings: Settings, limit: MachineMemory) -> IndexMemory:
    """``index.memory_mb`` as a number, for a worker that has this much memory for itself."""
    given = settings.index.memory_mb
    if given != AUTO:
        return IndexMemory(given, "as set", computed=False)
    count, each = parsers(settings), PARSER_BYTES // MIB + settings.page.memory_mb
    all_mib = limit.bytes // MIB
    account = f"{SHARE:.0%} of {all_mib} MiB ({limit.source}), less {count} parsers of up to {each} MiB"
    left, least = int(SHARE * all_mib) - count * each, int(LEAST_SHARE * all_mib)
    if left >= least:
        return IndexMemory(left, account)
    warning = (
        f"index.memory_mb=auto: {account} leaves {max(0, left)} MiB, so the index may take {LEAST_SHARE:.0%}, {least} "
        "MiB; if pages are large, memory may run out. Set page.processes or page.memory_mb lower, or index.memory_mb "
        "itself"
    )
    return IndexMemory(least, f"{LEAST_SHARE:.0%} of {all_mib} MiB ({limit.source})", warning)


def memory_for_index(settings: Settings) -> MemoryLimit:
    """The limit for the index of this process, by the settings and the machine; the log gives its derivation."""
    memory = index_memory(settings, memory_limit())
    if memory.warning:
        _log.warning("%s", memory.warning)
    _log.info("the index may take %s MiB (index.memory_mb): %s", memory.mib or "any number of", memory.account)
    tables = len(Layout(settings.index.layout).arrangements) + settings.near.track_changes
    return MemoryLimit(memory.mib * MIB, tables, settings.near.predicate == "accurate")


def give_back_freed_memory() -> None:
    """Make the C library give large blocks back to the system when they are freed, for all of this process.

    By default glibc learns from each large array that is freed to keep the next ones of its size among the small
    objects that stay. With a snapshot a minute 44 MB lay idle after six minutes, and each minute more. In addition,
    each thread has a heap of its own. Another C library is left as it is.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    set_option(_M_MMAP_THRESHOLD, _MAPPED_FROM)
    set_option(_M_TRIM_THRESHOLD, _KEPT_AT_THE_TOP)
    set_option(_M_ARENA_MAX, _ARENAS)


def _group_limits(proc: Path, groups: Path) -> Iterator[MachineMemory]:
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return  # not Linux, or hidden
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield from _limits_up(groups, path, ("memory.max", "memory.high"))
        elif "memory" in controllers.split(","):
            yield from _limits_up(groups / "memory", path, ("memory.limit_in_bytes",))


def _limits_up(root: Path, path: str, names: tuple[str, ...]) -> Iterator[MachineMemory]:
    """The limits of a group and all above it; 'max' and missing files set none."""
    group = root / path.lstrip("/")
    for folder in (group, *group.parents):
        if not folder.is_relative_to(root):
            return
        for name in names:
            try:
                yield MachineMemory(int((folder / name).read_text()), str(folder / name))
            except (OSError, ValueError):
                continue
