"""The sources of tokens for OAUTHBEARER: a file, a command, or a token endpoint with client credentials over HTTPS.

Nothing here imports a Kafka client. No message shows a token or a secret.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import shlex
import signal
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from crawler_plugin.wire.errors import Stop, Unavailable, UsageError
from crawler_plugin.wire.kafka_client.tls import tls_context

TIMEOUT_S: Final = 10.0
"""How long a command or a token endpoint may take. It is short, since the client's network thread waits for it."""
ANSWER_LIMIT: Final = 256 * 1024
"""The most bytes read from a command or a token endpoint; a token that a broker takes is far shorter."""

TOKEN_FILE: Final = "sasl_oauth_token_file"
TOKEN_COMMAND: Final = "sasl_oauth_token_command"
SOURCES: Final = (TOKEN_FILE, TOKEN_COMMAND, "sasl_oauth_token_url")
"""The settings that name a source of tokens; one of them is given."""
OF_THE_URL: Final = (
    "sasl_oauth_client_id",
    "sasl_oauth_client_secret",
    "sasl_oauth_scope",
    "sasl_oauth_cafile",
)
EXTENSIONS: Final = r"^[A-Za-z]+=[!-+.-~-]+(,[A-Za-z]+=[!-+.-~-]+)*$"
HTTPS_URL: Final = r"^https://[^\s/?#@]+([/?][^\s#]*)?$"
OAUTH_OPTIONS: Final = (*SOURCES, *OF_THE_URL, "sasl_oauth_extensions")

# RFC 6750, section 2.1. Any other character, such as an end of line, would end its field of the message.
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_REFUSALS: Final = range(400, 500)
_TRY_AGAIN: Final = (408, 429)


@dataclass(frozen=True)
class Token:
    """A bearer token. ``expires`` is in seconds since 1970; None: not known."""

    text: str
    expires: float | None

    def is_expired(self, now: float) -> bool:
        """Whether the token has expired; if its time is not known, the broker has to judge."""
        return self.expires is not None and self.expires <= now

    def told(self) -> str:
        """What a JSON web token says about itself, for a reader; the token is not shown."""
        claims = _claims(self.text)
        known = [f"{name}={claims[name]}" for name in ("iss", "sub", "aud", "scope") if name in claims]
        return ", ".join([*known, _when(self.expires)])


Source = Callable[[], Token]
"""Gets another token, or the same one while it is good; blocks for ``TIMEOUT_S`` at most.

Raises Unavailable where a later try may succeed, UsageError where a setting is wrong.
"""


