"""``python -m worker forget``: its arguments, and its effect on the real broker."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from msgspec import structs

from crawler_plugin.wire.errors import CheckFailed, UsageError
from crawler_plugin.wire.forgetting import ForgetCondition
from crawler_plugin.wire.page_headers import PageMeta
from tests.cluster.cluster import Cluster
from tests.cluster.crawl import invented
from tests.cluster.outside import traces
from tests.guarantees import check_guarantees
from worker.cli import forget as command
from worker.compose import parts
from worker.config import Settings, load_settings
from worker.fingerprint.fingerprinter import Fingerprinter

ASKED: dict[tuple[str, str], tuple[str, str]] = {
    ("--site", "Example.ORG"): ("site", "example.org"),
    ("--site", "müller.co.uk"): ("site", "xn--mller-kva.co.uk"),
    ("--host", "WWW.example.org"): ("host", "www.example.org"),
    ("--host", "10.0.0.1"): ("host", "10.0.0.1"),
    ("--url-prefix", "HTTP://Example.org:80/User/1?q"): ("url-prefix", "http://example.org/User/1?q"),
}
REFUSED: dict[tuple[str, str], str] = {
    ("--site", "co.uk"): "no registered domain: give one",
    ("--site", "localhost"): "no registered domain",
    ("--site", "www.example.org"): r"its site is example\.org",
    ("--site", ""): "is no host",
    ("--host", "http://example.org/"): "is no host",
    ("--host", "example.org:80@x"): "is no host",
    ("--host", " "): "is no host",
    ("--url-prefix", ""): "slash after the host",
    ("--url-prefix", "https://example.org"): "slash after the host",
    ("--url-prefix", "/user/"): "slash after the host",
    ("--url-prefix", "https://example.org/" + "é" * 2048): "4116 bytes",
    ("--before", "2999-01-01"): "lies in the future",
    ("--before", "yesterday"): "is no time",
    ("--before", ""): "is no time",
    ("--scope", "shop"): r"near\.scope is global: use --host",
}


def asked(settings: Settings, *arguments: str) -> ForgetCondition:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return command.condition_of(parser.parse_args(arguments), settings, parts.recipe(settings))


def settings_with(*overrides: str) -> Settings:
    return load_settings(config=None, overrides=list(overrides), environ={})


@pytest.mark.parametrize(("given", "wanted"), ASKED.items())
def test_what_is_asked_for_is_put_as_canonical_urls_have_it(given: tuple[str, str], wanted: tuple[str, str]) -> None:
    found = asked(Settings(), *given)
    assert (found.kind, found.text, found.number) == (*wanted, 0)
    assert bool(found.site) == (given[1] != "10.0.0.1")


@pytest.mark.parametrize(("given", "why"), REFUSED.items())
def test_what_there_cannot_be_or_says_more_than_is_meant_is_refused(given: tuple[str, str], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        asked(Settings(), *given)


def test_the_site_that_goes_with_a_condition_is_that_of_its_pages_claims(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"sixteen bytes and more")
    for settings in (Settings(), settings_with(f"fingerprint.key_file={key}")):
        recipe = parts.recipe(settings)
        page = Fingerprinter(recipe)(b"<p>some words", PageMeta(url="http://www.example.org/a"))
        assert page.site == asked(settings, "--host", "www.example.org").site
        assert page.site == asked(settings, "--site", "example.org").site


def test_a_time_and_a_scope_are_numbers() -> None:
    assert asked(Settings(), "--before", "1970-01-02") == ForgetCondition(kind="before", number=86_400_000)
    for scope, name, url in (("host", "A.example", "http://a.example/x"), ("site", "b.example", "http://c.b.example/")):
        settings = settings_with(f"near.scope={scope}")
        of = parts.scope_of(settings, parts.recipe(settings))
        assert asked(settings, "--scope", name) == ForgetCondition(kind="scope", number=of(url, ()))
    settings = settings_with("near.scope=header:spider")
    of = parts.scope_of(settings, parts.recipe(settings))
    assert asked(settings, "--scope", "a b").number == of("http://a.example/", [("spider", b"a b")])
    with pytest.raises(UsageError, match="is empty"):
        asked(settings, "--scope", "")


@pytest.fixture
def cluster(broker: str, topic_prefix: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(broker, topic_prefix, tmp_path, ["topics.shards=2", "topics.partitions=2"]) as made:
        yield made


@pytest.mark.cluster
def test_a_host_is_forgotten_in_the_middle_of_a_crawl_and_stays_so_when_a_worker_is_killed(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> list[str]:
        parser = argparse.ArgumentParser()
        command.configure(parser)
        assert command.run(parser.parse_args(arguments), lambda: cluster.settings) == 0
        return capsys.readouterr().out.splitlines()

    host = ["--host", "1.example"]
    with pytest.raises(CheckFailed, match="nothing was ever judged"):
        run(*host)
    for _ in range(2):
        cluster.start_worker()
    pages = [page for both in zip(islice(invented(1), 40), islice(invented(2), 40), strict=True) for page in both]
    cluster.publish(pages)
    cluster.wait_until_committed()
    with pytest.raises(CheckFailed, match=r"shards 0, 1 have not passed the record after 0 s\. The record stays"):
        run("--host", "nowhere.example", "--yes", "--timeout", "0")
    capsys.readouterr()
    said = run(*host, "--yes")
    assert said[0].endswith("says: forget URLs of the host 1.example")
    assert said[-1] == "all shards have forgotten"
    rows = {line.split()[0]: line for line in said[2:-1]}
    assert rows[f"{cluster.prefix}pages"].endswith("for 7 days") and "index copy" in rows[f"{cluster.prefix}index"]
    assert run(*host)[0] == "0 entries on index would be forgotten: URLs of the host 1.example"
    found = run("--host", "2.example")
    assert not found[0].startswith("0 ") and "  http://2.example/" in "\n".join(found)

    cluster.workers[0].kill()
    cluster.start_worker()
    cluster.publish((structs.replace(meta, url=f"{meta.url}?again"), body) for meta, body in pages)
    cluster.wait_until_committed()
    assert set(cluster.stop()) == {0}
    left = traces(cluster.bootstrap, cluster.prefix)
    check_guarantees(left)
    again = {
        host: {r.verdict for r in left.verdicts if r.url.startswith(f"http://{host}/") and "again" in r.url}
        for host in ("1.example", "2.example")
    }
    assert "unique" in again["1.example"]
    assert again["2.example"] == {"duplicate"}
