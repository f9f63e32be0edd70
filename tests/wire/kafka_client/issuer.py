"""An issuer of tokens on this machine: it signs them with RS256, and issues them over HTTPS for client credentials."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.wire.kafka_client.certificates import certificate
from worker.broker.configuration import HOST

NAME: Final = "https://issuer.test"
AUDIENCE: Final = "kafka"
CLIENT: Final = "crawler"
SECRET: Final = "open: sésame/%"
"""Characters that the login of RFC 6749 must encode."""
SCOPE: Final = "pages verdicts"


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


class Issuer:
    """``asked`` has the posted forms; ``answer``, a status and a body, replaces the endpoint's normal answer."""

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.lifetime = 300.0
        self.asked: list[dict[str, list[str]]] = []
        self.answer: tuple[int, bytes] | None = None
        self.url = ""
        self.authority = Path()

    def token(self, lifetime: float | None = None, **claims: Any) -> str:
        """A signed token that is valid for ``lifetime`` seconds."""
        now = time.time()
        said = {"iss": NAME, "aud": AUDIENCE, "sub": CLIENT, "iat": int(now), "scope": SCOPE}
        said |= {"exp": int(now + (self.lifetime if lifetime is None else lifetime)), **claims}
        head = {"alg": "RS256", "kid": "test", "typ": "JWT"}
        signed = ".".join(encoded(json.dumps(part).encode()) for part in (head, said))
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{encoded(signature)}"

    def write_keys(self, path: Path) -> Path:
        """The public key, as brokers read it."""
        numbers = self._key.public_key().public_numbers()
        n, e = (encoded(value.to_bytes(size, "big")) for value, size in ((numbers.n, 256), (numbers.e, 3)))
        key = {"kty": "RSA", "kid": "test", "use": "sig", "alg": "RS256", "n": n, "e": e}
        path.write_text(json.dumps({"keys": [key]}))
        return path

    def granted(self, authorization: str | None, form: dict[str, list[str]]) -> tuple[int, bytes]:
        """The answer of the token endpoint."""
        self.asked.append(form)
        if self.answer is not None:
            return self.answer
        login = base64.b64decode((authorization or "").removeprefix("Basic ")).decode()
        if [unquote(part) for part in login.split(":")] != [CLIENT, SECRET]:
            return 401, b'{"error": "invalid_client", "error_description": "no such client"}'
        if form != {"grant_type": ["client_credentials"], "scope": [SCOPE]}:
            return 400, b'{"error": "invalid_scope"}'
        return 200, json.dumps({"access_token": self.token(), "expires_in": self.lifetime}).encode()


@contextmanager
def issuer(folder: Path) -> Iterator[Issuer]:
    """The issuer listens inside the block."""
    running = Issuer()

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            status, body = running.granted(self.headers["Authorization"], form)
            self.send_response(status)
            if status == 302:
                self.send_header("Location", running.url)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Keep log lines out of the tests' output."""

    running.authority = certificate(folder / "issuer.pem")
    with ThreadingHTTPServer((HOST, 0), Endpoint) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(running.authority)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        running.url = f"https://{HOST}:{server.server_address[1]}/token"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield running
        finally:
            server.shutdown()
            thread.join()
