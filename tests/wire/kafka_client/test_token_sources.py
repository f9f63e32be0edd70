"""Tokens from a file, a command and client credentials, and the error where there is none."""

from __future__ import annotations

import base64
import json
import re
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from crawler_plugin.wire.errors import Unavailable, UsageError
from crawler_plugin.wire.kafka_client import token_sources
from crawler_plugin.wire.kafka_client.token_sources import (
    EXTENSIONS,
    HTTPS_URL,
    Token,
    oauth_problems,
    token_extensions,
    token_source,
)
from tests.wire.kafka_client.issuer import CLIENT, SCOPE, SECRET, Issuer, issuer
from worker.broker.ports import free_port

BARE: Final = "some~opaque.TOKEN+/=="
BY_FILE: Final = {"sasl_oauth_token_file": "token"}
BY_URL: Final = {
    "sasl_oauth_token_url": "https://issuer.test/token",
    "sasl_oauth_client_id": CLIENT,
    "sasl_oauth_client_secret": SECRET,
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Issuer]:
    with issuer(tmp_path_factory.mktemp("issuer")) as one:
        yield one


@pytest.fixture(autouse=True)
def as_at_first(running: Issuer) -> None:
    running.answer = None
    running.asked.clear()


def by_file(path: Path) -> Token:
    return token_source({"sasl_oauth_token_file": path})()


def by_command(program: str) -> Token:
    return token_source({"sasl_oauth_token_command": f"{sys.executable} -c '{program}'"})()


def by_url(running: Issuer, **other: Any) -> Token:
    at = {"sasl_oauth_token_url": running.url, "sasl_oauth_cafile": running.authority, "sasl_oauth_scope": SCOPE}
    return token_source({**BY_URL, **at, **other})()


@pytest.mark.parametrize(
    ("mechanism", "given", "wrong"),
    [
        (None, {}, {}),
        ("PLAIN", {}, {}),
        ("OAUTHBEARER", BY_FILE, {}),
        ("OAUTHBEARER", BY_URL, {}),
        ("OAUTHBEARER", BY_FILE | {"sasl_oauth_extensions": "a=b", "sasl_oauth_scope": None}, {}),
        ("OAUTHBEARER", {}, {"sasl_mechanism": "exactly one"}),
        ("OAUTHBEARER", BY_FILE | BY_URL, {"sasl_oauth_token_file": "exactly one"}),
        ("OAUTHBEARER", BY_FILE | {"sasl_oauth_scope": "x"}, {"sasl_oauth_scope": "without sasl_oauth_token_url"}),
        (
            "OAUTHBEARER",
            {"sasl_oauth_token_url": "https://a/", "sasl_oauth_client_id": "b"},
            {"sasl_oauth_token_url": "needs sasl_oauth_client_secret"},
        ),
        ("OAUTHBEARER", {"sasl_oauth_token_command": "a 'b"}, {"sasl_oauth_token_command": "a quote is not closed"}),
        ("OAUTHBEARER", {"sasl_oauth_token_command": " "}, {"sasl_oauth_token_command": "it is empty"}),
        ("PLAIN", BY_FILE, {"sasl_oauth_token_file": "no effect without sasl_mechanism OAUTHBEARER"}),
    ],
)
def test_what_does_not_go_together_is_told(mechanism: str | None, given: dict[str, Any], wrong: dict[str, str]) -> None:
    found = dict(oauth_problems(mechanism, given))
    assert found.keys() == wrong.keys()
    for name, part in wrong.items():
        assert part in found[name]


@pytest.mark.parametrize(
    ("url", "is_one"),
    [
        ("https://issuer.test/token", True),
        ("https://issuer.test:8443/a/b?tenant=c", True),
        ("https://issuer.test", True),
        ("http://issuer.test/token", False),
        ("https://user:secret@issuer.test/token", False),
        ("https://issuer.test/to ken", False),
        ("file:///etc/passwd", False),
    ],
)
def test_a_token_endpoint_is_reached_over_https(url: str, is_one: bool) -> None:
    assert bool(re.search(HTTPS_URL, url)) is is_one


