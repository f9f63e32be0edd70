"""Settings as people read them: which values are shown, and which never are."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.config.giving import LOGIN, PASSWORD, loaded, refusal, written
from tools.docs import default_yaml
from worker.config import Settings, load_settings
from worker.config.section import REDACTED
from worker.config.show import effective_yaml

ROOT = Path(__file__).resolve().parents[2]


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


def test_the_config_file_of_the_repository_holds_every_setting_with_its_default() -> None:
    assert (ROOT / "config.yaml").read_text(encoding="utf-8") == default_yaml(), "run python -m tools.docs --write"
    assert load_settings(config=ROOT / "config.yaml", overrides=[], environ={}) == Settings()
