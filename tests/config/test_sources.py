"""The file, the environment and the flags, each by itself: the values read and the errors reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.giving import loaded, refusal, written
from worker.config import Settings
from worker.config.catalogue import GONE, catalogue


@pytest.mark.parametrize(
    ("override", "section", "value"),
    [
        ("near.k=0", "near", 0),
        ("near.ttl_days=1.5", "near", 1.5),
        ("near.ttl_days=null", "near", None),
        ("near.ttl_days=", "near", None),
        ("topics.prefix=", "topics", ""),
        ("topics.prefix=a.b-c_", "topics", "a.b-c_"),
        ("kafka.client_id=007", "kafka", "007"),
        ("kafka.bootstrap_servers=[::1]:9092, b:1", "kafka", "[::1]:9092, b:1"),
        ("kafka.bootstrap_servers=a:65535", "kafka", "a:65535"),
        ("near.track_changes=true", "near", True),
        ("near.track_changes=no", "near", False),
        ("kafka.sasl_username=a=b", "kafka", "a=b"),
    ],
)
def test_text_of_a_flag_or_the_environment_becomes_the_settings_type(
    override: str, section: str, value: object
) -> None:
    key, _, text = override.partition("=")
    by_flag = loaded(overrides=[override]).settings
    by_environment = loaded(environ={catalogue()[key].environment: text}).settings
    assert getattr(getattr(by_flag, section), key.partition(".")[2]) == value
    assert by_environment == by_flag


def test_a_section_without_keys_and_an_empty_file_give_the_defaults(tmp_path: Path) -> None:
    for text in ("", "# nothing\n", "kafka:\nnear:\n", "---\n", "\ufeffnear:\n"):
        assert loaded(written(tmp_path, text)).settings == Settings()


def test_of_a_flag_given_twice_the_last_counts() -> None:
    assert loaded(overrides=["near.k=1", "near.k=2"]).settings.near.k == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("near:\n  k: 4\n", ["near.k", ":2", "found 4", "a whole number from 0 to 3"]),
        ("near:\n  k: yes\n", ["near.k", ":2", "truth value"]),
        ("near:\n  k: 1.5\n", ["near.k", "1.5"]),
        ("near:\n  k:\n", ["near.k", ":2", "nothing (null)"]),
        ("near:\n  ttl_days: .inf\n", ["near.ttl_days", ":2"]),
        ("near:\n  ttl_days: .nan\n", ["near.ttl_days", ":2"]),
        ("near:\n  ttl_days: 0.04\n", ["near.ttl_days", ":2", "found 0.04", "a number from 0.05 to 36500"]),
        ("near:\n  predicate: accurat\n", ["near.predicate", "'accurat'", "simhash"]),
        ("output:\n  mode: false\n", ["output.mode", "truth value", "tag, drop"]),
        ("kafka:\n  client_id: 7\n", ["kafka.client_id", "found 7", "put it in quotes"]),
        ("kafka:\n  client_id: 2020-01-01\n", ["kafka.client_id", "put it in quotes"]),
        ("kafka:\n  bootstrap_servers: here\n", ["kafka.bootstrap_servers", "'here'", "kafka-1:9092"]),
        ("kafka:\n  bootstrap_servers:\n    - a:1\n", ["kafka.bootstrap_servers", ":2", "a list"]),
        ("kafka:\n  bootstrap_servers: {a: 1}\n", ["kafka.bootstrap_servers", ":2", "a section"]),
        ("kafka:\n  bootstrap_server: a:1\n", [":2", "did you mean kafka.bootstrap_servers?"]),
        ("kafka:\n  k: 3\n", ["kafka.k", ":2", "did you mean near.k?"]),
        ("kafak:\n  group: a\n", ["kafak", ":1", "did you mean kafka?"]),
        ("segment:\n  hmm: true\n", ["segment.hmm", ":2", "no such setting; remove it; words are always cut"]),
        ("near: 3\n", ["near", ":1", "a single value", "k, threshold, scope, track_changes, ttl_days"]),
        ("near: [k]\n", ["near", ":1", "a list"]),
        ("- near\n", [":1", "a list", "sections"]),
        ("near\n", [":1", "a single value", "sections"]),
        ("near:\n  k: 1\n\n  k: 2\n", ["near.k", ":4", "line 2", "keep one"]),
        ("near:\n  k: 1\nlog:\nnear:\n  k: 2\n", ["near", ":4", "line 1", "keep one"]),
        ("near:\n  k: 1\n nope\n", [":3", "not YAML"]),
        ("near: {k: 1\n", ["not YAML"]),
        ("near:\n\tk: 1\n", [":2", "not YAML"]),
        ("near: *other\n", [":1", "not YAML"]),
        ("near: {}\n---\nnear: {}\n", [":2", "not YAML"]),
        ("near:\n  k: !!python/object:os.system x\n", ["near.k", ":2", "cannot be read"]),
        ("near:\n  k: \x07\n", [":2", "not allow"]),
        ("segment:\n  user_dictionary: not-there.txt\n", ["segment.user_dictionary", "'not-there.txt'", "exists"]),
        ("[" * 5000 + "\n", ["nested too deeply"]),
        (b"near:\n  # \xff\n  k: 1\n", [":2", "not UTF-8", "0xff"]),
        ("near:\n  k: 1\n".encode("utf-16"), [":1", "not UTF-8"]),
    ],
)
def test_a_wrong_file_is_told_by_key_line_value_and_what_is_allowed(
    tmp_path: Path, text: str | bytes, told: list[str]
) -> None:
    message = refusal(written(tmp_path, text))
    for part in [*told, "given.yaml", "--check-config"]:
        assert part in message


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("near.k=4", ["near.k", "--set near.k", "'4'", "from 0 to 3"]),
        ("near.q=1", ["near.q", "did you mean near.k?"]),
        ("ttl_days=1", ["did you mean near.ttl_days?"]),
        ("near=1", ["near", "no such setting"]),
        ("near.k", ["--set near.k", 'no "="']),
        ("", ['no "="']),
        ("=3", ["no such setting"]),
        ("topics.prefix=a/b", ["topics.prefix", "'a/b'", "letters"]),
        ("metrics.port=65536", ["metrics.port", "from 0 to 65535"]),
        ("kafka.bootstrap_servers=a:9092,b:65536", ["kafka.bootstrap_servers", "b:65536"]),
        ("kafka.bootstrap_servers=a:0", ["kafka.bootstrap_servers", "a:0"]),
        ("page.timeout_seconds=1e-300", ["page.timeout_seconds", "from 0.0001 to 3600"]),
        ("index.state_dir=s3://a/b", ["index.state_dir", "snapshots stay on this machine", "the path of a folder"]),
        ("commit.seconds=0", ["commit.seconds", "above 0"]),
        ("fingerprint.bits=64", ["fingerprint.bits", "no such setting"]),
        ("near.predicate=minhash", ["near.predicate", "one of accurate, simhash"]),
        *((f"{key}=x", [key, "no such setting", told]) for key, told in GONE.items()),
        ("near.k=", ["near.k", "''"]),
    ],
)
def test_a_wrong_flag_is_told(override: str, told: list[str]) -> None:
    message = refusal(overrides=[override])
    for part in told:
        assert part in message


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("DEDUP_FEATURES__WEIGHTS", "remove it; `explain` and `evaluate` have it as the option --weights"),
        ("DEDUP_NEAR__Q", "did you mean DEDUP_NEAR__K?"),
        ("DEDUP_KAFKA_BOOTSTRAP_SERVERS", "did you mean DEDUP_KAFKA__BOOTSTRAP_SERVERS?"),
        ("DEDUP_CONFG", "did you mean DEDUP_CONFIG?"),
        ("DEDUP_BOOTSTRAP_SERVER", "did you mean DEDUP_BOOTSTRAP_SERVERS?"),
        ("dedup_job", "did you mean DEDUP_JOB?"),
        ("DEDUP_KAFKA", "no such setting"),
        ("DEDUP_", "no such setting"),
        ("dedup_near__k", "did you mean DEDUP_NEAR__K?"),
    ],
)
def test_an_unknown_name_of_the_environment_is_refused(name: str, told: str) -> None:
    message = refusal(environ={name: "hidden-value"})
    assert name in message
    assert told in message
    assert "hidden-value" not in message


def test_names_of_the_environment_that_are_no_settings_are_left_alone() -> None:
    assert loaded(environ={"DEDUP_TEST_DATA": "x", "DEDUP_CONFIG": "", "HOME": "y"}).settings == Settings()
