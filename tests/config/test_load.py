"""The layers put together: which layer wins, which file is read, and where secrets come from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.config.giving import LOGIN, PASSWORD, loaded, refusal, written
from worker.config import Settings
from worker.config.load import asks_for_json

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


# What is refused


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


def test_a_pipe_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert f"{pipe} (--config): it is a pipe or a device; save its content in a file" in refusal(pipe)


def test_a_file_that_is_too_large_for_one_of_settings_is_refused(tmp_path: Path) -> None:
    large = written(tmp_path, "# settings\n" * 400_000)
    assert f"{large} (--config): it has more than 4 MiB; name a file of settings" in refusal(large)
    large.rename("config.yaml")
    assert "config.yaml (in the current folder): it has more than 4 MiB" in refusal()


def test_a_broken_file_does_not_hide_what_is_wrong_elsewhere(tmp_path: Path) -> None:
    message = refusal(written(tmp_path, "near: [\n"), environ={"DEDUP_NEAR__K": "9"})
    assert "not YAML" in message
    assert "DEDUP_NEAR__K" in message


# Secrets


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


# Errors on wrong settings come in the log format that the settings ask for


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("near: {k: 99}\nlog: {level: info, format: json}\n", True),
        ("log:\n  level: info\n\n  # for the collector\n  format:  'json'  # an object a line\nnear: {k: 99}\n", True),
        ("near: [1\nlog:\n    format: json\n", True),
        ("log:\n  format: text\nother:\n  format: json\n", False),
        ("# log:\n  format: json\n", False),
        ("log:\n  # format: json\n", False),
        ("", False),
    ],
    ids=["inline", "block", "no-yaml", "another-section", "comment", "commented-out", "empty"],
)
def test_what_can_be_read_of_a_wrong_file_says_the_form_of_lines(tmp_path: Path, text: str, asks: bool) -> None:
    assert asks_for_json(config=written(tmp_path, text), overrides=[], environ={}) is asks


def test_flags_and_environment_win_over_the_file_there_too(tmp_path: Path) -> None:
    config = written(tmp_path, "log: {format: json}\nnear: {k: 99}\n")
    as_text = {"DEDUP_LOG__FORMAT": "text"}
    assert not asks_for_json(config=config, overrides=["log.format=text"], environ={})
    assert not asks_for_json(config=config, overrides=[], environ=as_text)
    assert asks_for_json(config=config, overrides=["log.format=json"], environ=as_text)
    assert not asks_for_json(config=tmp_path / "nowhere", overrides=["near.k=99"], environ={})
