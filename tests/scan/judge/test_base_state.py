"""A state with which a scan begins, and in which it leaves its pages."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import Refused, UsageError
from tests.local.crashes import SETTINGS
from worker.local import Deduplicator
from worker.scan.judge.base_state import BaseState, copy_state, is_state


def judge(folder: Path, *urls: str) -> None:
    with Deduplicator(folder, SETTINGS) as local:
        for url in urls:
            local.judge(url, text=f"{url} and nothing else")


def judged(folder: Path) -> int:
    with Deduplicator(folder, SETTINGS) as local:
        return local.judged


def test_a_scan_works_on_a_copy_which_takes_the_place_of_the_state_in_the_end(tmp_path: Path) -> None:
    kept, work = tmp_path / "kept", tmp_path / "work"
    judge(kept, "http://a.example/")
    (kept / "ids").write_bytes(b"id")
    assert is_state(kept)
    assert not is_state(work)
    with closing(BaseState(kept)) as base:
        was = base.digest
        copy_state(base.folder, work)
        judge(work, "http://b.example/")
        assert base.digest == was
        base.replace_by(work, was)
    assert judged(kept) == 2
    assert (work / "ids").read_bytes() == b"id"
    assert (kept / "index.blocks").stat().st_mode & 0o077 == 0, "it holds URLs, and was nobody else's to read"


def test_one_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    work = tmp_path / "work"
    with closing(BaseState(tmp_path / "new" / "state")) as base:
        assert base.digest == ""
        copy_state(base.folder, work)
        judge(work, "http://a.example/")
        base.replace_by(work, "")
        base.replace_by(work, "")  # again, after a crash
    assert judged(tmp_path / "new" / "state") == 1


def test_what_somebody_else_has_written_since_is_not_written_over(tmp_path: Path) -> None:
    kept, work = tmp_path / "kept", tmp_path / "work"
    with closing(BaseState(kept)) as base:
        copy_state(base.folder, work)
    judge(work, "http://a.example/", "http://b.example/")
    judge(kept, "http://c.example/")
    with closing(BaseState(kept)) as base, pytest.raises(Refused, match="written to it since"):
        base.replace_by(work, "")
    assert judged(kept) == 1


def test_nobody_else_has_it_meanwhile(tmp_path: Path) -> None:
    with closing(BaseState(tmp_path)), pytest.raises(Refused, match="open already"):
        judge(tmp_path, "http://a.example/")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="name a folder"):
        BaseState(tmp_path / "file" / "state")
