"""One message names all errors at once, and shows no secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.giving import PASSWORD, refusal, written


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    config = written(tmp_path, "near:\n  k: 9\n  kk: 1\nlog: 3\n")
    message = refusal(config, ["metrics.port=x", "a.b=c"], {"DEDUP_NOPE": "1", "DEDUP_OUTPUT__MODE": "send"})
    assert "7 things are wrong" in message
    for part in ("near.k", "near.kk", "log", "metrics.port", "a.b", "DEDUP_NOPE", "output.mode"):
        assert part in message


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
