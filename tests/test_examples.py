"""From the same archives each example makes the records that ``fingerprint`` makes, and ``judge`` makes the verdicts of
a scan; or the example puts pages on the topic ``pages`` that fulfil its contract.

Spark and Ray come with the extra ``examples``; without them, or Spark's Java, their tests are skipped. So are those of
producers in other languages without a JDK, or without Node.js and npm's registry.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.crawler_plugin.crawling import Answer, Site, serve
from tests.crawler_plugin.crawling import records as records_on_topic
from tests.scan.archives import write_warc
from worker.broker.jars import classpath
from worker.cli.main import main
from worker.local import FetchedPage
from worker.page.extract import extract
from worker.records import SCHEMA, pages
from worker.results.rows import VERDICTS
from worker.sizing.pages import pages_of

ROOT: Final = Path(__file__).resolve().parent.parent
ARCHIVES: Final = 8
PAGES: Final = 240
ONE_PROCESS: Final = ("--set", "page.processes=1")
EXAMPLES: Final = [path.name for path in sorted((ROOT / "examples").glob("*.py"))]
ENGINES: Final = {"records_ray.py": "ray", "records_spark.py": "pyspark"}
"""Examples whose libraries CI does not install, half a gigabyte each; without the mark ``data`` CI may skip them."""
PRODUCERS: Final = ["PublishPages.java", "publish_pages.mjs"]
"""Their tests have no mark either: CI does not install a JDK and Node.js."""


def run(*command: str | Path) -> None:
    """Run a command at the top of this tree, without usage reports."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def run_example(name: str, *arguments: str | Path) -> None:
    engine = ENGINES.get(name)
    if engine is not None and find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed: it comes with the extra examples")
    if engine == "pyspark" and "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        pytest.skip("Spark needs Java: set JAVA_HOME, or install Debian's package openjdk-17-jre-headless")
    run(sys.executable, ROOT / "examples" / name, *arguments)


def table_of(folder: Path) -> pa.Table:
    """The records of all files of a folder, by the files' names."""
    tables = [pq.read_table(path).select(SCHEMA.names) for path in sorted(folder.rglob("*.parquet"))]
    return pa.concat_tables([table.cast(SCHEMA) for table in tables])


def by_place(table: pa.Table) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = table.sort_by([("file", "ascending"), ("offset", "ascending")]).to_pylist()
    return rows


@pytest.fixture(scope="module")
def archives(labelled_sets: list[Path], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """WARC files of labelled pages, by their names."""
    folder = tmp_path_factory.mktemp("archives")
    found = [
        FetchedPage(meta.url, body, content_type=meta.content_type) for meta, body in pages_of(labelled_sets[0], PAGES)
    ]
    step = PAGES // ARCHIVES
    parts = [found[begin : begin + step] for begin in range(0, PAGES, step)]
    return [str(write_warc(part, folder / f"{number}.warc.gz")) for number, part in enumerate(parts)]


@pytest.fixture(scope="module")
def records(archives: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records of all archives, made by shells that each read a part."""
    folder = tmp_path_factory.mktemp("records")
    names = folder / "names"
    names.write_text("\n".join(archives))
    fingerprint = [sys.executable, "-m", "worker", "fingerprint", *ONE_PROCESS]
    run("xargs", "-a", names, "-P", "2", "-n", "4", *fingerprint, "--out", folder)
    assert len([*folder.glob("*.parquet")]) == ARCHIVES
    return folder


@pytest.fixture(scope="module")
def scanned(archives: list[str], tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The verdicts of a scan of all archives."""
    folder = tmp_path_factory.mktemp("scanned")
    assert main(["scan", *archives, "--out", str(folder), "--no-report", *ONE_PROCESS]) == 0
    lines = (folder / VERDICTS).read_bytes()
    assert lines.count(b"\n") == PAGES
    return lines


@pytest.fixture
def judged(tmp_path: Path) -> Callable[[Path], bytes]:
    """The verdicts on the records of a folder."""

    def judge(folder: Path) -> bytes:
        out = tmp_path / "judged"
        assert main(["judge", str(folder), "--out", str(out), "--lines"]) == 0
        return (out / VERDICTS).read_bytes()

    return judge


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in ENGINES else pytest.mark.data) for name in EXAMPLES]
)
def test_an_example_makes_the_records_of_fingerprint_and_the_verdicts_of_a_scan(
    name: str, archives: list[str], records: Path, scanned: bytes, judged: Callable[[Path], bytes], tmp_path: Path
) -> None:
    run_example(name, tmp_path / "out", *archives)
    assert by_place(table_of(tmp_path / "out")) == by_place(table_of(records))
    assert judged(tmp_path / "out") == scanned


