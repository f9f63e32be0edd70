"""The demo adds up on a real broker and leaves nothing behind; kept running, it can be looked at."""

from __future__ import annotations

import re
import signal
from http.client import HTTPConnection
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from tests.demo.running import Running
from worker.demo.site import PageKind, build_site

SITE: Final = build_site("http://127.0.0.1:8001", "http://127.0.0.1:8002")


def cell(output: str, label: str) -> int:
    """The number beside this label of the table of sums."""
    found = re.search(rf"│\s+{re.escape(label)}\s+│\s+\(?(\d+)\)?\s+│", output)
    assert found is not None, f"no {label!r} in:\n{output}"
    return int(found[1])


@pytest.mark.cluster
def test_the_demo_adds_up_on_a_real_broker_and_leaves_nothing_behind(tmp_path: Path, running: list[Running]) -> None:
    started = Running(tmp_path)
    running.append(started)
    assert started.status() == 0, started.output
    output = started.output
    stations = (
        "fetched by the spider",
        "confirmed to the spider by Kafka (dedup/confirmed)",
        "records on the topic pages",
        "committed",
    )
    outcomes = {outcome: cell(output, outcome) for outcome in ("unique", "duplicate", "refetch", "dead letter")}
    assert {cell(output, station) for station in stations} == {sum(outcomes.values())} == {SITE.visits}
    assert outcomes["unique"] == len(SITE.groups)
    assert outcomes["dead letter"] == sum(page.kind is PageKind.FILE for page in SITE.pages)
    rules = [cell(output, f"by {rule}") for rule in ("exact-text", "exact-bytes", "hamming", "sketch")]
    assert sum(rules) == outcomes["duplicate"]
    assert all(rules)
    assert re.search(r"\(repost\).* at distance \d+, (hamming|sketch)", output)
    owners = re.findall(r"│ worker [12] │ ([\d ]+) │ +(\d+) │ ([\d ]+) │ +\d+ │", output)
    assert sorted(" ".join(shards for shards, _, _ in owners).split()) == list("01234567")
    assert sorted(" ".join(partitions for _, _, partitions in owners).split()) == list("01234567")
    assert sum(int(survivors) for _, survivors, _ in owners) == outcomes["unique"]
    assert {f"worker {number} owns" in output for number in (1, 2)} == {True}
    assert re.search(r"metrics: http://127\.0\.0\.1:\d+/metrics", output)
    assert "It adds up" in output
    assert started.has_left_nothing()


@pytest.mark.cluster
def test_kept_running_it_can_be_looked_at_until_ctrl_c(tmp_path: Path, running: list[Running]) -> None:
    started = Running(tmp_path, "--keep", "--workers", "1")
    running.append(started)
    started.wait_for("run until Ctrl-C")
    addresses = set(re.findall(r"http://127\.0\.0\.1:\d+/metrics", started.output))
    assert len(addresses) == 1
    committed = 0
    for address in addresses:
        connection = HTTPConnection(urlsplit(address).netloc, timeout=30)
        connection.request("GET", "/metrics")
        exposition = connection.getresponse().read().decode()
        connection.close()
        committed += sum(int(float(n)) for n in re.findall(r"^dedup_pages_total\{.*\} (\S+)", exposition, re.MULTILINE))
    assert committed == SITE.visits
    started.process.send_signal(signal.SIGINT)
    assert started.status() == 0, started.output
    assert started.has_left_nothing()
