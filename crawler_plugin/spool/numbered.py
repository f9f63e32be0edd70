"""The spool that a crawl has by default: one name a spider and folder, so that the next crawl finds what one has left.

Crawls of one spider that run at once in one folder take ``NAME.spool``, ``NAME~2.spool`` and so on, each the first that
no other process uses. A lock goes with its process, however that ends, so the next process that opens a spool takes
over what is left in the files that no process uses. Only pages that are to go elsewhere stay where they are.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from crawler_plugin.spool.file import Elsewhere, Spool, named
from crawler_plugin.spool.records import Destination
from crawler_plugin.wire.errors import Unavailable


class Opened(NamedTuple):
    """The spool of a crawl; in words what was damaged in those that it took over, and which it could not take over."""

    spool: Spool
    damage: Sequence[str] = ()
    passed_over: Sequence[str] = ()


def open_numbered(path: Path, limit: int, to: Destination) -> Opened:
    """Open the first of the spools that begin with this name that is free, and take over the others that are.

    Raises:
        Stop: one of them cannot be used, as ``Spool.open`` says.
        OSError: it cannot be opened, made or read.
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
            passed_over.append(f"{spool.left} pages stay in {each}: {trouble}")
        spool.close()
    assert own is not None, "there are names without end"
    return Opened(own, damage, passed_over)


def _existing(path: Path) -> list[Path]:
    """Files with the name or one of its numbers, by number."""
    form = re.compile(re.escape(path.stem) + r"~([0-9]{1,9})" + re.escape(path.suffix))
    found = [(int(match[1]), each) for each in path.parent.iterdir() if (match := form.fullmatch(each.name))]
    return [*([path] if path.exists() else []), *(each for _, each in sorted(found))]


def _new(path: Path, existing: Sequence[Path]) -> Iterator[Path]:
    numbered = (path.with_name(f"{path.stem}~{number}{path.suffix}") for number in itertools.count(2))
    return (each for each in itertools.chain([path], numbered) if each not in existing)
