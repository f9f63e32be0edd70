"""``Deduplicator``, as a program uses it."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks import worst_pages
from tests.docs import HANDBOOK
from tests.local.crashes import BEFORE, JUDGED, PAGES, SETTINGS, judge, returned
from tests.local.crawled import WORDS, about, crawl, shop
from tests.test_docs import fences
from tests.test_imports import ROOT
from worker.config import Settings
from worker.errors import Refused, UsageError
from worker.local import Deduplicator, FetchedPage, Verdict
from worker.messages import Claim
from worker.stream.partition.fingerprint_pool import FingerprintPool
from worker.stream.shard.memory_limit import OverMemoryLimit

TEXT: Final = "Saucers glide over the old harbour at night, says the master, and nobody knows where they land then"
CRAWL: Final = [page for page, _ in crawl(4, 120)]


def settings(**sections: Any) -> Settings:
    plain = {"features": {"units": "characters"}, "page": {"processes": 2}, "index": {"memory_mb": 0}}
    return Settings.model_validate(plain | sections)


def expected(pages: list[FetchedPage]) -> list[str]:
    """The verdicts of one that is never interrupted."""
    with Deduplicator(config=SETTINGS) as local:
        return [judge(local, page) for page in pages]


@pytest.fixture
def in_memory() -> Iterator[Deduplicator]:
    with Deduplicator(config=SETTINGS) as local:
        yield local


# verdicts


def test_a_copy_is_a_duplicate_of_the_first_and_says_how_near_it_is(in_memory: Deduplicator) -> None:
    first = in_memory.judge("http://a.example/", text=TEXT)
    copy = in_memory.judge("http://b.example/", f"<p>{TEXT} again</p>")
    again = in_memory.judge("http://a.example/", body=TEXT.encode("utf-16"), encoding="utf-16")
    assert (first.kind, first.reason, first.duplicate_of, first.similarity) == ("unique", "first", None, None)
    assert (copy.kind, copy.duplicate_of) == ("duplicate", "http://a.example/")
    assert copy.distance is not None
    assert copy.similarity is not None
    assert 0.7 < copy.similarity < 1
    assert (again.kind, again.reason, again.similarity) == ("refetch", "same-url", 1.0)
    assert in_memory.judged == 3


def test_without_sketches_no_similarity_is_known() -> None:
    with Deduplicator(config=settings(near={"predicate": "simhash"})) as local:
        local.judge("http://a.example/", text=TEXT)
        near = local.judge("http://b.example/", text=f"{TEXT} again")
        equal = local.judge("http://c.example/", text=TEXT)
    assert (near.reason, near.similarity) == ("hamming", None)
    assert (equal.reason, equal.similarity) == ("exact-text", 1.0)


def test_to_look_up_says_what_would_be_judged_and_leaves_no_trace(in_memory: Deduplicator) -> None:
    asked = [in_memory.look_up("http://a.example/", text=TEXT) for _ in range(2)]
    assert [verdict.kind for verdict in asked] == ["unique", "unique"]
    assert in_memory.judged == 0
    judged = in_memory.judge("http://a.example/", text=TEXT)
    assert judged == asked[0]
    assert in_memory.look_up("http://b.example/", text=TEXT) == in_memory.judge("http://b.example/", text=TEXT)


def test_a_page_that_cannot_be_read_is_dead_and_raises_nothing(in_memory: Deduplicator) -> None:
    dead = [
        in_memory.judge("http://a.example/", b"%PDF-1.7 " + bytes(100)),
        in_memory.judge("http://a.example/", b"a" * (9 * 1024 * 1024)),
    ]
    assert [(verdict.kind, verdict.reason) for verdict in dead] == [("dead", "not-text"), ("dead", "oversize")]
    assert all(verdict.detail for verdict in dead)
    assert in_memory.judged == 2


def test_a_page_of_a_crawl_or_a_file_may_be_dead_for_its_url_or_body(in_memory: Deduplicator) -> None:
    found = [FetchedPage("no url", b"<p>a</p>", id="a"), FetchedPage("http://a.example/")]
    dead = [verdict for _, verdict in in_memory.judge_found(found)]
    assert [(verdict.kind, verdict.reason) for verdict in dead] == [("dead", "bad-url"), ("dead", "no-body")]
    assert (dead[0].id, dead[0].url) == ("a", "no url")


def test_texts_without_urls_are_told_by_their_ids(tmp_path: Path) -> None:
    with Deduplicator(tmp_path, settings()) as local:
        first = local.judge(id="doc-17", text=TEXT)
        copy = local.judge(id="a/b", text=f"{TEXT} again")
    with Deduplicator(tmp_path, settings()) as local:
        again, encoded = local.judge(id="doc-17", text=TEXT), local.judge(id="a%2Fb", text=TEXT)
        on_the_web = local.judge("http://a.example/", text=TEXT, id="doc-18")
        ((_, last),) = local.judge_all([FetchedPage(id=17, text=TEXT)])
    assert (first.kind, first.id, first.duplicate_of_id) == ("unique", "doc-17", None)
    assert (copy.kind, copy.id, copy.duplicate_of_id) == ("duplicate", "a/b", "doc-17")
    assert (again.kind, again.reason, again.duplicate_of_id) == ("refetch", "same-url", "doc-17")
    assert (encoded.kind, encoded.id) == ("duplicate", "a%2Fb")
    assert (on_the_web.kind, on_the_web.url, on_the_web.id) == ("duplicate", "http://a.example/", "doc-18")
    assert (last.kind, last.id, last.duplicate_of_id) == ("duplicate", "17", "doc-17")


@pytest.mark.parametrize("scope", ["host", "site"])
def test_pages_without_a_url_are_compared_as_those_of_one_site(scope: str) -> None:
    with Deduplicator(config=settings(near={"scope": scope})) as local:
        local.judge("http://a.example/", text=TEXT)
        assert local.judge(id="doc-1", text=TEXT).kind == "unique"
        assert local.judge(id="doc-2", text=TEXT).duplicate_of_id == "doc-1"


def test_apart_a_page_that_takes_too_long_is_dead_and_the_next_has_the_verdict_of_any_other() -> None:
    costly = worst_pages.pumped(worst_pages.PAGES["broken UTF-8"], 4 << 20)
    with Deduplicator(config=settings(page={"processes": 1, "timeout_seconds": 0.5}), apart=True) as local:
        dead = local.judge("http://a.example/", costly)
        assert (dead.kind, dead.reason) == ("dead", "parser-timeout")
        assert local.judge("http://b.example/", text=TEXT).kind == "unique"
        assert local.judge("http://c.example/", text=TEXT).duplicate_of == "http://b.example/"


def test_apart_the_answer_on_a_page_that_nobody_waits_for_is_no_other_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: FingerprintPool, wait: float = 0.0) -> list[Claim]:
        raise KeyboardInterrupt

    with Deduplicator(config=SETTINGS, apart=True) as local:
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(FingerprintPool, "claims", interrupted)
            local.judge("http://a.example/", text="another text of some words that nobody reads")
        local.judge("http://a.example/", text=TEXT)
        assert local.judge("http://b.example/", text=TEXT).kind == "duplicate"


# settings


def test_settings_come_from_the_file_that_is_named(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("near: {scope: host}\nfeatures: {units: characters}\n")
    with Deduplicator(config=config) as local:
        local.judge("http://a.example/", text=TEXT)
        assert local.judge("http://b.example/", text=TEXT).kind == "unique"
        assert local.judge("http://a.example/2", text=TEXT).kind == "duplicate"
    config.write_text("near: {scopes: host}\n")
    with pytest.raises(UsageError, match=r"near\.scopes"):
        Deduplicator(config=str(config))


def test_more_survivors_than_memory_allows_are_refused_and_nothing_else_is(tmp_path: Path) -> None:
    pages = [
        FetchedPage(f"http://a.example/{n}", text=" ".join(f"{word}{n}" for word in TEXT.split())) for n in range(3000)
    ]
    with Deduplicator(tmp_path, settings(index={"memory_mb": 9})) as local:
        judged = 0
        with pytest.raises(OverMemoryLimit, match=r"not judged.*memory_mb.*raise it, or let pages expire"):
            for page in pages:
                local.judge(page.url, text=page.text)
                judged += 1
        assert local.judged == judged > 10
        assert local.judge("http://b.example/", text=pages[0].text).duplicate_of == pages[0].url
    with Deduplicator(tmp_path, settings()) as local:
        assert local.judged == judged + 1
        assert local.judge("http://c.example/", text=pages[judged - 1].text).kind == "duplicate"
        assert local.judge("http://c.example/", text=pages[judged].text).kind == "unique"
    with pytest.raises(OverMemoryLimit, match="the state holds"):
        Deduplicator(tmp_path, settings(index={"memory_mb": 1}))
    Deduplicator(tmp_path, settings()).close()  # whoever was refused has let go of the state


# state


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


def test_a_state_of_other_settings_is_refused_and_can_be_opened_with_its_own(tmp_path: Path) -> None:
    with Deduplicator(tmp_path, SETTINGS) as local:
        local.judge("http://a.example/", text=TEXT)
    with pytest.raises(Refused, match=r"near\.k is 2 here and 3 there"):
        Deduplicator(tmp_path, settings(near={"k": 2}))
    with pytest.raises(Refused, match=r"near\.threshold is 0\.8 here and 0\.6 there"):
        Deduplicator(tmp_path, settings(near={"threshold": 0.8}))
    with Deduplicator(tmp_path, settings(topics={"shards": 3})) as local:  # says nothing about verdicts
        assert local.judged == 1


def test_a_second_process_is_refused_while_the_state_is_open(tmp_path: Path) -> None:
    with Deduplicator(tmp_path, SETTINGS), pytest.raises(Refused, match=f"open already, in process {os.getpid()}"):
        Deduplicator(tmp_path, SETTINGS)
    Deduplicator(tmp_path, SETTINGS).close()


def test_a_forked_process_does_not_write_to_its_parent_s_state(tmp_path: Path) -> None:
    program = f"""
