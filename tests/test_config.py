"""Settings: what wins, what is refused and how it is told, what is shown and what never is."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from crawler_plugin.catalogue import SETTINGS
from worker.config import KafkaSettings, Loaded, Settings, load, load_settings
from worker.config.catalogue import PLUGIN_NAMES, Entry, catalogue, sections
from worker.config.model import REDACTED
from worker.config.show import default_yaml, effective_yaml
from worker.errors import UsageError

ROOT = Path(__file__).resolve().parent.parent
PASSWORD = "correct-horse-battery"


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """config.yaml of the working directory is read by default; the repository has one."""
    folder = tmp_path / "cwd"
    folder.mkdir()
    monkeypatch.chdir(folder)


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "given.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def loaded(
    config: Path | None = None, overrides: Sequence[str] = (), environ: Mapping[str, str] | None = None
) -> Loaded:
    return load(config=config, overrides=overrides, environ=environ or {})


def refusal(config: Path | None = None, overrides: Sequence[str] = (), environ: Mapping[str, str] | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        loaded(config, overrides, environ)
    assert caught.value.exit_code == 2
    return str(caught.value)


# What wins


def test_without_anything_given_the_defaults_are_in_force() -> None:
    found = loaded()
    assert found.settings == Settings()
    assert found.file is None
    assert found.origins == {}


def test_flags_win_over_environment_over_file_over_defaults(tmp_path: Path) -> None:
    config = written(tmp_path, "near: {k: 1}\nmetrics: {port: 1}\noutput: {mode: drop}\n")
    environ = {"DEDUP_NEAR__K": "2", "DEDUP_METRICS__PORT": "2"}
    found = loaded(config, ["metrics.port=3"], environ)
    settings = found.settings
    assert (settings.metrics.port, settings.near.k, settings.output.mode, settings.log.level) == (3, 2, "drop", "info")
    assert found.origins == {
        "metrics.port": "--set metrics.port",
        "near.k": "DEDUP_NEAR__K",
        "output.mode": f"{config}:3",
    }


def test_the_file_is_that_of_the_flag_then_of_the_environment_then_of_the_folder(tmp_path: Path) -> None:
    Path("config.yaml").write_text("near: {k: 0}\n")
    by_flag = written(tmp_path, "near: {k: 1}\n")
    by_environment = tmp_path / "environment.yaml"
    by_environment.write_text("near: {k: 2}\n")
    environ = {"DEDUP_CONFIG": str(by_environment)}
    assert loaded(by_flag, environ=environ).settings.near.k == 1
    assert loaded(environ=environ).settings.near.k == 2
    assert loaded().settings.near.k == 0


def test_of_a_flag_given_twice_the_last_counts() -> None:
    assert loaded(overrides=["near.k=1", "near.k=2"]).settings.near.k == 2


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
        ("segment.hmm=true", "segment", True),
        ("segment.hmm=no", "segment", False),
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


def test_settings_built_directly_read_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEAR", '{"k": 0}')
    monkeypatch.setenv("DEDUP_NEAR__K", "0")
    assert Settings().near.k == 3


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().near.k = 1  # type: ignore[misc]


# What is refused


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
        ("near: 3\n", ["near", ":1", "a single value", "k, threshold, scope, ttl_days"]),
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
        ("commit.seconds=0", ["commit.seconds", "above 0"]),
        ("fingerprint.bits=64", ["fingerprint.bits", "no such setting"]),
        ("segment.engine=rjieba", ["segment.engine", "one of auto, jieba"]),
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


def test_the_scrapy_plugins_settings_may_stand_in_the_same_environment() -> None:
    assert loaded(environ=dict.fromkeys(SETTINGS, "anything")).settings == Settings()
    assert set(PLUGIN_NAMES) == set(SETTINGS)


@pytest.mark.parametrize("by", ["flag", "environment"])
def test_a_named_file_that_is_not_there_is_refused(tmp_path: Path, by: str) -> None:
    path = tmp_path / "none.yaml"
    message = refusal(path) if by == "flag" else refusal(environ={"DEDUP_CONFIG": str(path)})
    assert str(path) in message
    assert ("--config" if by == "flag" else "DEDUP_CONFIG") in message


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    assert f"{tmp_path} (--config): it is a folder" in refusal(tmp_path)
    Path("config.yaml").mkdir()
    assert "config.yaml" in refusal()


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    config = written(tmp_path, "near:\n  k: 9\n  kk: 1\nlog: 3\n")
    message = refusal(config, ["metrics.port=x", "a.b=c"], {"DEDUP_NOPE": "1", "DEDUP_OUTPUT__MODE": "send"})
    assert "7 things are wrong" in message
    for part in ("near.k", "near.kk", "log", "metrics.port", "a.b", "DEDUP_NOPE", "output.mode"):
        assert part in message


def test_a_broken_file_does_not_hide_what_is_wrong_elsewhere(tmp_path: Path) -> None:
    message = refusal(written(tmp_path, "near: [\n"), environ={"DEDUP_NEAR__K": "9"})
    assert "not YAML" in message
    assert "DEDUP_NEAR__K" in message


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (["kafka.heartbeat_seconds=11"], ["kafka.heartbeat_seconds", "third"]),
        (
            ["kafka.request_timeout_seconds=15.1"],
            ["kafka.delivery_timeout_seconds", "less than twice kafka.request_timeout_seconds"],
        ),
        (["commit.seconds=60"], ["commit.seconds", "kafka.transaction_timeout_seconds"]),
        (["features.weights=tf-idf"], ["features.weights", "features.idf_table"]),
        (
            ["fingerprint.hash=bkdr", f"fingerprint.key_file={__file__}"],
            ["fingerprint.hash", "bkdr takes no key; set it to xxh3 or blake2b"],
        ),
        (["kafka.security_protocol=SASL_SSL"], ["kafka.security_protocol", "kafka.sasl_mechanism"]),
        (
            ["kafka.security_protocol=SASL_SSL", "kafka.sasl_mechanism=PLAIN"],
            ["needs kafka.sasl_username", "needs kafka.sasl_password or kafka.sasl_password_file"],
        ),
        (["kafka.sasl_mechanism=PLAIN"], ["has no effect with kafka.security_protocol PLAINTEXT"]),
        (["kafka.ssl_password=x"], ["kafka.ssl_password", "no effect", "SSL or SASL_SSL"]),
    ],
)
def test_values_that_do_not_go_together_are_refused(overrides: list[str], told: list[str]) -> None:
    message = refusal(overrides=overrides)
    for part in told:
        assert part in message


def test_a_key_of_a_certificate_needs_the_certificate(tmp_path: Path) -> None:
    key = written(tmp_path, "key")
    message = refusal(overrides=["kafka.security_protocol=SSL", f"kafka.ssl_keyfile={key}"])
    assert "kafka.ssl_certfile" in message


def test_the_largest_heartbeat_request_and_commit_time_are_accepted() -> None:
    largest = ["kafka.heartbeat_seconds=10", "kafka.request_timeout_seconds=15", "commit.seconds=19.9"]
    settings = loaded(overrides=largest).settings
    assert settings.kafka.heartbeat_seconds == 10


def test_a_conflict_with_a_value_that_is_wrong_itself_is_not_told() -> None:
    message = refusal(overrides=["kafka.heartbeat_seconds=11", "kafka.session_timeout_seconds=x"])
    assert "one thing is wrong" in message


# Secrets

LOGIN = ["kafka.security_protocol=SASL_SSL", "kafka.sasl_mechanism=PLAIN", "kafka.sasl_username=u"]


def test_a_secret_comes_from_the_environment_or_from_a_file(tmp_path: Path) -> None:
    file = written(tmp_path, f"{PASSWORD}\r\n")
    by_environment = loaded(overrides=LOGIN, environ={"DEDUP_KAFKA__SASL_PASSWORD": PASSWORD}).settings.kafka
    by_file = loaded(overrides=[*LOGIN, f"kafka.sasl_password_file={file}"]).settings.kafka
    for kafka in (by_environment, by_file):
        assert kafka.sasl_password is not None
        assert kafka.sasl_password.get_secret_value() == PASSWORD
    assert by_file.sasl_password_file == file


def test_a_secret_is_given_once(tmp_path: Path) -> None:
    file = written(tmp_path, PASSWORD)
    message = refusal(
        overrides=[*LOGIN, f"kafka.sasl_password_file={file}"], environ={"DEDUP_KAFKA__SASL_PASSWORD": PASSWORD}
    )
    assert "kafka.sasl_password_file" in message
    assert "DEDUP_KAFKA__SASL_PASSWORD" in message
    assert "keep one" in message
    assert PASSWORD not in message


@pytest.mark.parametrize("name", ["a\0b", "a" * 5000])
def test_a_secrets_file_whose_name_no_file_can_have_is_refused(name: str) -> None:
    message = refusal(overrides=[f"kafka.ssl_password_file={name}", "kafka.security_protocol=SSL"])
    assert "kafka.ssl_password_file" in message


@pytest.mark.parametrize(
    ("content", "told"), [(b"", "empty"), (b"\n", "empty"), (b"\xff\xfe", "not UTF-8"), (None, "exists")]
)
def test_a_secrets_file_that_holds_none_is_refused(tmp_path: Path, content: bytes | None, told: str) -> None:
    file = tmp_path / "absent" if content is None else written(tmp_path, content)
    message = refusal(overrides=[f"kafka.ssl_password_file={file}", "kafka.security_protocol=SSL"])
    assert "kafka.ssl_password_file" in message
    assert told in message


@pytest.mark.parametrize(
    ("text", "environ", "overrides"),
    [
        (f"kafka:\n  sasl_pasword: {PASSWORD}\n", {}, []),
        (f"kafka:\n  sasl_password: [{PASSWORD}]\n", {}, []),
        (f"kafka:\n  sasl_password: {PASSWORD}: x\n", {}, []),
        (f"kafka:\n  sasl_password: %{PASSWORD}\n", {}, []),
        (f"kafka:\n  sasl_password: !secret {PASSWORD}\n", {}, []),
        (f"kafka:\n  sasl_password: {PASSWORD}\n  sasl_password: {PASSWORD}\n", {}, []),
        (f"kafka: {PASSWORD}\n", {}, []),
        ("", {"DEDUP_KAFKA__SASL_PASWORD": PASSWORD}, []),
        ("", {"DEDUP_KAFKA__SASL_PASSWORD": PASSWORD, "DEDUP_NEAR__K": "9"}, []),
        ("", {}, [f"kafka.sasl_password:{PASSWORD}"]),
        ("", {}, [f"kafka.sasl_pasword={PASSWORD}"]),
        ("", {}, [f"kafka.sasl_password={PASSWORD}", "kafka.sasl_mechanism=PLAIN"]),
    ],
)
def test_no_error_shows_a_secret(tmp_path: Path, text: str, environ: dict[str, str], overrides: list[str]) -> None:
    assert PASSWORD not in refusal(written(tmp_path, text), overrides, environ)


def test_a_secret_that_is_no_text_is_refused_without_showing_it(tmp_path: Path) -> None:
    message = refusal(written(tmp_path, "kafka:\n  sasl_password: 9182736455\n"))
    assert "kafka.sasl_password" in message
    assert "not shown" in message
    assert "9182736455" not in message


def test_printed_settings_hide_secrets_and_say_where_each_value_came_from(tmp_path: Path) -> None:
    config = written(tmp_path, f"kafka:\n  sasl_password: {PASSWORD}\n")
    found = loaded(config, [*LOGIN, "near.k=1"], {"DEDUP_METRICS__PORT": "0"})
    shown = effective_yaml(found)
    assert PASSWORD not in shown
    assert PASSWORD not in repr(found)
    assert f"sasl_password: '{REDACTED}'  # {config}:2" in shown
    assert "k: 1  # --set near.k" in shown
    assert "port: 0  # DEDUP_METRICS__PORT" in shown
    assert "level: info  # default" in shown


def test_of_a_key_the_printed_settings_have_the_path_alone(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(PASSWORD)
    found = loaded(overrides=[f"fingerprint.key_file={key}"])
    assert f"key_file: {key}  # --set fingerprint.key_file" in effective_yaml(found)
    assert PASSWORD not in effective_yaml(found) + repr(found)


def test_asterisks_taken_from_printed_settings_are_not_mistaken_for_a_secret(tmp_path: Path) -> None:
    found = loaded(overrides=LOGIN, environ={"DEDUP_KAFKA__SASL_PASSWORD": PASSWORD})
    assert "kafka.sasl_password" in refusal(written(tmp_path, effective_yaml(found)))


@given(
    k=st.integers(0, 3),
    ttl=st.none() | st.floats(0.05, 36500),
    prefix=st.from_regex(r"[A-Za-z0-9._-]{0,200}", fullmatch=True),
    user=st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1),
    mode=st.sampled_from(["tag", "drop"]),
)
def test_printed_settings_read_back_are_the_same_settings(
    tmp_path_factory: pytest.TempPathFactory, k: int, ttl: float | None, prefix: str, user: str, mode: str
) -> None:
    config = tmp_path_factory.mktemp("round") / "config.yaml"
    secret = config.with_name("secret")
    secret.write_text(PASSWORD)
    config.write_text(
        yaml.safe_dump(
            {
                "near": {"k": k, "ttl_days": ttl},
                "topics": {"prefix": prefix},
                "output": {"mode": mode},
                "kafka": {
                    "security_protocol": "SASL_SSL",
                    "sasl_mechanism": "SCRAM-SHA-512",
                    "sasl_username": user,
                    "sasl_password_file": str(secret),
                },
            },
        )
    )
    before = loaded(config)
    config.write_text(effective_yaml(before), encoding="utf-8")
    assert loaded(config).settings == before.settings


# The file, the code and what they say


def test_the_config_file_of_the_repository_holds_every_setting_with_its_default() -> None:
    assert (ROOT / "config.yaml").read_text(encoding="utf-8") == default_yaml(), "run python -m tests.docs --write"
    assert load_settings(config=ROOT / "config.yaml", overrides=[], environ={}) == Settings()


@pytest.mark.parametrize("entry", catalogue().values(), ids=lambda entry: entry.key)
def test_every_setting_has_a_reason_and_can_be_given_in_each_way(entry: Entry, tmp_path: Path) -> None:
    assert entry.text.endswith(".")
    for value in (entry.default, None):
        if value is None and not entry.optional:
            continue
        text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        file = written(tmp_path, yaml.safe_dump({entry.section: {entry.name: value}}))
        assert loaded(file).settings == Settings()
        assert loaded(overrides=[f"{entry.key}={text}"]).settings == Settings()
        assert loaded(environ={entry.environment: text}).settings == Settings()


def test_every_section_says_what_it_is_for() -> None:
    assert all(model.__doc__ for model in sections().values())


def test_names_that_checks_from_outside_rely_on_stand() -> None:
    defaults = {
        "kafka.bootstrap_servers": "127.0.0.1:9092",
        "topics.prefix": "dedup.",
        "topics.partitions": 8,
        "topics.shards": 8,
        "near.predicate": "accurate",
        "near.scope": "global",
        "near.k": 3,
        "metrics.host": "127.0.0.1",
        "metrics.port": 9464,
        "output.mode": "tag",
    }
    assert {key: catalogue()[key].default for key in defaults} == defaults
    assert catalogue()["kafka.bootstrap_servers"].environment == "DEDUP_KAFKA__BOOTSTRAP_SERVERS"


def test_a_password_shows_nowhere_in_the_values_text() -> None:
    kafka = KafkaSettings(sasl_password=SecretStr(PASSWORD))
    assert PASSWORD not in repr(kafka)
    assert PASSWORD not in str(dataclasses.asdict(Loaded(Settings(kafka=kafka), None, {})))
