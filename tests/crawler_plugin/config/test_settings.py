"""From Scrapy's settings to the plugin's, and the errors on wrong ones."""

from __future__ import annotations

import dataclasses
import itertools
import ssl
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from scrapy.settings import Settings

from crawler_plugin.config.catalogue import PREFIX, SETTINGS
from crawler_plugin.config.settings import PluginSettings, is_enabled
from crawler_plugin.config.wanted import Wanted
from crawler_plugin.feedback.decision import FeedbackPolicy
from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.kafka_client import options
from crawler_plugin.wire.kafka_client.token_sources import OAUTH_OPTIONS
from crawler_plugin.wire.topics import topic_specs


def read(**settings: Any) -> PluginSettings:
    return PluginSettings.read(Settings(settings))


DEFAULT_CAPTURE = Wanted(
    ("text/*", "application/xml", "application/*+xml", "application/json", "application/*+json"), ((200, 299),)
)


def test_without_settings_pages_go_to_the_broker_that_this_project_starts() -> None:
    settings = read()
    assert settings.bootstrap_servers == ("127.0.0.1:9092",)
    assert settings.topic == "dedup.pages"
    assert settings.fields["body"] == "body"
    assert settings.oversize == "truncate"
    assert settings.job is None


def test_the_largest_page_fits_the_topic_as_it_is_made_by_default() -> None:
    pages = next(spec for spec in topic_specs() if spec.topic == "pages")
    assert read().max_page_bytes + 16 * 1024 == int(pages.config["max.message.bytes"])


def test_every_setting_can_be_none_which_means_its_default() -> None:
    assert read(**dict.fromkeys(SETTINGS)) == read()


def test_the_state_of_a_crawl_that_judges_its_pages_is_where_it_is_told_or_in_its_job() -> None:
    assert read(DEDUP_MODE="local").state is None
    assert read(DEDUP_MODE="local", JOBDIR="jobs/1").state == "jobs/1/dedup"
    assert read(DEDUP_MODE="local", JOBDIR="jobs/1", DEDUP_STATE=Path("seen")).state == "seen"


def test_feedback_is_off_by_default_and_what_it_is_told_is_read_from_text_too() -> None:
    assert read().feedback is None
    assert read(DEDUP_FEEDBACK=True).feedback == FeedbackPolicy()
    told = {"ACTION": "drop", "MIN": "50", "EXPLORE": "0.1", "BUDGET": "500", "DRY_RUN": "1", "SEED": "7"}
    assert read(DEDUP_FEEDBACK="1", **{f"DEDUP_FEEDBACK_{name}": value for name, value in told.items()}).feedback == (
        FeedbackPolicy("drop", least=50, explore=0.1, budget=500, seed=7, is_dry_run=True)
    )


@pytest.mark.parametrize(
    ("name", "value"), [("ACTION", "delay"), ("MIN", 19), ("EXPLORE", 0), ("EXPLORE", 1.01), ("BUDGET", -1)]
)
def test_feedback_that_cannot_work_is_refused_though_it_is_off(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"DEDUP_FEEDBACK_{name}={value!r}: write "):
        read(**{f"DEDUP_FEEDBACK_{name}": value})


def test_what_is_dropped_are_duplicates_and_if_it_is_said_refetches() -> None:
    assert read(DEDUP_MODE="local").drop == set()
    assert read(DEDUP_MODE="local", DEDUP_DROP="1").drop == {"duplicate"}
    assert read(DEDUP_AWAIT=10, DEDUP_DROP="1").drop == {"duplicate"}
    assert read(DEDUP_MODE="local", DEDUP_DROP=True, DEDUP_DROP_REFETCHES=True).drop == {"duplicate", "refetch"}
    with pytest.raises(UsageError, match="DEDUP_DROP_REFETCHES: it has no effect without DEDUP_DROP = True"):
        read(DEDUP_MODE="local", DEDUP_DROP_REFETCHES=True)


@pytest.mark.parametrize("told", [{"DEDUP_STATE": "a"}, {"DEDUP_CONFIG": "b"}, {"DEDUP_LOCAL_PYTHON": "c"}])
def test_what_only_a_crawl_without_kafka_reads_is_refused_in_another_one(told: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="no effect without DEDUP_MODE = 'local'"):
        read(**told)


