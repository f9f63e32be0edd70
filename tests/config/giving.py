"""Helpers for tests of settings: to give settings, and to see them refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import UsageError
from worker.config import Loaded, load

PASSWORD = "correct-horse-battery"


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


LOGIN = ["kafka.security_protocol=SASL_SSL", "kafka.sasl_mechanism=PLAIN", "kafka.sasl_username=u"]
