"""``python -m crawler_plugin.spool FILE`` against a real broker, and where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crawler_plugin.spool.file import Spool
from crawler_plugin.spool.records import Destination
from crawler_plugin.wire.outcomes import JobMark
from tests.crawler_plugin.crawling import ROOT, make_topic, marks, records
from tests.crawler_plugin.spool.test_records import page
from worker.broker.ports import free_port


def left_behind(path: Path, count: int, size: int = 1000, to: Destination | None = None) -> None:
    spool = Spool.open(path, 10**9, to)
    assert spool.append([page(number, os.urandom(size), status=200) for number in range(count)]).pages == count
    spool.close()


def send(path: Path, *arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "crawler_plugin.spool", str(path), *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False)


def to(broker: str, prefix: str) -> list[str]:
    return ["-s", f"DEDUP_BOOTSTRAP_SERVERS={broker}", "-s", f"DEDUP_TOPIC_PREFIX={prefix}"]


@pytest.mark.cluster
def test_it_sends_every_page_as_it_was_and_removes_the_file(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    make_topic(broker, topic_prefix)
    path = tmp_path / "pages.spool"
    left_behind(path, 300)
    spool = Spool.open(path, 0)
    pages = []
    while (stored := spool.take()) is not None:
        pages.append(stored.page)
    spool.close()
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
    (tmp_path / "shop" / "settings.py").write_text(f'DEDUP_BOOTSTRAP_SERVERS = "{broker}"\n')
    ended = send(path, "-s", f"DEDUP_TOPIC_PREFIX={topic_prefix}", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "300 pages sent, 0 left" in ended.stderr
    assert not path.exists()
    found = {record.key: (record.value, record.meta.to_headers()) for record in records(broker, topic_prefix)}
    assert found == {sent.key.decode(): (sent.value, list(sent.headers)) for sent in pages}


@pytest.mark.cluster
def test_it_tells_how_many_pages_of_which_job_it_has_sent_and_what_the_crawl_could_not_tell_any_more(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    make_topic(broker, topic_prefix)
    path = tmp_path / "pages.spool"
    spool = Spool.open(path, 10**9)
    spool.append([page(number, job=job, spider="news") for number, job in enumerate("7787")])
    assert spool.keep_marks([JobMark(job="7", spider="news", run="before", pages=500)])
    spool.close()
    ended = send(path, *to(broker, topic_prefix))
    assert ended.returncode == 0, ended.stderr
    assert not path.exists()
    assert marks(broker, topic_prefix) == {("7", "news"): [3, 500], ("8", "news"): [1]}


@pytest.mark.cluster
def test_damage_and_pages_that_are_too_large_are_named_and_the_rest_is_sent(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    make_topic(broker, topic_prefix, max_message_bytes=20_000)
    path = tmp_path / "pages.spool"
    spool = Spool.open(path, 10**9)
    spool.append([page(0, b"small"), page(1, os.urandom(30_000)), page(2, b"damaged")])
    spool.close()
    torn = bytearray(path.read_bytes())
    torn[-1] ^= 1
    path.write_bytes(torn)
    ended = send(path, *to(broker, topic_prefix), "-s", "DEDUP_OVERSIZE=reject")
    assert ended.returncode == 1, ended.stderr
    assert [record.key for record in records(broker, topic_prefix)] == ["https://example.com/0"]
    assert "https://example.com/1#as-it-was: 30" in ended.stderr
    assert "there was https://example.com/2: crawl that again" in ended.stderr
    assert "1 damaged place and 1 page too large" in ended.stderr


@pytest.mark.cluster
def test_pages_go_where_their_crawl_would_have_sent_them_whatever_the_project_says(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    make_topic(broker, topic_prefix)
    make_topic(broker, f"{topic_prefix}other.")
    path = tmp_path / "pages.spool"
    left_behind(path, 20, to=Destination(f"{topic_prefix}pages", f"{topic_prefix}jobs", (broker,), "monday"))
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
    nowhere = f"127.0.0.1:{free_port()}"
    (tmp_path / "shop" / "settings.py").write_text(
        f'DEDUP_BOOTSTRAP_SERVERS = "{nowhere}"\nDEDUP_TOPIC_PREFIX = "{topic_prefix}other."\nDEDUP_DROP = True\n'
    )
    before = path.read_bytes()
    for told, wrong in (
        (f"DEDUP_TOPIC_PREFIX={topic_prefix}other.", f"{topic_prefix}other.pages at {broker}; leave out DEDUP_TOPIC"),
        (f"DEDUP_BOOTSTRAP_SERVERS={nowhere}", f"{topic_prefix}pages at {nowhere}; leave out DEDUP_BOOTSTRAP_SERVERS"),
        ("DEDUP_JOB=tuesday", "belong to monday, and their job cannot be changed; leave out DEDUP_JOB"),
    ):
        refused = send(path, "-s", told, cwd=tmp_path)
        assert (refused.returncode, wrong in refused.stderr) == (2, True), refused.stderr
        assert path.read_bytes() == before
    ended = send(path, "-s", "DEDUP_JOB=monday", "-s", f"DEDUP_BOOTSTRAP_SERVERS={nowhere},{broker}", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert not path.exists()
    assert len(records(broker, topic_prefix)) == 20
    assert records(broker, f"{topic_prefix}other.") == []


@pytest.mark.cluster
def test_pages_go_elsewhere_where_that_is_said(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    make_topic(broker, topic_prefix)
    path = tmp_path / "pages.spool"
    left_behind(path, 5, to=Destination("gone.pages", "gone.jobs", ("kafka.gone:9092",)))
    ended = send(path, *to(broker, topic_prefix), "--elsewhere")
    assert ended.returncode == 0, ended.stderr
    assert len(records(broker, topic_prefix)) == 5


def test_without_a_broker_the_file_stays_and_the_exit_code_says_try_again(tmp_path: Path) -> None:
    path = tmp_path / "pages.spool"
    left_behind(path, 3)
    before = path.read_bytes()
    ended = send(path, *to(f"127.0.0.1:{free_port()}", "x."), "--timeout", "0.5")
    assert ended.returncode == 3
    assert f"3 pages stay in {path}" in ended.stderr
    assert "ECONNREFUSED" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nowhere.spool"], 2, "nowhere.spool: no such file"),
        (["README.md"], 2, "README.md is not a spool"),
        (["README.md", "-s", "DEDUP_OVERSIZE=x"], 2, "DEDUP_OVERSIZE='x': write truncate or reject"),
        (["README.md", "-s", "LOG_LEVEL=x"], 2, "-s LOG_LEVEL=x: write DEDUP_…=VALUE"),
        ([], 2, "the following arguments are required: FILE; see python -m crawler_plugin.spool --help"),
    ],
)
def test_a_wrong_call_is_told_in_one_line(arguments: list[str], code: int, said: str) -> None:
    command = [sys.executable, "-m", "crawler_plugin.spool", *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == code
    assert said in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
