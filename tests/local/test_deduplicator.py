"""``Deduplicator``, as a program uses it."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import worst_pages
from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.messages import Claim
from tests.local.crashes import CRAWL, SETTINGS, TEXT, settings
from tests.local.crawled import WORDS, about
from tests.test_docs import fences
from tests.test_imports import ROOT
from tools.docs import HANDBOOK
from worker.local import Deduplicator, FetchedPage, Verdict
from worker.stream.partition.fingerprint_pool import FingerprintPool
from worker.stream.shard.memory_limit import OverMemoryLimit


@pytest.fixture
def in_memory() -> Iterator[Deduplicator]:
    with Deduplicator(config=SETTINGS) as local:
        yield local


# verdicts


def test_a_copy_is_a_duplicate_of_the_first_and_says_how_near_it_is(in_memory: Deduplicator) -> None:
    first = in_memory.judge("http://a.example/", text=TEXT)
    copy = in_memory.judge("http://b.example/", f"<p>{TEXT} again</p>")
    again = in_memory.judge("http://a.example/", body=TEXT.encode("utf-16"), encoding="utf-16")
    assert (first.verdict, first.reason, first.duplicate_of, first.similarity) == ("unique", "first", None, None)
    assert (copy.verdict, copy.duplicate_of) == ("duplicate", "http://a.example/")
    assert copy.distance is not None
    assert copy.similarity is not None
    assert 0.7 < copy.similarity < 1
    assert (again.verdict, again.reason, again.similarity) == ("refetch", "same-url", 1.0)
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
    assert [verdict.verdict for verdict in asked] == ["unique", "unique"]
    assert in_memory.judged == 0
    judged = in_memory.judge("http://a.example/", text=TEXT)
    assert judged == asked[0]
    assert in_memory.look_up("http://b.example/", text=TEXT) == in_memory.judge("http://b.example/", text=TEXT)


def test_what_is_kept_of_a_url_is_that_of_its_latest_page_that_survived(in_memory: Deduplicator) -> None:
    assert in_memory.seen("http://a.example/") is None
    in_memory.judge("http://a.example/", text=TEXT)
    later = in_memory.judge("http://a.example", text="another text, of which no word was there before", fetched=7)
    in_memory.judge("http://b.example/", text=TEXT)
    found = in_memory.seen("HTTP://A.example:80/#x")
    assert found is not None
    assert (found.url, found.verdict, found.fetched) == ("http://a.example/", "unique", 7)
    assert (found.fingerprint, found.tokens) == (later.fingerprint, later.tokens)
    assert in_memory.seen("http://b.example/") is None, "a duplicate is not kept"
    with pytest.raises(ValueError, match="give an absolute one"):
        in_memory.seen("b")


def test_a_page_that_cannot_be_read_is_dead_and_raises_nothing(in_memory: Deduplicator) -> None:
    dead = [
        in_memory.judge("http://a.example/", b"%PDF-1.7 " + bytes(100)),
        in_memory.judge("http://a.example/", b"a" * (9 * 1024 * 1024)),
    ]
    assert [(verdict.verdict, verdict.reason) for verdict in dead] == [("dead", "not-text"), ("dead", "oversize")]
    assert all(verdict.detail for verdict in dead)
    assert in_memory.judged == 2


def test_a_page_of_a_crawl_or_a_file_may_be_dead_for_its_url_or_body(in_memory: Deduplicator) -> None:
    found = [FetchedPage("no url", b"<p>a</p>", id="a"), FetchedPage("http://a.example/")]
    dead = [verdict for _, verdict in in_memory.judge_found(found)]
    assert [(verdict.verdict, verdict.reason) for verdict in dead] == [("dead", "bad-url"), ("dead", "no-body")]
    assert (dead[0].id, dead[0].url) == ("a", "no url")


def test_texts_without_urls_are_told_by_their_ids(tmp_path: Path) -> None:
    with Deduplicator(tmp_path, settings()) as local:
        first = local.judge(id="doc-17", text=TEXT)
        copy = local.judge(id="a/b", text=f"{TEXT} again")
    with Deduplicator(tmp_path, settings()) as local:
        again, encoded = local.judge(id="doc-17", text=TEXT), local.judge(id="a%2Fb", text=TEXT)
        on_the_web = local.judge("http://a.example/", text=TEXT, id="doc-18")
        ((_, last),) = local.judge_all([FetchedPage(id=17, text=TEXT)])
    assert (first.verdict, first.id, first.duplicate_of_id) == ("unique", "doc-17", None)
    assert (copy.verdict, copy.id, copy.duplicate_of_id) == ("duplicate", "a/b", "doc-17")
    assert (again.verdict, again.reason, again.duplicate_of_id) == ("refetch", "same-url", "doc-17")
    assert (encoded.verdict, encoded.id) == ("duplicate", "a%2Fb")
    assert (on_the_web.verdict, on_the_web.url, on_the_web.id) == ("duplicate", "http://a.example/", "doc-18")
    assert (last.verdict, last.id, last.duplicate_of_id) == ("duplicate", "17", "doc-17")


@pytest.mark.parametrize("scope", ["host", "site"])
def test_pages_without_a_url_are_compared_as_those_of_one_site(scope: str) -> None:
    with Deduplicator(config=settings(near={"scope": scope})) as local:
        local.judge("http://a.example/", text=TEXT)
        assert local.judge(id="doc-1", text=TEXT).verdict == "unique"
        assert local.judge(id="doc-2", text=TEXT).duplicate_of_id == "doc-1"


def test_apart_a_page_that_takes_too_long_is_dead_and_the_next_has_the_verdict_of_any_other() -> None:
    costly = worst_pages.pumped(worst_pages.PAGES["broken UTF-8"], 4 << 20)
    with Deduplicator(config=settings(page={"processes": 1, "timeout_seconds": 0.5}), apart=True) as local:
        dead = local.judge("http://a.example/", costly)
        assert (dead.verdict, dead.reason) == ("dead", "parser-timeout")
        assert local.judge("http://b.example/", text=TEXT).verdict == "unique"
        assert local.judge("http://c.example/", text=TEXT).duplicate_of == "http://b.example/"


def test_apart_the_answer_on_a_page_that_nobody_waits_for_is_no_other_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: FingerprintPool, wait: float = 0.0) -> list[Claim]:
        raise KeyboardInterrupt

    with Deduplicator(config=SETTINGS, apart=True) as local:
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(FingerprintPool, "claims", interrupted)
            local.judge("http://a.example/", text="another text of some words that nobody reads")
        local.judge("http://a.example/", text=TEXT)
        assert local.judge("http://b.example/", text=TEXT).verdict == "duplicate"


# settings


def test_settings_come_from_the_file_that_is_named(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("near: {scope: host}\n")
    with Deduplicator(config=config) as local:
        local.judge("http://a.example/", text=TEXT)
        assert local.judge("http://b.example/", text=TEXT).verdict == "unique"
        assert local.judge("http://a.example/2", text=TEXT).verdict == "duplicate"
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
        assert local.judge("http://c.example/", text=pages[judged - 1].text).verdict == "duplicate"
        assert local.judge("http://c.example/", text=pages[judged].text).verdict == "unique"
    with pytest.raises(OverMemoryLimit, match="the state holds"):
        Deduplicator(tmp_path, settings(index={"memory_mb": 1}))
    Deduplicator(tmp_path, settings()).close()  # the refused opener has released the state


def test_closed_it_answers_nothing_and_closing_twice_is_fine(tmp_path: Path) -> None:
    local = Deduplicator(tmp_path, SETTINGS)
    local.close()
    local.close()
    for call in (local.flush, lambda: local.judge("http://a.example/", "a"), lambda: local.look_up("http://a/", "a")):
        with pytest.raises(ValueError, match="closed"):
            call()


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
    assert sum(verdict.verdict == "unique" for verdict in verdicts.values()) == 40
    for verdict in verdicts.values():
        if verdict.duplicate_of:
            assert verdicts[verdict.duplicate_of].verdict == "unique"
    with Deduplicator(tmp_path, SETTINGS) as local:
        assert local.judged == 160


def test_asyncio_goes_on_while_pages_are_judged(in_memory: Deduplicator) -> None:
    async def crawled() -> list[Verdict]:
        first = await in_memory.judge_async("http://a.example/", text=TEXT)
        others = [in_memory.judge_async(f"http://b.example/{number}", f"<p>{TEXT}</p>") for number in range(8)]
        return [first, *await asyncio.gather(*others)]

    verdicts = asyncio.run(crawled())
    assert [verdict.verdict for verdict in verdicts] == ["unique"] + ["duplicate"] * 8
    assert {verdict.duplicate_of for verdict in verdicts[1:]} == {"http://a.example/"}


def test_all_pages_come_in_order_with_the_verdicts_that_they_get_one_by_one() -> None:
    pages = [replace(page, fetched=None) for page in CRAWL] * 3
    with Deduplicator(config=settings(page={"processes": 2}), clock=lambda: 1e9) as local:
        together = list(local.judge_all(iter(pages)))
        assert local.judged == len(pages)
    assert all(given is taken for given, (taken, _) in zip(pages, together, strict=True))
    with Deduplicator(config=settings(), clock=lambda: 1e9) as local:
        one_by_one = [local.judge(page.url, page.body, **about(page)) for page in pages]
    assert [verdict for _, verdict in together] == one_by_one


@pytest.mark.parametrize("days", [None, 1.0])
def test_a_durable_verdict_comes_out_once_a_crash_would_leave_its_page(tmp_path: Path, days: float | None) -> None:
    given = [FetchedPage(f"http://a.example/{n % 7}", text=TEXT, fetched=n) for n in range(9)]
    near = {"near": {"ttl_days": days}} if days else {}
    with Deduplicator(tmp_path / "open", settings(**near)) as local:
        for number, _ in enumerate(local.judge_found(given, durable=True)):
            shutil.copytree(tmp_path / "open", tmp_path / str(number))
    for number in range(len(given)):
        with Deduplicator(tmp_path / str(number), settings(**near)) as left:
            assert left.judged > number


def test_verdicts_come_while_pages_still_do(in_memory: Deduplicator) -> None:
    told: list[Verdict] = []

    def pages() -> Iterator[FetchedPage]:
        number = 0
        while not told:  # add pages until there is a verdict
            yield FetchedPage(f"http://a.example/{number}", text=f"{TEXT} {number}")
            number += 1

    for _, verdict in in_memory.judge_all(pages()):
        told.append(verdict)
    assert len(told) == in_memory.judged
    assert told[0].verdict == "unique"


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
        verdicts.append(verdict.verdict)
        assert in_memory.judge(f"{page.url}?copy", text=TEXT).duplicate_of == "http://a.example/0"
    assert verdicts == ["unique"] + ["duplicate"] * 9
    assert in_memory.judged == 20


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