NEEDS: Final[Mapping[str, tuple[object, Sequence[Mapping[str, object]]]]] = {
    "DEDUP_STATE": ("seen", [{"DEDUP_MODE": "local"}]),
    "DEDUP_CONFIG": ("config.yaml", [{"DEDUP_MODE": "local"}]),
    "DEDUP_LOCAL_PYTHON": ("python3", [{"DEDUP_MODE": "local"}]),
    "DEDUP_DROP": (True, [{"DEDUP_MODE": "local"}, {"DEDUP_AWAIT": 1}]),
    "DEDUP_DROP_REFETCHES": (
        True,
        [{"DEDUP_MODE": "local", "DEDUP_DROP": True}, {"DEDUP_AWAIT": "1", "DEDUP_DROP": "1"}],
    ),
    "DEDUP_AWAIT_RESPONSES": (
        True,
        [{"DEDUP_CAPTURE": True, "DEDUP_AWAIT": 1}, {"DEDUP_CAPTURE": True, "DEDUP_MODE": "local"}],
    ),
    "DEDUP_DROPPED": ("dropped.jl", [{"DEDUP_MODE": "local", "DEDUP_DROP": True}]),
    "DEDUP_BUFFER_BYTES": (4096, [{"DEDUP_MAX_PAGE_BYTES": 4096}]),
    "DEDUP_MAX_PAGE_BYTES": (2**27, [{"DEDUP_BUFFER_BYTES": 2**28}]),
}
"""For each setting that needs another one: a value with which it does, and the settings that it may need."""


@pytest.mark.parametrize(("name", "needed"), [(name, each) for name, (_, needs) in NEEDS.items() for each in needs])
def test_what_a_setting_needs_may_come_from_project_or_spider_and_is_looked_at_when_both_are_there(
    name: str, needed: Mapping[str, object]
) -> None:
    every = {name: NEEDS[name][0], **needed}
    assert all(PluginSettings.read(Settings({one: value}), are_merged=False) for one, value in every.items())
    for in_project in itertools.product([True, False], repeat=len(every)):
        by = dict(zip(every, in_project, strict=True))
        settings = Settings({one: value for one, value in every.items() if by[one]})
        PluginSettings.read(settings, are_merged=False)
        settings.update({one: value for one, value in every.items() if not by[one]}, priority="spider")
        PluginSettings.read(settings)
    with pytest.raises(UsageError, match=name):
        read(**{name: NEEDS[name][0]})


def test_settings_that_need_others_are_all_walked_over() -> None:
    """For all pairs: where both settings pass alone in a project, none is refused before the spider's are merged."""
    values = {name: value for name, (value, _) in NEEDS.items()} | {"DEDUP_MODE": "local", "DEDUP_AWAIT": 1}
    for size in (1, 2, 3):
        for names in itertools.combinations(values, size):
            PluginSettings.read(Settings({name: values[name] for name in names}), are_merged=False)


@pytest.mark.parametrize("name", ["DEDUP_REDIS_URL", "DEDUP_REDIS_PORT", "DEDUP_KEY", "DEDUP_STRATEGY", "DEDUP_XYZ"])
def test_a_name_that_is_another_programs_is_passed_over(name: str) -> None:
    assert read(**{name: "x"}) == dataclasses.replace(read(), foreign=(name,))


def test_every_setting_that_is_misspelt_by_a_letter_is_an_error_that_names_it() -> None:
    for name in SETTINGS:
        for place in range(len(PREFIX), len(name)):
            misspelt = name[:place] + name[place + 1 :]
            if misspelt not in SETTINGS and misspelt != PREFIX:
                with pytest.raises(UsageError, match=f"{misspelt}: no such setting, did you mean {PREFIX}"):
                    read(**{misspelt: "x"})


def test_nothing_can_be_dropped_where_no_verdict_comes_back() -> None:
    with pytest.raises(UsageError, match="DEDUP_DROP: it has no effect without DEDUP_AWAIT, or DEDUP_MODE = 'local'"):
        read(DEDUP_DROP=True)


def test_verdicts_are_awaited_of_the_generation_that_is_named() -> None:
    assert not read().tells
    told = read(DEDUP_AWAIT="2.5", DEDUP_GENERATION="b", DEDUP_TOPIC_PREFIX="news.")
    assert (told.tells, told.patience) == (True, 2.5)
    assert (told.verdicts, told.dead_letters, told.topic) == ("news.verdicts.b", "news.dead-letters.b", "news.pages")
    with pytest.raises(UsageError, match="DEDUP_GENERATION='a b': write text of letters"):
        read(DEDUP_GENERATION="a b")