@pytest.mark.data
def test_the_records_of_shells_have_the_verdicts_of_a_scan(
    records: Path, scanned: bytes, judged: Callable[[Path], bytes]
) -> None:
    assert judged(records) == scanned


@pytest.mark.parametrize("name", sorted(ENGINES))
def test_an_engine_takes_pages_out_of_a_table_of_its_own(
    name: str, archives: list[str], records: Path, tmp_path: Path
) -> None:
    table = tmp_path / "pages.parquet"
    pq.write_table(pa.Table.from_batches(pages(archives[0])).select(["url", "body"]), table)
    run_example(name, tmp_path / "out", table)
    told = ["url", "dead", "canonical", "fingerprint", "text_hash", "sketch", "scheme"]
    of_first = [row for row in table_of(records).to_pylist() if row["file"] == archives[0]]
    assert table_of(tmp_path / "out").select(told).to_pylist() == [{key: row[key] for key in told} for row in of_first]


def with_packages_of_npm(name: str, folder: Path) -> Path:
    """A copy of an example next to the packages of ``examples/package.json``."""
    if shutil.which("npm") is None:
        pytest.skip("Crawlee needs Node.js: install version 20 or later, with npm")
    for file in (name, "package.json"):
        shutil.copy(ROOT / "examples" / file, folder)
    npm = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"]
    installed = subprocess.run(npm, capture_output=True, text=True, check=False, cwd=folder, timeout=180)
    if installed.returncode:
        pytest.skip(f"npm could not install Crawlee: {installed.stderr.strip()[-500:]}")
    return folder / name


def producer(name: str, folder: Path) -> list[str | Path]:
    """The command that runs an example in another language, without its arguments."""
    if name.endswith(".mjs"):
        return ["node", with_packages_of_npm(name, folder)]
    if shutil.which("javac") is None:
        pytest.skip("a program in Java needs a JDK: install Debian's package openjdk-17-jdk-headless")
    jars = [jar for jar in classpath() if jar.name.startswith(("kafka-clients", "slf4j-api"))]
    return ["java", "-cp", os.pathsep.join(map(str, jars)), ROOT / "examples" / name]


@pytest.mark.parametrize("name", PRODUCERS)
def test_a_producer_in_another_language_sends_pages_as_the_contract_wants_them(
    name: str, broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    settings = ["--set", f"kafka.bootstrap_servers={broker}", "--set", f"topics.prefix={topic_prefix}"]
    assert main(["topics", "create", *settings]) == 0
    gbk = Answer(200, {"Content-Type": "text/html; charset=gbk"}, "<p>渡轮九点开船，到岛上去。</p>".encode("gbk"))
    moved = Answer(302, {"Location": "/page"})
    with serve(Site({"/page": "<p>The ferry – leaves at nine.</p>".encode()}, {"/gbk": gbk, "/moved": moved})) as site:
        run(*producer(name, tmp_path), broker, f"{topic_prefix}pages", *map(site.url, ("/moved", "/gbk")))
    assert main(["topics", "check", "--sample", "100", *settings]) == 0
    found = {}
    for _, key, body, meta, _ in records_on_topic(broker, topic_prefix):
        assert key == meta.url
        assert (meta.status, meta.spider) == (200, "java" if name.endswith(".java") else "crawlee")
        assert meta.fetched is not None
        text = extract(body, content_type=meta.content_type, encoding=meta.encoding).text
        found[meta.url] = text.strip()
    assert found == {
        site.url("/page"): "The ferry – leaves at nine.",
        site.url("/gbk"): "渡轮九点开船，到岛上去。",
    }


@pytest.mark.parametrize("name", [*EXAMPLES, *PRODUCERS])
def test_an_example_is_read_at_a_glance(name: str) -> None:
    assert len((ROOT / "examples" / name).read_text().splitlines()) <= 40
