"""The section ``kafka`` of the settings: where the broker is, and how a worker logs in to it."""

from __future__ import annotations

from typing import Literal

from pydantic import FilePath, SecretStr

from crawler_plugin.wire.kafka_client.token_sources import EXTENSIONS, HTTPS_URL
from worker.config.section import Section, setting

PORT = r"(?:6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})"
HOST_AND_PORT = r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):" + PORT
NAME = r"^[A-Za-z0-9._-]+$"


class KafkaSettings(Section):
    """The broker, and how this worker presents itself to it."""

    bootstrap_servers: str = setting(
        "127.0.0.1:9092",
        "Brokers to start from, host:port, several with commas. The default is where `python -m worker broker` "
        "listens. Set it if the broker is on another machine.",
        pattern=rf"^\s*{HOST_AND_PORT}\s*(,\s*{HOST_AND_PORT}\s*)*$",
        example="kafka-1:9092,kafka-2:9092",
    )
    client_id: str = setting(
        "crawl-dedup",
        "Name in the broker's logs and quotas. Change it if the broker's operator tells clients apart by it.",
        pattern=NAME,
    )
    group: str = setting(
        "dedup",
        "Prefix of the consumer groups. Workers that share it share the work; two crawls on one broker need two. "
        "Change it for a second crawl on one broker.",
        pattern=NAME,
        max_length=200,
    )
    instance_id: str | None = setting(
        None,
        "Static membership: a fixed name, different for each worker, lets one come back within the session timeout "
        "without moving any partition. Without it each start is a new member. Set it if a supervisor restarts workers "
        "under fixed names; a worker that will not come back must leave: by SIGUSR1, or the command leave.",
        pattern=NAME,
        max_length=200,
    )
    client_rack: str = setting(
        "",
        "Rack, zone or machine of this worker, named as in the brokers' broker.rack. With index.replicas: 2 the two "
        "holders of a shard are in different racks, if workers name two. Records are read from a copy in the same "
        "rack, if the brokers' replica.selector.class allows that. Set it if the brokers stand in several zones.",
        pattern=r"^[A-Za-z0-9._-]*$",
        max_length=200,
        example="zone-a",
    )
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = setting(
        "PLAINTEXT",
        "How the connection is protected. PLAINTEXT suits a broker on this machine only. Set it as the broker's "
        "operator says.",
    )
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"] | None = setting(
        None,
        "How to log in, for the two SASL protocols. OAUTHBEARER takes one of the three settings sasl_oauth_token_…; "
        "AWS_MSK_IAM finds credentials and region as AWS's own tools do, with `pip install 'crawl-dedup[msk]'`. See "
        "docs/how-to/log-in.md. Set it as the broker's operator says.",
    )
    sasl_username: str | None = setting(
        None, "User name to log in with. Set it if the mechanism has names.", min_length=1
    )
    sasl_password: SecretStr | None = setting(
        None,
        "Password to log in with. Better kept in the environment or in sasl_password_file than in this file. Set it "
        "if the mechanism has names.",
    )
    sasl_password_file: FilePath | None = setting(
        None,
        "File that holds the password (a mounted secret); a line end after it is left out. Set it if secrets are "
        "mounted as files.",
    )
    sasl_oauth_token_file: FilePath | None = setting(
        None,
        "OAUTHBEARER: file that holds the token, read at each login; replace the file to renew it. Set it if "
        "another program writes tokens to a file.",
    )
    sasl_oauth_token_command: str | None = setting(
        None,
        "OAUTHBEARER: command that prints a token, or JSON with access_token and expires_in, or an ExecCredential as "
        "kubectl's plugins do. No shell reads it. It has ten seconds. Set it if a program prints tokens.",
        example="/usr/local/bin/kafka-token --audience kafka",
    )
    sasl_oauth_token_url: str | None = setting(
        None,
        "OAUTHBEARER: the issuer's token endpoint, which gives tokens for client credentials (RFC 6749, section 4.4). "
        "Set it if the issuer gives tokens to clients.",
        pattern=HTTPS_URL,
        example="https://issuer.example/oauth2/token",
    )
    sasl_oauth_client_id: str | None = setting(
        None, "Name of this client at the issuer. Set it with sasl_oauth_token_url.", min_length=1
    )
    sasl_oauth_client_secret: SecretStr | None = setting(
        None,
        "Password of this client at the issuer. Better kept in the environment or in sasl_oauth_client_secret_file "
        "than in this file. Set it with sasl_oauth_token_url.",
    )
    sasl_oauth_client_secret_file: FilePath | None = setting(
        None,
        "File that holds the client's password; a line end after it is left out. Set it if secrets are mounted as "
        "files.",
    )
    sasl_oauth_scope: str | None = setting(
        None,
        "Scope of the token to ask for; several with blanks between them. Set it if the issuer wants one.",
        min_length=1,
    )
    sasl_oauth_cafile: FilePath | None = setting(
        None,
        "PEM file of the authorities that may sign the issuer's certificate. Without it the system's are used. Set it "
        "if the issuer's certificate is signed by your own authority.",
    )
    sasl_oauth_extensions: str | None = setting(
        None,
        "Extensions that the broker gets with the token, as Confluent Cloud wants them. Set it if the broker wants "
        "them.",
        pattern=EXTENSIONS,
        example="logicalCluster=lkc-1,identityPoolId=pool-1",
    )
    ssl_cafile: FilePath | None = setting(
        None,
        "PEM file of the authorities that may sign the broker's certificate. Without it the system's are used. Set it "
        "if the broker's certificate is signed by your own authority.",
    )
    ssl_certfile: FilePath | None = setting(
        None,
        "PEM file of this worker's certificate, if the broker asks for one. Set it if the broker knows its clients by "
        "certificates.",
    )
    ssl_keyfile: FilePath | None = setting(
        None, "PEM file of the certificate's key, if it is not in ssl_certfile. Set it with ssl_certfile."
    )
    ssl_password: SecretStr | None = setting(
        None,
        "Password of the key. Better kept in the environment or in ssl_password_file than in this file. Set it if the "
        "key is encrypted.",
    )
    ssl_password_file: FilePath | None = setting(
        None,
        "File that holds the key's password; a line end after it is left out. Set it if secrets are mounted as files.",
    )
    session_timeout_seconds: float = setting(
        30,
        "A worker silent for this long loses its partitions to others. Shorter moves them sooner after a crash; too "
        "short takes them from a worker that merely pauses. The broker's own bounds are 6 and 1800. Change it if the "
        "machine pauses, or if a crash must be noticed sooner.",
        unit="seconds",
        ge=6,
        le=1800,
    )
    heartbeat_seconds: float = setting(
        2,
        "How often a worker says that it lives, and hears that partitions move: each step of a move waits for one. At "
        "most a third of the session timeout, so that two may get lost. Leave it, unless the session timeout is below "
        "six seconds.",
        unit="seconds",
        gt=0,
    )
    transaction_timeout_seconds: float = setting(
        20,
        "The broker aborts a transaction that is open for longer. Readers of the outputs wait for open transactions, "
        "so a crashed worker delays them by this much at most. The broker's own limit is 900. Change it if the broker "
        "is slow enough to abort transactions.",
        unit="seconds",
        ge=1,
        le=900,
    )
    request_timeout_seconds: float = setting(
        15,
        "How long one request to the broker may take before it is tried again; within a transaction at most half of "
        "the transaction timeout, so that a second try fits. Change it, with the two around it, if the broker is far "
        "away.",
        unit="seconds",
        ge=1,
        le=300,
    )
    delivery_timeout_seconds: float = setting(
        30,
        "How long a worker may try to send a record, all requests together, before it counts as failed. At least twice "
        "the request timeout, so that a second try fits. Within a transaction, the transaction timeout applies "
        "instead. Change it with the request timeout.",
        unit="seconds",
        ge=2,
        le=600,
    )
    patience_seconds: float = setting(
        60,
        "How long the broker may be away, or a log may go on without being read, before the worker gives up and leaves "
        "the waiting to its supervisor. Change it if the broker is away for longer whenever it is maintained.",
        unit="seconds",
        gt=0,
        le=86400,
    )
