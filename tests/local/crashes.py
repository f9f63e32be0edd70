"""``python -m tests.local.crashes FOLDER``: processes that are killed at each moment of writing a state.

Each process judges pages durably one after the other until it kills itself at the n-th write, sync or rename: before
that call, in the middle of a write, or after the call. The last pages are of two shops with one text, and a state's
blocks say that the text is a template's. Under FOLDER each process leaves a folder with its state, and next to it a
file with a byte for each returned verdict. Half of the processes begin with a state of so many small blocks that it is
rewritten when it is opened; a page in these blocks counts as one whose verdict was returned.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.local.crawled import crawl, network
from worker.config import Settings
from worker.local import Deduplicator, FetchedPage

SETTINGS: Final = Settings.model_validate({"page": {"processes": 1}, "index": {"memory_mb": 0}})
BEFORE: Final = 66
"""Pages in the state that is rewritten, one per block."""
JUDGED: Final = 2
SHOPS: Final = network(products=7)
PAGES: Final = [*(page for page, _ in crawl(3, BEFORE - 6)), *SHOPS[: 6 + JUDGED + 3]]
CRAWL: Final = [page for page, _ in crawl(4, 120)]
TEXT: Final = "Saucers glide over the old harbour at night, says the master, and nobody knows where they land then"
MOST_CALLS: Final = 40
"""More calls than a run makes; the last process is killed at the end of its run."""


def settings(**sections: Any) -> Settings:
    """``SETTINGS`` with these changes."""
    plain = {"page": {"processes": 1}, "index": {"memory_mb": 0}}
    return Settings.model_validate(plain | sections)


def judge(local: Deduplicator, page: FetchedPage, *, durable: bool = False) -> str:
    """The verdict in a line."""
    verdict = local.judge(page.url, page.body, text=page.text, headers=page.headers, durable=durable)
    return f"{verdict.verdict} {verdict.duplicate_of} {verdict.reason}"


def expected(pages: list[FetchedPage]) -> list[str]:
    """The verdicts of a process that is never interrupted."""
    with Deduplicator(config=SETTINGS) as local:
        return [judge(local, page) for page in pages]


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying(call: Callable[..., Any], name: str, moment: str, left: list[int]) -> Callable[..., Any]:
    """The call, during which the process dies when it is the counted one."""

    def counted(*arguments: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and moment == "in" and name == "pwrite":
            descriptor, content, offset = arguments
            call(descriptor, content[: len(content) // 2], offset)
        if left[0] == 0 and moment != "after":
            kill()
        result = call(*arguments)
        if left[0] == 0:
            kill()
        return result

    return counted


def run(folder: Path, moment: str, number: int, before: int) -> None:
    """Judge until killed; the state holds ``before`` pages at the beginning."""
    left = [number]
    for name in ("pwrite", "fsync", "replace"):
        setattr(os, name, dying(getattr(os, name), name, moment, left))
    returned = os.open(folder.with_suffix(".returned"), os.O_WRONLY | os.O_CREAT)
    os.write(returned, b"." * before)
    with Deduplicator(folder, SETTINGS) as local:
        for page in PAGES[before : before + JUDGED]:
            judge(local, page, durable=True)
            os.write(returned, b".")
    kill()


def main(folder: Path) -> None:
    """Run all cases, each in a process forked from this one, where everything is loaded."""
    small_blocks = folder.with_name("small blocks")
    with Deduplicator(small_blocks, SETTINGS) as local:
        for page in PAGES[:BEFORE]:
            judge(local, page, durable=True)
    for before in (0, BEFORE):
        for moment in ("before", "in", "after"):
            for number in range(1, MOST_CALLS):
                here = folder / f"{before}-{moment}-{number}"
                if before:
                    shutil.copytree(small_blocks, here)
                pid = os.fork()
                if pid == 0:
                    try:
                        run(here, moment, number, before)
                    finally:
                        os._exit(1)
                _, status = os.waitpid(pid, 0)
                if not os.WIFSIGNALED(status):
                    sys.exit(f"{here} was not killed")
                if returned(here) == before + JUDGED:
                    break


def returned(folder: Path) -> int:
    """How many verdicts were returned before the process with this state was killed."""
    file = folder.with_suffix(".returned")
    return file.stat().st_size if file.exists() else 0


if __name__ == "__main__":
    main(Path(sys.argv[1]))