@pytest.mark.parametrize(
    ("name", "value", "attribute", "read_as"),
    [
        ("DEDUP_BOOTSTRAP_SERVERS", "a:1, b:2", "bootstrap_servers", ("a:1", "b:2")),
        ("DEDUP_BOOTSTRAP_SERVERS", ["a:1", "[::1]:9092"], "bootstrap_servers", ("a:1", "[::1]:9092")),
        ("DEDUP_TOPIC_PREFIX", "", "topic", "pages"),
        ("DEDUP_BUFFER_BYTES", "100000000", "buffer_bytes", 100_000_000),
        ("DEDUP_MAX_PAGE_BYTES", 4096, "max_page_bytes", 4096),
        ("DEDUP_FLUSH_TIMEOUT", "0.5", "flush_timeout", 0.5),
        ("DEDUP_FLUSH_TIMEOUT", 0, "flush_timeout", 0.0),
        ("DEDUP_OVERSIZE", "reject", "oversize", "reject"),
        ("DEDUP_COMPRESSION", "none", "compression", None),
        ("DEDUP_COMPRESSION", "gzip", "compression", "gzip"),
        ("DEDUP_JOB", "monday", "job", "monday"),
        ("DEDUP_CAPTURE", False, "captured", None),
        ("DEDUP_CAPTURE", "0", "captured", None),
        ("DEDUP_CAPTURE", "True", "captured", DEFAULT_CAPTURE),
        ("DEDUP_CAPTURE", 1, "captured", DEFAULT_CAPTURE),
        ("JOBDIR", "crawls/books-1/", "job", "books-1"),
    ],
)
def test_a_value_is_read(name: str, value: object, attribute: str, read_as: object) -> None:
    assert getattr(read(**{name: value}), attribute) == read_as


@pytest.mark.parametrize(
    ("value", "read_as"), [(None, True), (True, True), ("true", True), (False, False), ("False", False), (0, False)]
)
def test_whether_it_is_enabled_is_read_as_scrapy_reads_it(value: object, read_as: bool) -> None:
    assert is_enabled(Settings({"DEDUP_ENABLED": value})) is read_as


def test_fields_are_told_as_a_mapping_or_as_json_and_the_others_keep_their_names() -> None:
    for fields in ({"body": "html", "status": None}, '{"body": "html", "status": null}'):
        names = read(DEDUP_FIELDS=fields).fields
        assert (names["body"], names["url"]) == ("html", "url")
        assert "status" not in names


