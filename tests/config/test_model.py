"""The values themselves: frozen, made only from the given values, and silent about secrets."""

from __future__ import annotations

import dataclasses

import pytest
from pydantic import SecretStr, ValidationError

from tests.config.giving import PASSWORD
from worker.config import KafkaSettings, Loaded, Settings


def test_settings_built_directly_read_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEAR", '{"k": 0}')
    monkeypatch.setenv("DEDUP_NEAR__K", "0")
    assert Settings().near.k == 3


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().near.k = 1


def test_a_password_shows_nowhere_in_the_values_text() -> None:
    kafka = KafkaSettings(sasl_password=SecretStr(PASSWORD))
    assert PASSWORD not in repr(kafka)
    assert PASSWORD not in str(dataclasses.asdict(Loaded(Settings(kafka=kafka), None, {})))
