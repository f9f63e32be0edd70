"""The TLS context of every connection."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from crawler_plugin.wire.kafka_client.tls import tls_context


def test_a_context_checks_name_and_certificate_unless_it_is_told_not_to_check_the_name() -> None:
    context = tls_context()
    assert context.check_hostname
    assert context.verify_mode == ssl.CERT_REQUIRED
    careless = tls_context(check_hostname=False)
    assert not careless.check_hostname
    assert careless.verify_mode == ssl.CERT_REQUIRED


def test_a_context_takes_the_ciphers_that_it_is_told() -> None:
    told = {cipher["name"] for cipher in tls_context(ciphers="ECDHE-RSA-AES128-GCM-SHA256").get_ciphers()}
    assert "ECDHE-RSA-AES128-GCM-SHA256" in told
    assert "ECDHE-RSA-AES256-GCM-SHA384" not in told
    with pytest.raises(OSError, match=r"(?i)cipher"):
        tls_context(ciphers="nonsense")


@pytest.mark.parametrize("name", ["cafile", "certfile"])
def test_a_file_that_is_no_certificate_is_an_error_of_the_system(tmp_path: Path, name: str) -> None:
    (tmp_path / "page.html").write_text("<html>", encoding="utf-8")
    page: dict[str, Any] = {name: tmp_path / "page.html"}
    nothing: dict[str, Any] = {name: tmp_path / "nothing.pem"}
    with pytest.raises(OSError):
        tls_context(**page)
    with pytest.raises(FileNotFoundError):
        tls_context(**nothing)