def test_extensions_are_pairs() -> None:
    text = "logicalCluster=lkc-1,identityPoolId=pool=1"
    assert re.search(EXTENSIONS, text)
    assert token_extensions({"sasl_oauth_extensions": text}) == {"logicalCluster": "lkc-1", "identityPoolId": "pool=1"}
    assert token_extensions({}) == {}
    for wrong in ("", "a", "=b", "a=", "a=b,", "a=b\x01c=d", "a1=b"):
        assert not re.search(EXTENSIONS, wrong)


def test_a_file_holds_the_token_and_may_end_with_a_line_end(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"{BARE}\n")
    assert by_file(path) == Token(BARE, None)


def test_a_json_web_token_says_when_it_expires(tmp_path: Path, running: Issuer) -> None:
    path = tmp_path / "token"
    path.write_text(running.token(exp=4_000_000_000))
    token = by_file(path)
    assert token.expires == 4_000_000_000
    assert token.told() == (
        f"iss=https://issuer.test, sub={CLIENT}, aud=kafka, scope={SCOPE}, expires at 2096-10-02 07:06:40 UTC"
    )
    assert Token(BARE, None).told() == "does not say when it expires"
    assert Token("a.!!.c", None).told() == Token("a.W10.c", None).told() == Token(BARE, None).told()


