"""A watched crawl: the number of pages past each station, and the message when it does not go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.topics import topic_specs
from worker.compose.processes import ModuleProcess
from worker.config import KafkaSettings
from worker.demo.progress import Stations
from worker.demo.server import SiteServer
from worker.demo.watching import Watching
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.publish import publish_pages
from worker.stream.kafka.topic_admin import create_topics


@pytest.mark.cluster
def test_a_worker_that_ends_and_a_crawl_that_stands_still_are_told_with_what_they_said(
    broker: str, topic_prefix: str, module_folder: Path
) -> None:
    options = client_options(KafkaSettings(bootstrap_servers=broker))
    create_topics(options, topic_specs(prefix=topic_prefix, partitions=1, shards=1), 1)
    (module_folder / "child_waits.py").write_text("import signal\nprint('spider waits', flush=True)\nsignal.pause()\n")
    (module_folder / "child_fails.py").write_text("raise SystemExit('scheme mismatch')\n")
    with (
        SiteServer() as site,
        ModuleProcess("spider", "child_waits", [], module_folder) as spider,
        ModuleProcess("worker 1", "child_fails", [], module_folder) as failing,
        Watching(options, topic_prefix, site, spider, []) as without_worker,
        Watching(options, topic_prefix, site, spider, [failing]) as with_worker,
    ):
        publish_pages(options, topic_prefix, [(PageMeta(url=site.site.start), b"")])
        without_worker.look(0)
        assert without_worker.stations == Stations(published=1)
        assert not without_worker.is_over
        without_worker.check(60)
        while spider.find("spider waits") is None:
            without_worker.look(0.1)
        with pytest.raises(Unavailable, match=r"(?s)nothing has moved .*1 published.*spider waits"):
            without_worker.check(0)
        failing._process.wait(60)
        with pytest.raises(Unavailable, match=r"(?s)worker 1 ended with exit status 1.*scheme mismatch"):
            with_worker.check(60)
