"""The handbook's tutorial with Kafka, followed exactly as printed: its site, its spider, its reader, its output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

import pytest

from tests.cluster.cluster import Cluster
from tests.waiting import wait_for

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = (ROOT / "docs" / "tutorial" / "with-kafka.md").read_text(encoding="utf-8")


def fence(beginning: str) -> str:
    """The only code block with this beginning."""
    found: list[str] = [
        text for text in re.findall(r"```\w+[^\n]*\n(.*?)```", PAGE, re.DOTALL) if text.startswith(beginning)
    ]
    assert len(found) == 1, beginning
    return found[0]


@pytest.mark.cluster
def test_the_tutorials_crawl_gives_the_verdicts_that_it_tells(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    site, serving = fence("mkdir site").rsplit("\n", 2)[:2]
    assert serving.startswith("python -m http.server 8000 ")
    subprocess.run(["bash", "-ec", site], cwd=tmp_path, check=True)
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path / "site")
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"

    def written(name: str, beginning: str) -> str:
        text = fence(beginning).replace("http://127.0.0.1:8000", address).replace("127.0.0.1:9092", broker)
        (tmp_path / name).write_text(text.replace("dedup.deduplicated", f"{topic_prefix}deduplicated"))
        return name

    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    crawl = [sys.executable, "-m", "scrapy", "runspider", written("birds.py", "import scrapy")]
    crawl += ["-s", f"DEDUP_BOOTSTRAP_SERVERS={broker}", "-s", f"DEDUP_TOPIC_PREFIX={topic_prefix}"]
    printed = tmp_path / "printed"

    def lines() -> list[str]:
        return [line.rstrip() for line in printed.read_text().splitlines()]

    def has_printed(count: int) -> bool:
        return len(lines()) >= count

    with Cluster(broker, topic_prefix, tmp_path) as cluster, printed.open("w") as output:
        cluster.start_worker()
        command = [sys.executable, written("reader.py", "from kafka import KafkaConsumer")]
        reader = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=output)
        try:
            for crawls in (1, 2):
                ended = subprocess.run(
                    crawl, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=True
                )
                assert "'dedup/confirmed': 3" in ended.stderr
                wait_for(partial(has_printed, 3 * crawls), "the reader to print the verdicts")
        finally:
            reader.kill()
            reader.wait()
    server.shutdown()
    told = fence("http://127.0.0.1:8000/heron.html").replace("http://127.0.0.1:8000", address).splitlines()
    other = [line.replace("heron", "?").replace("copy", "heron").replace("?", "copy") for line in told]
    first, again = sorted(lines()[:3]), sorted(lines()[3:])
    assert first in (sorted(told), sorted(other))
    assert again == sorted(re.sub(r"^(\S+) unique$", r"\1 refetch \1", line) for line in first)
