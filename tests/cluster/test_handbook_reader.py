"""The handbook's reader of ``deduplicated``, exactly as printed there, reads a worker's output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from crawler_plugin.wire.page_headers import PageMeta
from tests.cluster.cluster import Cluster
from tests.waiting import wait_for

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "read-verdicts.md"
TEXT = "A heron stood in the shallows for an hour before it struck, and then the pond was quiet again until evening."


@pytest.mark.cluster
def test_the_reader_of_the_handbook_prints_each_page_with_its_verdict(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    (code,) = re.findall(r"```python\n(from kafka import .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(code.strip().splitlines()) <= 14
    code = code.replace("127.0.0.1:9092", broker).replace("dedup.deduplicated", f"{topic_prefix}deduplicated")
    urls = [f"http://{name}.example/heron" for name in ("one", "two")]
    with Cluster(broker, topic_prefix, tmp_path) as cluster:
        cluster.start_worker()
        cluster.publish((PageMeta(url=url, form="text"), TEXT.encode()) for url in urls)
        cluster.wait_until_committed()
        printed = tmp_path / "printed"
        with printed.open("w") as output:
            reader = subprocess.Popen(
                [sys.executable, "-c", code], stdout=output, env=os.environ | {"PYTHONUNBUFFERED": "1"}
            )
        try:
            wait_for(lambda: len(printed.read_text().splitlines()) >= len(urls), "the reader to print both pages")
        finally:
            reader.kill()
            reader.wait()
    lines = sorted(line.split() for line in printed.read_text().splitlines())
    verdicts = {url: verdict for url, verdict, *_ in lines}
    assert sorted(verdicts) == urls
    assert sorted(verdicts.values()) == ["duplicate", "unique"]
    survivor = next(url for url, verdict in verdicts.items() if verdict == "unique")
    assert [line[2] for line in lines if line[1] == "duplicate"] == [survivor]