@pytest.mark.parametrize(
    ("content", "error", "why"),
    [
        (None, Unavailable, "cannot be read"),
        ("", Unavailable, "gave nothing"),
        ("two words", UsageError, "something other than a token"),
        ("with\x01auth=Bearer", UsageError, "something other than a token"),
        ("umläut", UsageError, "something other than a token"),
    ],
)
def test_a_file_without_a_token_is_told_and_its_content_is_not(
    tmp_path: Path, content: str | None, error: type[Exception], why: str
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    with pytest.raises(error, match=f"sasl_oauth_token_file=.*{why}.*see that the program that renews it") as raised:
        by_file(path)
    assert not content or content not in str(raised.value)


def test_an_expired_token_is_not_used(tmp_path: Path, running: Issuer) -> None:
    path = tmp_path / "token"
    path.write_text(running.token(-5))
    with pytest.raises(Unavailable, match=r"expires at 20.* UTC; renew it, or set this machine's clock right"):
        by_file(path)


def test_a_command_prints_a_token_or_json_with_its_time() -> None:
    assert by_command(f'print("{BARE}")') == Token(BARE, None)
    before = time.time()
    answer = json.dumps({"access_token": BARE, "expires_in": 60}).replace('"', '\\"')
    granted = by_command(f'print("{answer}")')
    assert granted.text == BARE
    assert granted.expires is not None and before + 60 <= granted.expires <= time.time() + 60
    at = datetime(2096, 1, 1, tzinfo=UTC)
    credential = {"kind": "ExecCredential", "status": {"token": BARE, "expirationTimestamp": "2096-01-01T00:00:00Z"}}
    answer = json.dumps(credential).replace('"', '\\"')
    assert by_command(f'print("{answer}")') == Token(BARE, at.timestamp())


@pytest.mark.parametrize(
    ("program", "error", "why"),
    [
        ('import sys; sys.exit("first\\nnot logged in")', Unavailable, r"ended with 1 \(not logged in\)"),
        ("raise SystemExit(3)", Unavailable, r"ended with 3 \(it said nothing\)"),
        ("pass", Unavailable, "gave nothing"),
        ('print("{")', UsageError, "gave no JSON object"),
        (r'print("{\"access_token\":" + "[" * 100_000 + "]" * 100_000 + "}")', UsageError, "gave no JSON object"),
        (r'print("{\"a\":" * 30_000 + "1" + "}" * 30_000)', UsageError, "gave no JSON object"),
        (r'print("{\"expires_in\":" + "9" * 5_000 + "}")', UsageError, "gave no JSON object"),
        (r'print("{\"access_token\": {}}")', Unavailable, "gave nothing"),
        ('print("{}")', Unavailable, "gave nothing"),
        ('print("token: abc")', UsageError, "something other than a token"),
    ],
)
def test_a_command_that_gives_none_is_told_without_its_arguments(
    program: str, error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=f"sasl_oauth_token_command=.*{why}") as raised:
        by_command(program)
    assert " -c " not in str(raised.value)


def test_a_time_beyond_all_times_is_none() -> None:
    assert by_command(f'print("{{\\"access_token\\": \\"{BARE}\\", \\"expires_in\\": 1{"0" * 400}}}")') == Token(
        BARE, None
    )


@pytest.mark.parametrize("claims", ['{"exp":' + "[" * 100_000 + "]" * 100_000 + "}", '{"exp": 1' + "0" * 400 + "}"])
def test_a_json_web_token_that_cannot_be_read_is_a_bare_one(claims: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("e30." + base64.urlsafe_b64encode(claims.encode()).decode().rstrip("=") + ".c2ln")
    assert by_file(file).expires is None


def test_a_command_that_is_none_is_told() -> None:
    with pytest.raises(UsageError, match=r"sasl_oauth_token_command=/nowhere/token cannot be run \(No such file"):
        token_source({"sasl_oauth_token_command": "/nowhere/token --x"})()


def test_a_command_that_hangs_is_ended_with_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_sources, "TIMEOUT_S", 0.5)
    with pytest.raises(Unavailable, match=r"took longer than 0\.5 s"):
        token_source({"sasl_oauth_token_command": "sh -c 'sleep 600 & sleep 600'"})()


def test_client_credentials_are_shown_over_https_and_the_answer_says_how_long_the_token_lives(running: Issuer) -> None:
    before = time.time()
    token = by_url(running)
    assert f"sub={CLIENT}" in token.told()
    assert token.expires is not None and before + 300 <= token.expires <= time.time() + 300
    assert running.asked == [{"grant_type": ["client_credentials"], "scope": [SCOPE]}]


@pytest.mark.parametrize(
    ("answer", "error", "why"),
    [
        ((503, b"busy"), Unavailable, r"answered 503; see that the issuer works"),
        ((429, b"{}"), Unavailable, r"answered 429"),
        ((404, b"<html>"), UsageError, r"answered 404; check sasl_oauth_client_id"),
        ((400, b'{"error": "invalid_scope"}'), UsageError, r"answered 400 \(invalid_scope\)"),
        ((302, b""), UsageError, r"answered 302, which is no token; name the URL"),
        ((200, b"<html>"), UsageError, r"gave no JSON object; see that it is the issuer's token endpoint"),
        ((200, b"[]"), UsageError, r"gave no JSON object"),
        ((200, b'{"access_token": "a b"}'), UsageError, r"gave something other than a token"),
    ],
)
def test_an_endpoint_that_gives_none_is_told(
    running: Issuer, answer: tuple[int, bytes], error: type[Exception], why: str
) -> None:
    running.answer = answer
    with pytest.raises(error, match=f"sasl_oauth_token_url={running.url} {why}"):
        by_url(running)
    assert len(running.asked) == 1  # the secret was not sent to the redirect's target


def test_a_wrong_secret_is_told_and_not_shown(running: Issuer) -> None:
    with pytest.raises(UsageError, match=r"answered 401 \(invalid_client no such client\); check") as raised:
        by_url(running, sasl_oauth_client_secret="another")
    assert "another" not in str(raised.value)


def test_an_endpoint_that_is_not_there_or_not_trusted_is_told(running: Issuer) -> None:
    url = f"https://127.0.0.1:{free_port()}/token"
    with pytest.raises(Unavailable, match=r"does not answer \(.*refused.*see that the issuer runs"):
        by_url(running, sasl_oauth_token_url=url)
    with pytest.raises(UsageError, match=r"is not trusted .*name its authority's PEM file in sasl_oauth_cafile"):
        by_url(running, sasl_oauth_cafile=None)
    with pytest.raises(OSError):
        by_url(running, sasl_oauth_cafile=__file__)
