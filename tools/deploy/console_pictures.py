"""``python -m tools.deploy.console_pictures --out docs/images``: plays a crawl, and takes pictures of its console.

Two spiders fetch articles and copies from one server, their proxy; a broker, two workers and a Prometheus run, too.
After some minutes chromium draws console.png by day and, by night, console-narrow.png, the tables on a telephone.
"""

from __future__ import annotations

import argparse
import html
import os
import random
import re
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image

from tests.cluster.cluster import Cluster, running
from tests.crawler_plugin.crawling import Answer, Crawl, Site, serve, to_kafka
from tests.deploy.test_dashboards import browsed, probed
from tests.deploy.watched import HTML, metrics_of
from tests.observe.prometheus import Prometheus
from worker.broker.server import LocalBroker
from worker.demo.articles import LANGUAGES, articles

CRAWLS: Final = {"news": "news-2026-11", "archive": "archive-12"}
COPIES: Final = {"trap": 0, "wiki": 0.3, "mirror": 0.2, "blog": 0.05, "news": 0.08, "archive": 0.14, "museum": 0.12}
"""Share of copies among each host's pages: print versions of its own pages on the wiki, others' articles elsewhere."""
SETTINGS: Final = ("topics.partitions=4", "topics.shards=4", "index.replicas=2", "near.track_changes=true")
PAGES_A_SECOND: Final = 5
SAID: Final = r"metrics of this crawl: http://(\S+)/metrics"
FRAME: Final = '<iframe style="border: 0" width="390" height="4000" srcdoc='
TABLES: Final = "<style>body > :not(h2:has(+ .tables .stack), .tables:has(.stack)) { display: none }</style>"


def fetched(spider: str, pages: int) -> Iterator[tuple[str, Answer]]:
    """What a spider fetches, in its order, and the answers: some are gone, some are no text, some have changed."""
    chance = random.Random(spider)
    texts = [" ".join(p for a in articles() if a.language == language for p in a.paragraphs) for language in LANGUAGES]
    known: dict[str, list[tuple[str, list[str], list[str]]]] = {host: [] for host in COPIES}
    for number in range(pages):
        host, lot, name = chance.choice([*COPIES]), chance.random(), f"{spider}-{number}"
        status, kind, folder, sentences = 200, HTML, "articles", re.findall(r"\S.*?[.?!。？！]", chance.choice(texts))
        others, text = known[host if host == "wiki" else chance.choice([*COPIES])], chance.sample(sentences, 16)
        if host == "trap":
            folder, text = "calendar", ["Nothing on this day. Choose another one."]
        elif lot < 0.09:
            folder, status, kind = ("moved", 404, HTML) if lot < 0.08 else ("files", 200, "application/pdf")
        elif lot < 0.3 and known[host]:
            name, text, sentences = chance.choice(known[host])
            text = [*chance.sample(sentences, new := chance.choice((0, 0, 0, 1, 1, 5))), *text[new:]]
        elif lot < 0.3 + COPIES[host] and others:
            folder, text = "print" if host == "wiki" else "read", chance.choice(others)[1]
        else:
            known[host].append((name, text, sentences))
        body = f"<article><p>{'</p><p>'.join(text)}</p></article>" if kind == HTML else "%PDF-1.7"
        yield f"http://{host}.example/{folder}/{name}", Answer(status, {"Content-Type": kind}, body.encode())


def site_for(pages: int) -> Site:
    """All hosts, as the spiders' proxy; each spider finds this many links on its first page."""
    site, answers = Site({}), dict[str, list[Answer]]()
    for spider in CRAWLS:
        links = ""
        for url, answer in fetched(spider, pages):
            answers.setdefault(url, []).append(answer)
            site.before_page[url] = partial(lambda url: site.others.update({url: answers[url].pop(0)}), url)
            links += f'<a href="{url}">read</a>'
        site.others[f"http://{spider}.example/"] = Answer(200, {"Content-Type": HTML}, links.encode())
    return site


def at_work(stack: ExitStack, folder: Path, pages: int) -> Prometheus:
    """A crawl that ends with the stack, and the server that watches it."""
    site = stack.enter_context(serve(site_for(pages)))
    broker = stack.enter_context(LocalBroker(data_dir=folder / "broker", announce=print))
    cluster = stack.enter_context(Cluster(broker.bootstrap_servers, "pictures.", folder, SETTINGS))
    workers = [metrics_of(running(worker)) for worker in [cluster.start_worker() for _ in range(2)]]
    os.environ |= {"http_proxy": site.url(""), "no_proxy": "127.0.0.1"}  # for the spiders, which inherit it
    told = to_kafka(broker.bootstrap_servers, "pictures.") | {"DEDUP_CAPTURE": True, "DEDUP_STATS_PORT": 0}
    told |= {"DEDUP_CAPTURE_TYPES": "text/*, application/pdf", "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}
    told |= {"DOWNLOAD_DELAY": len(COPIES) / PAGES_A_SECOND, "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}
    spiders = []
    for spider, job in CRAWLS.items():
        (folder / spider).mkdir()
        settings = told | {"ARGUMENTS": {"name": spider}, "DEDUP_JOB": job, "CONCURRENT_REQUESTS": 64}
        crawl = Crawl(folder / spider, "site", f"http://{spider}.example/", settings)
        stack.callback(crawl.end)
        stack.callback(crawl.send_signal, signal.SIGTERM)
        crawl.wait_for_log(SAID)
        spiders += re.findall(SAID, crawl.log)
    return stack.enter_context(Prometheus(folder, *workers, spiders=spiders))


def draw(url: str, home: Path, out: Path, width: int, day: int) -> None:
    """Take a picture, as wide as this and as high as what is on it, by day (1) or by night (0)."""
    browsed(url, home, f"--screenshot={out}", f"--blink-settings=preferredColorScheme={day}", "--window-size=1280,4000")
    shot = np.asarray(Image.open(out).convert("RGB"))[:, :width]
    Image.fromarray(shot[: (shot != shot[-1, 0]).any(axis=(1, 2)).nonzero()[0][-1] + 20]).quantize().save(out)


def main() -> None:
    """Play and draw; no picture if something on the console is empty, cut or wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.deploy.console_pictures", description=__doc__)
    parser.add_argument("--minutes", type=float, default=7, help="how long the crawl runs before")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the pictures")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="console-") as name, ExitStack() as stack:
        prometheus = at_work(stack, Path(name), int((options.minutes + 5) * 60 * PAGES_A_SECOND))
        time.sleep(options.minutes * 60)
        seen = probed(prometheus, "dedup.html", Path(name), 390)
        if wrong := seen["errors"] + seen["empty"] + seen["cut"]:
            raise SystemExit(f"the console is not as it should be: {wrong}")
        address, frame = f"http://{prometheus.address}/consoles/", Path(name, "frame.html")
        draw(f"{address}dedup.html?range=15m", Path(name, "profile"), options.out / "console.png", 1280, day=1)
        page = prometheus.get("/consoles/dedup.html")[1].replace("</head>", f'<base href="{address}">{TABLES}</head>')
        frame.write_text(f'<meta charset="utf-8"><body style="margin: 0">{FRAME}"{html.escape(page)}"></iframe>')
        draw(frame.as_uri(), Path(name, "profile"), options.out / "console-narrow.png", 390, day=0)


if __name__ == "__main__":
    main()