def oauth_problems(mechanism: str | None, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Problems with the settings ``sasl_oauth_…`` together, each a name and a reason; settings that are not given are
    None."""
    there = {name for name in OAUTH_OPTIONS if given.get(name) is not None}
    if mechanism != "OAUTHBEARER":
        for name in sorted(there):
            yield name, "has no effect without sasl_mechanism OAUTHBEARER; set that, or leave it out"
        return
    sources = [name for name in SOURCES if name in there]
    if len(sources) != 1:
        yield (
            sources[0] if sources else "sasl_mechanism",
            f"OAUTHBEARER takes its tokens from one of {', '.join(SOURCES)}; give exactly one of them",
        )
        return
    if (command := given.get(TOKEN_COMMAND)) is not None and not _is_command(command):
        yield TOKEN_COMMAND, "is no command: it is empty, or a quote is not closed; correct it"
    by_url = sources == ["sasl_oauth_token_url"]
    for name in OF_THE_URL if not by_url else ():
        if name in there:
            yield name, "has no effect without sasl_oauth_token_url; leave it out"
    for name in ("sasl_oauth_client_id", "sasl_oauth_client_secret") if by_url else ():
        if name not in there:
            yield "sasl_oauth_token_url", f"needs {name}; set it too"


def token_source(given: Mapping[str, Any]) -> Source:
    """The source that these settings name; ``oauth_problems`` has found nothing wrong with them.

    Raises:
        OSError: the file of ``sasl_oauth_cafile`` cannot be used.
    """
    if (file := given.get(TOKEN_FILE)) is not None:
        return lambda: _from_file(Path(file))
    if (command := given.get(TOKEN_COMMAND)) is not None:
        return lambda: _from_command(command)
    context = tls_context(cafile=given.get("sasl_oauth_cafile"))
    request = _client_credentials(
        given["sasl_oauth_token_url"],
        given["sasl_oauth_client_id"],
        given["sasl_oauth_client_secret"],
        given.get("sasl_oauth_scope"),
    )
    return lambda: _from_endpoint(request, context)


def token_extensions(given: Mapping[str, Any]) -> dict[str, str]:
    """The SASL extensions of ``sasl_oauth_extensions``, by name."""
    text = given.get("sasl_oauth_extensions")
    return dict(pair.split("=", 1) for pair in text.split(",")) if text else {}


def _is_command(text: str) -> bool:
    try:
        return bool(shlex.split(text))
    except ValueError:
        return False


def _from_file(path: Path) -> Token:
    try:
        with path.open("rb") as file:
            content = file.read(ANSWER_LIMIT)
    except OSError as error:
        raise Unavailable(
            f"no token for Kafka: sasl_oauth_token_file={path} cannot be read ({error.strerror}); see that the program "
            "that renews it writes it there, readable by this user"
        ) from error
    return _checked(
        content,
        None,
        f"sasl_oauth_token_file={path}",
        "see that the program that renews it writes only the token into it",
    )


def _from_command(command: str) -> Token:
    named = f"sasl_oauth_token_command={shlex.split(command)[0]}"  # the command's arguments may hold a secret
    try:
        process = subprocess.Popen(
            shlex.split(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise UsageError(
            f"no token for Kafka: {named} cannot be run ({error.strerror}); correct it, or make it executable"
        ) from error
    with process:
        try:
            output, complaint = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            # Kill its whole session, since a child of the command would keep the pipes open.
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Unavailable(
                f"no token for Kafka: {named} took longer than {TIMEOUT_S:g} s; try it by hand as this user"
            ) from None
    if process.returncode != 0:
        why = complaint.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
        raise Unavailable(
            f"no token for Kafka: {named} ended with {process.returncode} ({why[0][:200]}); try it by hand as this user"
        )
    move = "let it print the token, or JSON with access_token and expires_in, and nothing else"
    return _printed(output, named, move)


def _printed(output: bytes, named: str, move: str) -> Token:
    """The token in a command's output: a bare token; JSON as a token endpoint answers; or an ExecCredential, as
    kubectl's plugins print it."""
    if not output.lstrip().startswith(b"{"):
        return _checked(output, None, named, move)
    answer = _object(output, named, move)
    status = answer.get("status")
    if not isinstance(status, dict):
        return _granted(answer, named, move)
    try:
        expires = datetime.fromisoformat(status["expirationTimestamp"]).timestamp()
    except (KeyError, TypeError, ValueError, OverflowError):
        expires = None
    return _checked(_text(status.get("token")), expires, named, move)


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirect, since the other address would get the secret too: a redirect counts as any answer that is
    not 200."""

    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        return None


def _client_credentials(url: str, client_id: str, secret: str, scope: str | None) -> Request:
    """The request of RFC 6749, section 4.4.2, with the client's name and password as section 2.3.1 has them."""
    login = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
    fields = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
    return Request(
        url,
        data=urlencode(fields).encode(),
        headers={
            "Authorization": "Basic " + base64.b64encode(login.encode()).decode(),
            "Accept": "application/json",
            "User-Agent": "crawl-dedup",
        },
    )


def _from_endpoint(request: Request, context: ssl.SSLContext) -> Token:
    named = f"sasl_oauth_token_url={request.full_url.partition('?')[0]}"
    opener = build_opener(HTTPSHandler(context=context), _NoRedirect())
    try:
        with opener.open(request, timeout=TIMEOUT_S) as response:
            answer = response.read(ANSWER_LIMIT)
    except HTTPError as error:
        with error:
            raise _refused(error.code, error, named) from error
    except OSError as error:  # also URLError and a time-out
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise UsageError(
                f"no token for Kafka: the certificate of {named} is not trusted ({reason.verify_message}); "
                "name its authority's PEM file in sasl_oauth_cafile"
            ) from error
        raise Unavailable(
            f"no token for Kafka: {named} does not answer ({reason}); see that the issuer runs and is reached from here"
        ) from error
    move = "see that it is the issuer's token endpoint"
    return _granted(_object(answer, named, move), named, move)


def _refused(status: int, body: IO[bytes], named: str) -> Stop:
    try:
        told = json.loads(body.read(ANSWER_LIMIT))
        why = " ".join(str(told[name]) for name in ("error", "error_description") if name in told)
    except (OSError, ValueError, TypeError, RecursionError):
        why = ""
    message = f"no token for Kafka: {named} answered {status}" + (f" ({why[:300]})" if why else "")
    if status in _REFUSALS and status not in _TRY_AGAIN:
        return UsageError(
            f"{message}; check sasl_oauth_client_id, sasl_oauth_client_secret, sasl_oauth_scope and the URL"
        )
    if status < 400:
        return UsageError(f"{message}, which is no token; name the URL that it redirects to")
    return Unavailable(f"{message}; see that the issuer works")


def _granted(answer: Mapping[str, Any], named: str, move: str) -> Token:
    """The token in the answer of a token endpoint (RFC 6749, section 5.1)."""
    try:
        expires = time.time() + float(answer["expires_in"])
    except (KeyError, TypeError, ValueError, OverflowError):
        expires = None
    return _checked(_text(answer.get("access_token")), expires, named, move)


def _object(content: bytes, named: str, move: str) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise UsageError(f"no token for Kafka: {named} gave no JSON object; {move}")
    return answer


def _text(value: object) -> bytes:
    """A text's bytes; empty for any other value, which may be nested too deep to be written."""
    return value.encode(errors="replace") if isinstance(value, str) else b""


def _checked(content: bytes, expires: float | None, named: str, move: str) -> Token:
    text = content.decode("ascii", errors="replace").strip()
    if not _TOKEN.fullmatch(text):
        what = "nothing" if not text else "something other than a token"
        # A file that is being written is empty for a moment.
        kind: type[Stop] = UsageError if text else Unavailable
        raise kind(f"no token for Kafka: {named} gave {what}; {move}")
    if expires is None:
        claimed = _claims(text).get("exp")
        with suppress(OverflowError):
            expires = float(claimed) if isinstance(claimed, int | float) else None
    token = Token(text, expires)
    if token.is_expired(time.time()):
        raise Unavailable(
            f"no token for Kafka: {named} gave one that {_when(expires)}; renew it, or set this machine's clock right"
        )
    return token


def _claims(text: str) -> dict[str, Any]:
    """The claims of a JSON web token; empty where the token is of another kind. The broker checks the signature."""
    parts = text.split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def _when(expires: float | None) -> str:
    if expires is None:
        return "does not say when it expires"
    try:
        return f"expires at {datetime.fromtimestamp(expires, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return "names a time of expiry that is out of range"
