"""Judging that begins with a state, and is killed at any time."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_plugin.wire.errors import UsageError
from tests.scan.halves import PAGES, judged
from tests.scan.test_scan import Killed, files, settings
from worker.local import Deduplicator
from worker.scan.judging import Judged

pytestmark = pytest.mark.usefixtures("read_here")


def test_killed_at_any_time_it_comes_to_the_same_when_it_is_run_again(tmp_path: Path, records: Path) -> None:
    state = tmp_path / "state"

    def die(done: Judged) -> None:
        if done.records >= 60:
            raise Killed

    whole, out = tmp_path / "whole", tmp_path / "out"
    judged(whole, records)
    for _ in range(2):
        with pytest.raises(Killed):
            judged(out, records, tell=die, states=[state], keeps=True)
    (out / "verdicts").mkdir(exist_ok=True)
    (out / "verdicts" / "00007.parquet").write_bytes(b"of a run with smaller parts")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr("worker.scan.judge.base_state.BaseState.replace_by", lambda *arguments: die(Judged(60)))
        judged(out, records, states=[state], keeps=True)
    judged(out, records, states=[state], keeps=True)
    assert files(out) == files(whole)
    with Deduplicator(state, settings()) as local:
        assert local.judged == len(PAGES)
    with pytest.raises(UsageError, match="complete verdicts"):
        judged(out, records)
