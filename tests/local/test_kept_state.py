"""The state that a ``Deduplicator`` keeps: over restarts, crashes, damage and a full disk."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import Refused
from tests.local.crashes import BEFORE, CRAWL, JUDGED, PAGES, SETTINGS, TEXT, expected, judge, returned, settings
from tests.local.crawled import about, crawl, shop
from tests.test_imports import ROOT
from worker.local import Deduplicator, Verdict


def test_a_state_goes_on_where_it_was_closed(tmp_path: Path) -> None:
    found = []
    for begin in range(0, len(CRAWL), 40):
        with Deduplicator(tmp_path, SETTINGS) as local:
            assert local.judged == begin
            found += [judge(local, page) for page in CRAWL[begin : begin + 40]]
    assert found == expected(CRAWL)


def test_what_has_expired_stays_so_in_a_state(tmp_path: Path) -> None:
    pages = list(crawl(2, 200))
    days = settings(near={"ttl_days": 1})

    def verdicts(state: Path | None, sittings: int) -> list[Verdict]:
        moments = iter(now / 1000 for _, now in pages)
        coming = iter(pages)
        found = []
        for _ in range(sittings):
            with Deduplicator(state, days, clock=lambda: next(moments)) as local:
                for _ in range(len(pages) // sittings):
                    page, _ = next(coming)
                    found.append(local.judge(page.url, page.body, **about(page)))
        return found

    assert verdicts(tmp_path, 20) == verdicts(None, 1)


def test_what_is_flushed_is_in_the_file_and_what_is_not_is_not(tmp_path: Path) -> None:
    with Deduplicator(tmp_path, settings(index={"memory_mb": 0, "flush_entries": 4, "flush_seconds": 1000})) as local:
        file = tmp_path / "index.blocks"
        sizes = [file.stat().st_size]
        for number in range(4):
            local.judge(f"http://a.example/{number}", f"{number}")
            sizes.append(file.stat().st_size)
        assert sizes[0] == sizes[3] < sizes[4], "a full block is written"
        local.judge("http://a.example/5", "5")
        assert file.stat().st_size == sizes[4]
        local.flush()
        flushed = file.stat().st_size
        assert flushed > sizes[4]
        local.flush()
        assert file.stat().st_size == flushed, "nothing new is nothing to write"
        local.judge("http://a.example/5", "5", durable=True)
        assert file.stat().st_size > flushed, "a refetch is written, too, since it counts"


def test_a_block_is_written_when_its_time_has_come(tmp_path: Path) -> None:
    with Deduplicator(tmp_path, settings(index={"memory_mb": 0, "flush_seconds": 1e-9})) as local:
        before = (tmp_path / "index.blocks").stat().st_size
        local.judge("http://a.example/", "a")
        assert (tmp_path / "index.blocks").stat().st_size > before


def test_the_file_s_last_block_may_be_torn_at_any_byte(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    state = tmp_path / "state"
    ends = []
    with Deduplicator(state, SETTINGS) as local:
        for page in PAGES[:4]:
            judge(local, page, durable=True)
            ends.append((state / "index.blocks").stat().st_size)
    whole = (state / "index.blocks").read_bytes()
    wanted = expected(PAGES[:9])
    for size in range(ends[2], ends[3], 29):
        (state / "index.blocks").write_bytes(whole[:size])
        with caplog.at_level(logging.WARNING), Deduplicator(state, SETTINGS) as local:
            assert local.judged == 3
            assert [judge(local, page) for page in PAGES[3:9]] == wanted[3:]
    assert "cut off" in caplog.text


def test_killed_at_each_moment_of_writing_a_state_holds_every_verdict_that_was_returned(tmp_path: Path) -> None:
    (tmp_path / "killed").mkdir()
    subprocess.run([sys.executable, "-m", "tests.local.crashes", str(tmp_path / "killed")], check=True, cwd=ROOT)
    wanted = expected(PAGES)
    for before in (0, BEFORE):
        folders = [path for path in (tmp_path / "killed").glob(f"{before}-*") if path.is_dir()]
        assert len(folders) > 3 * 2 * JUDGED
        held = set()
        for folder in folders:
            told = returned(folder)
            with Deduplicator(folder, SETTINGS) as local:
                kept = local.judged
                assert max(before, told) <= kept <= told + 1, folder.name
                held.add(kept - told)
                assert [judge(local, page) for page in PAGES[kept : kept + 8]] == wanted[kept : kept + 8], folder.name
        assert held >= {0, 1}, "some were killed between the write and the verdict, others before the write"


def test_a_state_of_many_small_blocks_is_rewritten_when_it_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "index.blocks"
    with Deduplicator(tmp_path, SETTINGS) as local:
        for page in CRAWL[:80]:
            judge(local, page, durable=True)
    before = file.stat().st_size
    with Deduplicator(tmp_path, SETTINGS) as local:
        assert file.stat().st_size < before / 2
        assert local.judged == 80
        found = [judge(local, page, durable=True) for page in CRAWL[80:]]
    assert found == expected(CRAWL)[80:]
    with Deduplicator(tmp_path, SETTINGS) as local:
        assert local.judged == len(CRAWL)


def test_a_state_of_many_small_blocks_is_rewritten_while_it_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every copy of the file that a crash could leave holds all pages whose verdicts were returned."""
    monkeypatch.setattr("worker.local.deduplicator._MANY", 70)
    file = tmp_path / "index.blocks"
    found, sizes = [], []
    with Deduplicator(tmp_path, SETTINGS) as local:
        for number, page in enumerate(CRAWL):
            found.append(judge(local, page, durable=True))
            sizes.append(file.stat().st_size)
            if number in (69, 70, 71, len(CRAWL) - 1):
                shutil.copytree(tmp_path, tmp_path / "copies" / str(number), ignore=shutil.ignore_patterns("copies"))
    assert found == expected(CRAWL)
    assert sizes[71] < sizes[69]
    for copy in (tmp_path / "copies").iterdir():
        with Deduplicator(copy, SETTINGS) as local:
            assert local.judged == int(copy.name) + 1


