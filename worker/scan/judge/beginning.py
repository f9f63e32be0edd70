"""The states of earlier pages that judging begins with; the first of them may take in the new pages.

All of them are copied first. So the states stay as they are until all is written, however often judging begins anew:
then, if the first is to keep the new pages, its copy replaces it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from crawler_plugin.wire.files import sync_folder
from worker.config import Settings
from worker.local.deduplicator import blocks_of
from worker.local.state_file import StateFile
from worker.scan.judge.base_state import BaseState, copy_state
from worker.scan.judge.earlier import survivors_of
from worker.scan.judge.judge import Judge, state_scheme

_BASE, _STATE, _DIGEST, _WRITTEN = "base", "state", "digest", "written"


class Beginning:
    """The folders of states, and a folder to work in; the first state is held while this is entered, if it ``keeps``.

    Raises:
        UsageError: a folder cannot be made or read.
        Refused: another process holds a state.
    """

    def __init__(self, work: Path, states: Sequence[Path], keeps: bool) -> None:
        self._work: Final = work
        self._states: Final = states
        self._kept: Final = BaseState(states[0]) if keeps else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._kept is not None:
            self._kept.close()

    def copy(self) -> None:
        """Begin anew with the states as they are; deletes everything in the folder to work in."""
        shutil.rmtree(self._work, ignore_errors=True)
        self._work.mkdir(parents=True)
        for number, folder in enumerate(self._states):
            held = self._kept if number == 0 and self._kept is not None else None
            with ExitStack() as stack:
                if held is None:
                    stack.callback(BaseState(folder).close)
                copy_state(folder, self._work / f"{_BASE}{number}")
        if self._kept is not None:
            (self._work / _DIGEST).write_text(self._kept.digest)

    @contextmanager
    def judge(self, settings: Settings, now: int) -> Iterator[Judge]:
        """A judge that knows all survivors of the copies; ``now`` is that of ``Judge``.

        Raises:
            Refused: a state was made with other settings, is damaged, or needs more memory than ``index.memory_mb``.
        """
        folder = self._work / _STATE
        shutil.rmtree(folder, ignore_errors=True)
        if self._states:
            copy_state(self._work / f"{_BASE}0", folder)
        with closing(StateFile(folder, state_scheme(settings))) as state:
            keep = None if self._kept is None else state.append
            with closing(Judge(settings, folder, blocks_of(state), now, keep)) as judge:
                for number in range(1, len(self._states)):
                    for records in survivors_of(self._work / f"{_BASE}{number}", judge.scheme):
                        judge.take(records)
                yield judge

    @property
    def is_written(self) -> bool:
        """Whether ``finish`` was called: only the state that keeps may be the old one yet."""
        return (self._work / _WRITTEN).exists()

    def finish(self) -> None:
        """All results of the verdicts are written: replace the first state by its copy. Repeating it does no harm.

        Raises:
            Refused: another program has written to it since ``copy``.
        """
        if self._kept is None:
            return
        (self._work / _WRITTEN).touch()
        sync_folder(self._work)
        self._kept.replace_by(self._work / _STATE, (self._work / _DIGEST).read_text())
