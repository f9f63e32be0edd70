"""The TLS context of every connection: to brokers, and to token endpoints."""

from __future__ import annotations

import os
import ssl


def tls_context(
    *,
    cafile: str | os.PathLike[str] | None = None,
    certfile: str | os.PathLike[str] | None = None,
    keyfile: str | os.PathLike[str] | None = None,
    password: str | None = None,
    ciphers: str | None = None,
    check_hostname: bool = True,
) -> ssl.SSLContext:
    """Make the context here and not in kafka-python, which reads the files anew at each connection and hides errors.

    Raises:
        OSError: a file cannot be read, is of another kind, or has another password; ``ssl.SSLError`` is one.
    """
    context = ssl.create_default_context(cafile=cafile)
    if certfile is not None:
        # Without a password OpenSSL would ask for one on the terminal, and wait for ever.
        context.load_cert_chain(certfile, keyfile, password or "")
    if ciphers is not None:
        context.set_ciphers(ciphers)
    context.check_hostname = check_hostname
    return context