def test_the_crawls_name_is_taken_from_where_it_is_told_most_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRAPY_JOB", "from-scrapyd")
    assert read(JOBDIR="from/folder").job == "from-scrapyd"
    assert read(JOBDIR="from/folder", DEDUP_JOB="told").job == "told"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"DEDUP_BOOTSTRAP_SERVERS": "localhost"}, "DEDUP_BOOTSTRAP_SERVERS='localhost': write text such as kafka-1:"),
        ({"DEDUP_BOOTSTRAP_SERVERS": "a:99999"}, "DEDUP_BOOTSTRAP_SERVERS"),
        ({"DEDUP_BOOTSTRAP_SERVERS": "a:0"}, "DEDUP_BOOTSTRAP_SERVERS"),
        ({"DEDUP_BOOTSTRAP_SERVERS": "a:1,,b:1"}, "DEDUP_BOOTSTRAP_SERVERS"),
        ({"DEDUP_BOOTSTRAP_SERVERS": []}, "DEDUP_BOOTSTRAP_SERVERS"),
        ({"DEDUP_BOOTSTRAP_SERVERS": 9092}, "DEDUP_BOOTSTRAP_SERVERS"),
        ({"DEDUP_TOPIC_PREFIX": "a b"}, "DEDUP_TOPIC_PREFIX='a b': write text of letters"),
        ({"DEDUP_TOPIC_PREFIX": "x" * 201}, "DEDUP_TOPIC_PREFIX"),
        ({"DEDUP_FIELDS": {"html": "body"}}, "DEDUP_FIELDS"),
        ({"DEDUP_FIELDS": {"body": ""}}, "DEDUP_FIELDS"),
        ({"DEDUP_FIELDS": "{"}, "DEDUP_FIELDS: write a mapping from url, body"),
        ({"DEDUP_FIELDS": 3}, "DEDUP_FIELDS"),
        ({"DEDUP_FIELDS": {"url": None}}, "url and one of body and text are needed"),
        ({"DEDUP_FIELDS": {"body": None, "text": None}}, "url and one of body and text are needed"),
        ({"DEDUP_JOB": 5}, "DEDUP_JOB=5: write text, or None"),
        ({"DEDUP_JOB": "\udcff"}, r"DEDUP_JOB='\udcff': write text, or None"),
        ({"JOBDIR": "job\udcff"}, r"JOBDIR='job\udcff': its name is not UTF-8, give it another one"),
        ({"DEDUP_MODE": "local", "DEDUP_STATE": "seen\udcff"}, r"DEDUP_STATE='seen\udcff': write"),
        ({"DEDUP_CAPTURE": "yes"}, "DEDUP_CAPTURE='yes': write True or False"),
        ({"DEDUP_CAPTURE_TYPES": "html"}, "commas; * stands for any letters ('html' is no media type)"),
        ({"DEDUP_CAPTURE_STATUS": [700, "ok"]}, "('ok' is neither a status nor a range)"),
        (
            {"DEDUP_BUFFER_BYTES": 100_000},
            "write a whole number, at least DEDUP_MAX_PAGE_BYTES (here at least 8372224)",
        ),
        ({"DEDUP_BUFFER_BYTES": True}, "DEDUP_BUFFER_BYTES=True"),
        ({"DEDUP_BUFFER_BYTES": 1e8}, "DEDUP_BUFFER_BYTES"),
        ({"DEDUP_BUFFER_BYTES": "64M"}, "DEDUP_BUFFER_BYTES='64M'"),
        ({"DEDUP_MAX_PAGE_BYTES": 4095}, "write a whole number from 4096"),
        ({"DEDUP_MAX_PAGE_BYTES": 2**30 + 1, "DEDUP_BUFFER_BYTES": 2**40}, "DEDUP_MAX_PAGE_BYTES"),
        ({"DEDUP_FLUSH_TIMEOUT": -1}, "DEDUP_FLUSH_TIMEOUT=-1: write seconds"),
        ({"DEDUP_FLUSH_TIMEOUT": "nan"}, "DEDUP_FLUSH_TIMEOUT"),
        ({"DEDUP_FLUSH_TIMEOUT": [3]}, "DEDUP_FLUSH_TIMEOUT"),
        ({"DEDUP_OVERSIZE": "drop"}, "DEDUP_OVERSIZE='drop': write truncate or reject"),
        ({"DEDUP_COMPRESSION": "brotli"}, "DEDUP_COMPRESSION='brotli'"),
        ({"DEDUP_COMPRESSION": ["gzip"]}, "DEDUP_COMPRESSION"),
        ({"DEDUP_PREFIX": "a."}, "DEDUP_PREFIX: no such setting, did you mean DEDUP_TOPIC_PREFIX?"),
        ({"DEDUP_SPOL": "x"}, "DEDUP_SPOL: no such setting, did you mean DEDUP_SPOOL?"),
        ({"DEDUP_KAFKA_OPTIONS": {"acks": 0}}, "DEDUP_KAFKA_OPTIONS['acks']: not an option that can be passed"),
        ({"DEDUP_KAFKA_OPTIONS": {"sasl_plain_user": "x"}}, "did you mean sasl_plain_username?"),
        ({"DEDUP_KAFKA_OPTIONS": {"ssl_check_hostname": "no"}}, "['ssl_check_hostname']: a str, write bool"),
        ({"DEDUP_KAFKA_OPTIONS": {"request_timeout_ms": True}}, "['request_timeout_ms']: a bool, write int"),
        ({"DEDUP_KAFKA_OPTIONS": {"request_timeout_ms": 0}}, "['request_timeout_ms']=0: write milliseconds, above 0"),
        ({"DEDUP_KAFKA_OPTIONS": {"delivery_timeout_ms": 9000}}, "write at least twice that"),
        ({"DEDUP_KAFKA_OPTIONS": {"security_protocol": "TLS"}}, "write one of PLAINTEXT, SSL"),
        (
            {"DEDUP_KAFKA_OPTIONS": {"ssl_cafile": "ca.pem"}},
            "ssl_cafile have no effect with security_protocol PLAINTEXT",
        ),
        ({"DEDUP_KAFKA_OPTIONS": {"security_protocol": "SASL_SSL"}}, "['sasl_mechanism']=None: write one of PLAIN"),
        (
            {"DEDUP_KAFKA_OPTIONS": {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"}},
            "PLAIN needs sasl_plain_password, sasl_plain_username too",
        ),
        (
            {"DEDUP_KAFKA_OPTIONS": {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"}},
            "['sasl_mechanism']: OAUTHBEARER takes its tokens from one of sasl_oauth_token_file",
        ),
        (
            {
                "DEDUP_KAFKA_OPTIONS": {
                    "security_protocol": "SASL_SSL",
                    "sasl_mechanism": "OAUTHBEARER",
                    "sasl_oauth_token_url": "https://issuer.test/",
                    "sasl_oauth_client_id": "a",
                    "sasl_oauth_client_secret": "b",
                    "sasl_oauth_cafile": __file__,
                }
            },
            "['sasl_oauth_cafile']: cannot be used",
        ),
        (
            {"DEDUP_KAFKA_OPTIONS": {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "AWS_MSK_IAM"}},
            "AWS_MSK_IAM needs security_protocol SASL_SSL",
        ),
        (
            {"DEDUP_KAFKA_OPTIONS": {"security_protocol": "SSL", "ssl_cafile": "/nowhere/ca.pem"}},
            "check ssl_cafile, ssl_certfile",
        ),
        ({"DEDUP_KAFKA_OPTIONS": {"security_protocol": "SSL", "ssl_ciphers": "none such"}}, "ssl_ciphers"),
    ],
)
def test_a_wrong_value_is_named_with_what_to_write(settings: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(**settings)
    assert said in str(raised.value)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(UsageError, match=r"DEDUP_OVERSIZE.*DEDUP_FLUSH_TIMEOUT"):
        read(DEDUP_OVERSIZE="x", DEDUP_FLUSH_TIMEOUT="y")


def test_a_codec_whose_package_is_missing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(options._CODECS, "lz4", lambda: False)
    told = r"brings lz4 is not installed: pip install 'crawl-dedup-scrapy\[compression\]'"
    with pytest.raises(UsageError, match=told):
        read(DEDUP_COMPRESSION="lz4")


def test_without_the_crc32c_wheel_no_crawl_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "crc32c", None)
    with pytest.raises(UsageError, match=r"pip install 'kafka-python\[crc32c\]'"):
        read()


SECRET = "open sesame"
LOGIN = {"sasl_mechanism": "PLAIN", "sasl_plain_username": "crawler", "sasl_plain_password": SECRET}


def test_tokens_are_handed_over_by_a_provider() -> None:
    given = {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_file": "/token"}
    connection = read(DEDUP_KAFKA_OPTIONS=given).connection
    assert connection["sasl_oauth_token_provider"].named == "sasl_oauth_token_file"
    assert not [name for name in connection if name in OAUTH_OPTIONS]
    own = read(DEDUP_KAFKA_OPTIONS={**given, "sasl_oauth_token_file": None, "sasl_oauth_token_provider": SECRET})
    assert own.connection["sasl_oauth_token_provider"] is SECRET


def test_a_password_is_handed_over_and_never_shown() -> None:
    settings = read(DEDUP_KAFKA_OPTIONS={"security_protocol": "SASL_PLAINTEXT", **LOGIN})
    assert settings.connection["sasl_plain_password"] == SECRET
    assert SECRET not in repr(settings)
    for wrong in ({"acks": 1}, {"client_id": 4}):
        with pytest.raises(UsageError) as raised:
            read(DEDUP_KAFKA_OPTIONS={**LOGIN, **wrong})
        assert SECRET not in str(raised.value)
    with pytest.raises(UsageError) as raised:
        read(DEDUP_KAFKA_OPTIONS=SECRET)
    assert SECRET not in str(raised.value)


def test_tls_checks_the_brokers_name_and_certificate_unless_told_otherwise() -> None:
    context = read(DEDUP_KAFKA_OPTIONS={"security_protocol": "SSL"}).connection["ssl_context"]
    assert context.check_hostname
    assert context.verify_mode == ssl.CERT_REQUIRED
    context = read(DEDUP_KAFKA_OPTIONS={"security_protocol": "SSL", "ssl_check_hostname": False}).connection[
        "ssl_context"
    ]
    assert not context.check_hostname


def test_a_file_that_is_no_certificate_is_refused_at_the_start(tmp_path: Path) -> None:
    pem = tmp_path / "some.pem"
    pem.write_text("no certificate")
    with pytest.raises(UsageError, match="cannot use the TLS files"):
        read(DEDUP_KAFKA_OPTIONS={"security_protocol": "SSL", "ssl_certfile": str(pem)})


def test_the_port_of_the_metrics_may_stand_alone_or_behind_an_address_of_this_machine() -> None:
    assert read().metrics is None
    assert read(DEDUP_STATS_PORT=9564).metrics == ("127.0.0.1", 9564)
    assert read(DEDUP_STATS_PORT="0").metrics == ("127.0.0.1", 0)
    assert read(DEDUP_STATS_PORT="0.0.0.0:9564").metrics == ("0.0.0.0", 9564)
    assert read(DEDUP_STATS_PORT="[::1]:9564").metrics == ("::1", 9564)
    for wrong in (65536, -1, "9564:", ":9564", "spiders", True, "1_0"):
        with pytest.raises(UsageError, match="DEDUP_STATS_PORT"):
            read(DEDUP_STATS_PORT=wrong)