def test_a_state_of_other_settings_is_refused_and_can_be_opened_with_its_own(tmp_path: Path) -> None:
    with Deduplicator(tmp_path, SETTINGS) as local:
        local.judge("http://a.example/", text=TEXT)
    with pytest.raises(Refused, match=r"near\.k is 2 here and 3 there"):
        Deduplicator(tmp_path, settings(near={"k": 2}))
    with pytest.raises(Refused, match=r"near\.threshold is 0\.8 here and 0\.54 there"):
        Deduplicator(tmp_path, settings(near={"threshold": 0.8}))
    with Deduplicator(tmp_path, settings(topics={"shards": 3})) as local:  # has no effect on verdicts
        assert local.judged == 1


def test_a_second_process_is_refused_while_the_state_is_open(tmp_path: Path) -> None:
    with Deduplicator(tmp_path, SETTINGS), pytest.raises(Refused, match=f"open already, in process {os.getpid()}"):
        Deduplicator(tmp_path, SETTINGS)
    Deduplicator(tmp_path, SETTINGS).close()


def test_a_forked_process_does_not_write_to_its_parent_s_state(tmp_path: Path) -> None:
    program = f"""
import os
from tests.local.crashes import CRAWL, TEXT, expected, settings, SETTINGS
from worker.local import Deduplicator
with Deduplicator({str(tmp_path)!r}, SETTINGS) as local:
    local.judge("http://a.example/", "a")
    if os.fork() == 0:
        try:
            local.judge("http://b.example/", "b")
        except ValueError as error:
            print(error)
    else:
        os.wait()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "from which this one was forked" in ended.stdout
    with Deduplicator(tmp_path, SETTINGS) as local:
        assert local.judged == 1


def test_when_the_disk_is_full_nothing_is_lost_and_a_later_flush_writes_it(tmp_path: Path) -> None:
    program = f"""
import resource
from tests.local.crashes import CRAWL, TEXT, expected, settings, PAGES, SETTINGS, judge
from crawler_plugin.wire.errors import Unavailable
from worker.local import Deduplicator
before = resource.getrlimit(resource.RLIMIT_FSIZE)
local = Deduplicator({str(tmp_path)!r}, SETTINGS)
judge(local, PAGES[0], durable=True)
size = (local._file.file).stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, before[1]))
for page in PAGES[1:4]:
    try:
        judge(local, page, durable=True)
    except Unavailable as error:
        print(error)
try:
    local.close()
except Unavailable as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, before)
judge(local, PAGES[4])
local.close()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ended.stdout.count("cannot be written (File too large)") == 4
    with Deduplicator(tmp_path, SETTINGS) as local:
        assert local.judged == 5
        assert [judge(local, page) for page in PAGES[5:]] == expected(PAGES)[5:]


def test_after_a_page_was_stored_in_part_nothing_is_judged_or_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = Deduplicator(tmp_path, SETTINGS)
    judge(local, PAGES[0], durable=True)

    def interrupted(decision: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(local._shard, "take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        local.judge("http://new.example/", text=TEXT)
    with pytest.raises(Refused, match="make another one"):
        local.judge("http://new.example/", text=TEXT)
    local.close()
    with Deduplicator(tmp_path, SETTINGS) as again:
        assert again.judged == 1


def test_a_state_file_that_is_damaged_is_let_go_of(tmp_path: Path) -> None:
    Deduplicator(tmp_path, SETTINGS).close()
    (tmp_path / "index.blocks").write_bytes(b"damaged")
    with pytest.raises(Refused, match="no state"):
        Deduplicator(tmp_path, SETTINGS)
    with pytest.raises(Refused, match="no state"):
        Deduplicator(tmp_path, SETTINGS)


def test_duplicates_of_a_page_that_takes_a_whole_template_are_suspect_over_a_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pages = shop(60)
    with Deduplicator(tmp_path / "one") as one:
        verdicts = [one.judge(page.url, page.body, content_type=page.content_type) for page in pages[:40]]
        assert not one.look_up(pages[0].url, pages[0].body).suspect
    assert [verdict.suspect for verdict in verdicts] == [number >= 20 for number in range(40)]
    assert {verdict.verdict for verdict in verdicts[1:]} == {"duplicate"}
    (warning,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert pages[0].url in warning and pages[20].url in warning
    with Deduplicator(tmp_path / "one") as one:
        assert all(one.judge(page.url, page.body).suspect for page in pages[40:])
    with Deduplicator() as one:
        together = [verdict.suspect for _, verdict in one.judge_all(pages[:40])]
    assert together == [verdict.suspect for verdict in verdicts]
