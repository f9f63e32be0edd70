"""Missing requirements of AWS_MSK_IAM are reported before a connection is tried."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from kafka.net.sasl import get_sasl_mechanism

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.kafka_client.msk import require_aws_credentials


@pytest.fixture(autouse=True)
def nothing_of_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "DEFAULT_REGION", "PROFILE"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)


def test_without_botocore_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(UsageError, match=r"pip install 'crawl-dedup-scrapy\[msk\]'"):
        require_aws_credentials()


def test_credentials_and_region_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="none were found: give this process a role, or AWS_ACCESS_KEY_ID"):
        require_aws_credentials()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with pytest.raises(UsageError, match="set AWS_DEFAULT_REGION"):
        require_aws_credentials()
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    require_aws_credentials()
    mechanism = get_sasl_mechanism("AWS_MSK_IAM")(security_protocol="SASL_SSL", host="b-1.kafka.test")
    signed = json.loads(mechanism.auth_bytes())
    assert signed["x-amz-credential"].startswith("AKIATEST/")
    assert "/eu-central-1/kafka-cluster/" in signed["x-amz-credential"]


def test_a_profile_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(UsageError, match=r"\(.*nobody.*\): correct AWS_PROFILE"):
        require_aws_credentials()
