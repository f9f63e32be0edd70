"""OAUTHBEARER on a real broker: good tokens, refused ones, and tokens that are renewed while a worker runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

from crawler_plugin.publishing.connection import look_at, producer_options
from crawler_plugin.wire.errors import Unavailable, UsageError
from crawler_plugin.wire.kafka_client.connection import Complaints, complaints
from crawler_plugin.wire.kafka_client.tokens import token_provider
from crawler_plugin.wire.page_headers import PageMeta
from tests.cluster.cluster import Cluster
from tests.cluster.crawl import invented
from tests.crawler_plugin.crawling import make_topic, records
from tests.stream.kafka.oauth_broker import ByToken, oauth_broker
from tests.waiting import wait_for
from worker.config import load_settings
from worker.stream.kafka.connection import client_options, reaching

pytestmark = pytest.mark.cluster

HEADERS = PageMeta(url="https://example.com/").to_headers()
SHORT_S = 8
"""The lifetime of tokens of which a worker needs several. Kafka counts whole seconds, and a busy machine takes some."""


@pytest.fixture(scope="module")
def by_token(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ByToken]:
    with oauth_broker(tmp_path_factory.mktemp("oauth")) as running:
        yield running


@pytest.fixture(autouse=True)
def as_at_first(by_token: ByToken) -> None:
    by_token.issuer.answer = None
    by_token.issuer.lifetime = 300


def options_of(overrides: list[str]) -> dict[str, Any]:
    options = client_options(load_settings(config=None, overrides=overrides, environ={}).kafka)
    return options | {"bootstrap_timeout_ms": 1000}


def written(folder: Path, token: str) -> Path:
    path = folder / "token"
    path.write_text(token)
    return path


@pytest.mark.parametrize("client", [KafkaAdminClient, KafkaConsumer, KafkaProducer])
def test_every_kind_of_client_logs_in_by_file_by_command_and_by_client_credentials(
    by_token: ByToken, tmp_path: Path, client: Any
) -> None:
    file = written(tmp_path, by_token.issuer.token())
    program = f"{sys.executable} -c 'print(open(\"{file}\").read())'"
    for given in ({"sasl_oauth_token_file": file}, {"sasl_oauth_token_command": program}, by_token.credentials()):
        options = options_of(by_token.login(**given))
        with reaching(options):
            client(**options).close()


@pytest.mark.parametrize("claims", [{"aud": "another"}, {"iss": "https://foreign.test"}, {}])
def test_a_token_that_the_broker_refuses_is_told_with_what_it_says(
    by_token: ByToken, tmp_path: Path, claims: dict[str, Any]
) -> None:
    signed = by_token.issuer.token(**claims)
    if not claims:
        signed = signed[:-8] + "AAAAAAAA"  # a wrong signature
    options = options_of(by_token.login(sasl_oauth_token_file=written(tmp_path, signed)))
    with (
        pytest.raises(
            UsageError, match=r"refused the token of kafka\.sasl_oauth_token_file .*iss=.*audience"
        ) as raised,
        reaching(options),
    ):
        KafkaConsumer(**options)
    assert signed not in str(raised.value)


def test_an_issuer_that_is_away_is_told_instead_of_the_broker(by_token: ByToken) -> None:
    login = by_token.login(**by_token.credentials())
    options = options_of(login)
    by_token.issuer.answer = (503, b"")
    options["sasl_oauth_token_provider"] = token_provider(by_token.credentials())  # it has not asked its source yet
    with pytest.raises(Unavailable, match=r"answered 503; see that the issuer works"), reaching(options):
        KafkaConsumer(**options)
    with pytest.raises(Unavailable, match="answered 503"):
        options_of(login)


def test_a_worker_goes_on_over_many_tokens_and_a_short_absence_of_the_issuer(
    by_token: ByToken, topic_prefix: str, tmp_path: Path
) -> None:
    by_token.issuer.lifetime = SHORT_S
    few = ["topics.partitions=1", "topics.shards=1"]
    # Readers from outside use the other address: the last setting counts.
    login = by_token.login(**by_token.credentials())
    with Cluster(by_token.admin, topic_prefix, tmp_path, [*few, *login]) as cluster:
        worker = cluster.start_worker()
        pages = invented(1)
        cluster.publish(islice(pages, 20))
        cluster.wait_until_committed()
        asked = len(by_token.issuer.asked)
        by_token.issuer.answer = (503, b"")
        wait_for(lambda: "no token for Kafka" in worker.said(), "the worker to say so")
        wait_for(lambda: "socket disconnected" in worker.said(), "the broker to hang up, the token being over")
        by_token.issuer.answer = None
        wait_for(lambda: len(by_token.issuer.asked) > asked + 4 or not worker.alive, "more tokens")
        assert worker.alive, worker.said()[-3000:]
        cluster.publish(islice(pages, 20))
        cluster.wait_until_committed()
        assert cluster.stop() == [0]
        said = worker.said()
        assert "Traceback" not in said
        assert "there is a token for Kafka again" in said


def test_a_crawl_logs_in_by_token_too(by_token: ByToken, topic_prefix: str, tmp_path: Path) -> None:
    make_topic(by_token.admin, topic_prefix)
    topic = f"{topic_prefix}pages"
    security = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}

    def options(token: str) -> dict[str, Any]:
        provider = token_provider({"sasl_oauth_token_file": written(tmp_path, token)})
        return producer_options(
            bootstrap_servers=(by_token.address,),
            max_page_bytes=100_000,
            compression=None,
            connection={**security, "sasl_oauth_token_provider": provider},
        )

    good = options(by_token.issuer.token())
    assert look_at(good, topic, Complaints()) is not None
    producer = KafkaProducer(**good)
    producer.send(topic, b"page", key=b"1", headers=HEADERS).get(timeout=30)
    producer.close()
    (record,) = records(by_token.admin, topic_prefix)
    assert record.value == b"page"
    soon = {"bootstrap_timeout_ms": 1000}
    with pytest.raises(Unavailable, match="expires at"):
        look_at(options(by_token.issuer.token(-1)) | soon, topic, Complaints())
    with pytest.raises(UsageError, match=r"the token: iss=.*DEDUP_KAFKA_OPTIONS"), complaints() as heard:
        look_at(options(by_token.issuer.token(aud="x")) | soon, topic, heard)