import os
from tests.local.crashes import SETTINGS
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
from tests.local.crashes import PAGES, SETTINGS, judge
from worker.errors import Unavailable
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


def test_closed_it_answers_nothing_and_closing_twice_is_fine(tmp_path: Path) -> None:
    local = Deduplicator(tmp_path, SETTINGS)
    local.close()
    local.close()
    for call in (local.flush, lambda: local.judge("http://a.example/", "a"), lambda: local.look_up("http://a/", "a")):
        with pytest.raises(ValueError, match="closed"):
            call()


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


# threads, asyncio, many at once


def test_threads_judge_one_after_the_other(tmp_path: Path) -> None:
    with Deduplicator(tmp_path, SETTINGS) as local:
        verdicts: dict[str, Verdict] = {}

        def judge_some(thread: int) -> None:
            for number in range(40):
                url = f"http://{thread}.example/{number}"
                verdicts[url] = local.judge(url, text=" ".join(random.Random(number).sample(WORDS, 30)))

        threads = [threading.Thread(target=judge_some, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert local.judged == 160
    assert sum(verdict.kind == "unique" for verdict in verdicts.values()) == 40
    for verdict in verdicts.values():
        if verdict.duplicate_of:
            assert verdicts[verdict.duplicate_of].kind == "unique"
    with Deduplicator(tmp_path, SETTINGS) as local:
        assert local.judged == 160


def test_asyncio_goes_on_while_pages_are_judged(in_memory: Deduplicator) -> None:
    async def crawled() -> list[Verdict]:
        first = await in_memory.judge_async("http://a.example/", text=TEXT)
        others = [in_memory.judge_async(f"http://b.example/{number}", f"<p>{TEXT}</p>") for number in range(8)]
        return [first, *await asyncio.gather(*others)]

    verdicts = asyncio.run(crawled())
    assert [verdict.kind for verdict in verdicts] == ["unique"] + ["duplicate"] * 8
    assert {verdict.duplicate_of for verdict in verdicts[1:]} == {"http://a.example/"}


def test_all_pages_come_in_order_with_the_verdicts_that_they_get_one_by_one() -> None:
    pages = [replace(page, fetched=None) for page in CRAWL] * 3
    with Deduplicator(config=settings(), clock=lambda: 1e9) as local:
        together = list(local.judge_all(iter(pages)))
        assert local.judged == len(pages)
    assert all(given is taken for given, (taken, _) in zip(pages, together, strict=True))
    with Deduplicator(config=settings(), clock=lambda: 1e9) as local:
        one_by_one = [local.judge(page.url, page.body, **about(page)) for page in pages]
    assert [verdict for _, verdict in together] == one_by_one


def test_verdicts_come_while_pages_still_do(in_memory: Deduplicator) -> None:
    told: list[Verdict] = []

    def pages() -> Iterator[FetchedPage]:
        number = 0
        while not told:  # a page more, until there is a verdict
            yield FetchedPage(f"http://a.example/{number}", text=f"{TEXT} {number}")
            number += 1

    for _, verdict in in_memory.judge_all(pages()):
        told.append(verdict)
    assert len(told) == in_memory.judged
    assert told[0].kind == "unique"


def test_pages_behind_the_last_that_was_judged_are_not_when_the_iteration_is_given_up(
    in_memory: Deduplicator,
) -> None:
    pages = [FetchedPage(f"http://a.example/{number}", text=f"{number} " * 9) for number in range(400)]
    judging = in_memory.judge_all(pages)
    taken = [next(judging)[1].number for _ in range(3)]
    judging.close()  # type: ignore[attr-defined]
    assert taken == [0, 1, 2]
    assert 3 <= in_memory.judged < 3 + 256
    rest = list(in_memory.judge_all(pages[in_memory.judged :]))
    assert [verdict.number for _, verdict in rest] == list(range(400 - len(rest), 400))


def test_one_may_be_judged_between_those_that_are_judged_together(in_memory: Deduplicator) -> None:
    pages = [FetchedPage(f"http://a.example/{number}", text=TEXT) for number in range(10)]
    verdicts = []
    for page, verdict in in_memory.judge_all(pages):
        verdicts.append(verdict.kind)
        assert in_memory.judge(f"{page.url}?copy", text=TEXT).duplicate_of == "http://a.example/0"
    assert verdicts == ["unique"] + ["duplicate"] * 9
    assert in_memory.judged == 20


def test_a_state_file_that_is_damaged_is_let_go_of(tmp_path: Path) -> None:
    Deduplicator(tmp_path, SETTINGS).close()
    (tmp_path / "index.blocks").write_bytes(b"damaged")
    with pytest.raises(Refused, match="no state"):
        Deduplicator(tmp_path, SETTINGS)
    with pytest.raises(Refused, match="no state"):
        Deduplicator(tmp_path, SETTINGS)


def test_the_example_of_the_handbook_shows_a_duplicate_and_leaves_a_state(tmp_path: Path) -> None:
    (kind, program), *_ = fences(HANDBOOK / "how-to" / "without-kafka.md")
    assert kind == "python"
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    lines = ended.stdout.splitlines()
    assert lines[:2] == ["unique first", "duplicate https://a.example/ferry 0 1.0 exact-text"]
    assert [line.split()[0] for line in lines[2:5]] == [f"https://c.example/{number}" for number in range(3)]
    assert lines[5] == "duplicate 5"
    assert (tmp_path / "seen" / "index.blocks").is_file()


def test_duplicates_of_a_page_that_takes_a_whole_template_are_suspect_over_a_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pages = shop(60)
    with Deduplicator(tmp_path / "one") as one:
        verdicts = [one.judge(page.url, page.body, content_type=page.content_type) for page in pages[:40]]
        assert not one.look_up(pages[0].url, pages[0].body).suspect
    assert [verdict.suspect for verdict in verdicts] == [number >= 20 for number in range(40)]
    assert {verdict.kind for verdict in verdicts[1:]} == {"duplicate"}
    (warning,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert pages[0].url in warning and pages[20].url in warning
    with Deduplicator(tmp_path / "one") as one:
        assert all(one.judge(page.url, page.body).suspect for page in pages[40:])
    with Deduplicator() as one:
        together = [verdict.suspect for _, verdict in one.judge_all(pages[:40])]
    assert together == [verdict.suspect for verdict in verdicts]
