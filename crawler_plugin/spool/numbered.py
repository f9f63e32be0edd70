"""The spool that a crawl has by default: one name per spider and folder, so that the next crawl finds the pages left by
the last.

Crawls of one spider that run at the same time in one folder take ``NAME.spool``, ``NAME~2.spool`` and so on, each the
first that no other process uses. A lock ends with its process, however the process ends. So the next process that opens
a spool takes over the pages in all files that no process uses, except pages with another destination.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from crawler_plugin.spool.file import Elsewhere, Spool, named
from crawler_plugin.spool.records import Destination
from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import Unavailable


class Opened(NamedTuple):
    """The spool of a crawl, with sentences on damage in the spools that it took over, and on spools that it could not
    take over."""

    spool: Spool
    damage: Sequence[str] = ()
    passed_over: Sequence[str] = ()


def open_numbered(path: Path, limit: int, to: Destination) -> Opened:
    """Open the first free spool whose name begins like this, and take over the other free ones.

    Raises:
        Stop: one of the spools cannot be used, as ``Spool.open`` says.
        OSError: one of them cannot be opened, made or read.
    """
    own: Spool | None = None
    damage: list[str] = []
    passed_over: list[str] = []
    existing = _existing(path)
    for each in itertools.chain(existing, _new(path, existing)):
        if own is not None and each not in existing:
            break
        try:
            spool = Spool.open(each, limit, to)
        except Unavailable:
            continue
        except Elsewhere as elsewhere:
            passed_over.append(str(elsewhere))
            continue
        if own is None:
            own = spool
            continue
        damage += named(spool.damaged, each)
        trouble = own.absorb(spool)
        if trouble is not None:
            passed_over.append(f"{counted(spool.left, 'page stays', 'pages stay')} in {each}: {trouble}")
        spool.close()
    assert own is not None, "there are names without end"
    return Opened(own, damage, passed_over)


def _existing(path: Path) -> list[Path]:
    """Existing files with the name or a numbered form of it, by number."""
    form = re.compile(re.escape(path.stem) + r"~([0-9]{1,9})" + re.escape(path.suffix))
    found = [(int(match[1]), each) for each in path.parent.iterdir() if (match := form.fullmatch(each.name))]
    return [*([path] if path.exists() else []), *(each for _, each in sorted(found))]


def _new(path: Path, existing: Sequence[Path]) -> Iterator[Path]:
    numbered = (path.with_name(f"{path.stem}~{number}{path.suffix}") for number in itertools.count(2))
    return (each for each in itertools.chain([path], numbered) if each not in existing)
