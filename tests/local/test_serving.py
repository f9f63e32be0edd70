"""``serve``: the judge for another process, tested only through its pipe."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from crawler_plugin.wire.judge_pipe import (
    GREETING,
    JudgeOpened,
    JudgeOpening,
    JudgeSaid,
    PageJudged,
    PageToJudge,
    Said,
    read_said,
    write_frame,
)
from crawler_plugin.wire.page_headers import PARDON_HEADER, PageMeta
from worker.local import Deduplicator

TEXT = "one saucer glides over the old harbour at night and is gone before the master of the port has looked up"


def test_it_greets_judges_in_order_and_writes_what_it_has_judged_at_the_end_of_the_pipe(tmp_path: Path) -> None:
    judge = subprocess.Popen(
        [sys.executable, "-c", "print('not for the pipe'); from worker.local.serving import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert judge.stdin is not None and judge.stdout is not None
    with judge, judge.stdin as asked, judge.stdout as told:
        assert told.readline() == b"not for the pipe\n"
        assert told.readline() == GREETING
        write_frame(asked, JudgeOpening(str(tmp_path / "state"), None))
        for name in ("a", "b", "c"):
            meta = PageMeta(url=f"http://{name}.example/", form="text")
            pardon = [(PARDON_HEADER, b"yes")] * (name == "c")
            write_frame(asked, PageToJudge((*meta.to_headers(), *pardon), TEXT.encode()))
        said: list[Said] = []
        while len(said) < 4:
            if not isinstance(frame := read_said(told), JudgeSaid):
                said.append(frame)
        asked.close()
    assert judge.returncode == 0
    opened, first, second, third = said
    assert opened == JudgeOpened(0)
    assert isinstance(first, PageJudged) and isinstance(second, PageJudged)
    assert (first.verdict, second.verdict, second.duplicate_of) == ("unique", "duplicate", "http://a.example/")
    assert isinstance(third, PageJudged) and (third.verdict, third.reason) == ("unique", "pardoned")
    with Deduplicator(tmp_path / "state") as local:
        assert local.judged == 3
        assert local.judge("http://c.example/", text=TEXT, pardon=True).verdict == "refetch", "the state knows it"
