"""The plugin's settings: read and checked once, before the first request.

A wrong value stops the crawl at its start, since the alternative is a crawl of hours whose pages went nowhere. All that
is wrong is told at once.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

from scrapy.settings import BaseSettings

from crawler_plugin.catalogue import KAFKA_OPTIONS, OUR_FIELDS, PREFIX, SETTINGS
from crawler_plugin.feedback.decision import FeedbackAction, FeedbackPolicy
from crawler_plugin.metrics.server import LOCAL, ListenAddress
from crawler_plugin.publishing.connection import DELIVERY_MS, REQUEST_MS, codec_is_installed
from crawler_plugin.wanted import Wanted, media_types, status_ranges
from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.kafka_client.connection import require_crc32c
from crawler_plugin.wire.kafka_client.msk import require_aws_credentials
from crawler_plugin.wire.kafka_client.tls import tls_context
from crawler_plugin.wire.kafka_client.token_sources import OAUTH_OPTIONS, oauth_problems
from crawler_plugin.wire.kafka_client.tokens import token_provider
from crawler_plugin.wire.topics import DEAD_LETTERS, DEFAULT_PREFIX, JOBS, PAGES, VERDICTS, topic_name

Fallback = TypeVar("Fallback")
Parsed = TypeVar("Parsed")
Chosen = TypeVar("Chosen", bound=str)
Oversize: TypeAlias = Literal["truncate", "reject"]
OnFull: TypeAlias = Literal["block", "spool", "fail"]
Mode: TypeAlias = Literal["kafka", "local"]

_TLS_OPTIONS: Final = (
    "ssl_check_hostname",
    "ssl_cafile",
    "ssl_certfile",
    "ssl_keyfile",
    "ssl_password",
    "ssl_ciphers",
)
_OVERSIZE: Final[tuple[Oversize, ...]] = get_args(Oversize)
_ON_FULL: Final[tuple[OnFull, ...]] = get_args(OnFull)
_MODES: Final[tuple[Mode, ...]] = get_args(Mode)
_ACTIONS: Final[tuple[FeedbackAction, ...]] = get_args(FeedbackAction)
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_PASSWORD_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_MECHANISMS: Final = (*_PASSWORD_MECHANISMS, "GSSAPI", "OAUTHBEARER", "AWS_MSK_IAM")
_COMPRESSIONS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
MISSPELT: Final = 0.8
"""How alike two names are, of which one is taken for the other misspelt. Lower, and DEDUP_STRATEGY of another add-on
passes for DEDUP_STATE."""
_SERVER: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:,\[\]/]+):([0-9]{1,5})")
_TOPIC_PREFIX: Final = re.compile(r"[A-Za-z0-9._-]{0,200}")
_GENERATION: Final = re.compile(r"[A-Za-z0-9._-]{0,30}")


@dataclass(frozen=True)
class PluginSettings:
    """What the plugin was told, checked. ``connection`` are keyword arguments of ``KafkaProducer``."""

    bootstrap_servers: tuple[str, ...]
    topic: str
    fields: Mapping[str, str]
    job: str | None
    buffer_bytes: int
    max_page_bytes: int
    oversize: Oversize
    flush_timeout: float
    compression: str | None
    connection: Mapping[str, Any] = field(repr=False)
    on_full: OnFull = "block"
    give_up_seconds: float = 300.0
    required: bool = False
    jobs: str = topic_name(DEFAULT_PREFIX, JOBS)
    """The topic that is told how many pages of which job there were."""
    patience: float = 0.0
    """Seconds for which an item waits for a worker's verdict on its page; 0: it does not."""
    verdicts: str = topic_name(DEFAULT_PREFIX, VERDICTS)
    dead_letters: str = topic_name(DEFAULT_PREFIX, DEAD_LETTERS)
    spool: str | None = None
    """A path in which %(spider)s and %(job)s stand for names; None: there is none."""
    spool_bytes: int = 1024**3
    captured: Wanted | None = None
    """What is captured of the responses that callbacks get; None: pages come in items."""
    mode: Mode = "kafka"
    state: str | None = None
    """A path in which %(spider)s and %(job)s stand for names; None: what was judged is forgotten with the crawl."""
    config: str | None = None
    local_python: str | None = None
    """The interpreter that judges; None: this one."""
    drop: frozenset[str] = frozenset()
    """The verdicts whose items are dropped."""
    metrics: ListenAddress | None = None
    """Where the crawl's metrics are asked for; None: nowhere."""
    feedback: FeedbackPolicy | None = None
    """How requests are decided by what their templates gave; None: they are not."""
    foreign: tuple[str, ...] = ()
    """Names that begin with ``DEDUP_`` and are no settings of the plugin, nor look as if they were meant to be."""

    @classmethod
    def read(cls, settings: BaseSettings, *, are_merged: bool = True) -> PluginSettings:
        """Read all settings that begin with ``DEDUP_``.

        Before those of the spider are merged, each is read by itself: what it lacks the spider may bring.

        Raises:
            UsageError: one or more of them are wrong; the message names each and says what to write.
        """
        require_crc32c()
        reader = _Reader(settings)
        foreign = reader.foreign_names()
        servers = reader.servers("DEDUP_BOOTSTRAP_SERVERS")
        max_page_bytes = reader.whole_number("DEDUP_MAX_PAGE_BYTES", 4096, 1024**3)
        prefix = reader.topic_prefix("DEDUP_TOPIC_PREFIX")
        generation = reader.generation("DEDUP_GENERATION")
        read = cls(
            bootstrap_servers=servers,
            topic=topic_name(prefix, PAGES),
            jobs=topic_name(prefix, JOBS),
            patience=reader.seconds("DEDUP_AWAIT", 3600),
            verdicts=topic_name(prefix, VERDICTS, generation),
            dead_letters=topic_name(prefix, DEAD_LETTERS, generation),
            fields=MappingProxyType(reader.fields("DEDUP_FIELDS")),
            job=reader.job("DEDUP_JOB"),
            buffer_bytes=reader.whole_number("DEDUP_BUFFER_BYTES", max_page_bytes if are_merged else 4096, 1024**5),
            max_page_bytes=max_page_bytes,
            oversize=reader.choice("DEDUP_OVERSIZE", _OVERSIZE),
            flush_timeout=reader.seconds("DEDUP_FLUSH_TIMEOUT", 86400),
            compression=reader.compression("DEDUP_COMPRESSION"),
            connection=MappingProxyType(reader.kafka_options("DEDUP_KAFKA_OPTIONS")),
            on_full=reader.choice("DEDUP_ON_FULL", _ON_FULL),
            give_up_seconds=reader.seconds("DEDUP_GIVE_UP_SECONDS", 365 * 86400),
            required=reader.yes_or_no("DEDUP_REQUIRED"),
            spool=reader.spool("DEDUP_SPOOL"),
            spool_bytes=reader.whole_number("DEDUP_SPOOL_BYTES", 0, 1024**5),
            captured=reader.captured(),
            mode=reader.choice("DEDUP_MODE", _MODES),
            state=reader.state("DEDUP_STATE"),
            config=reader.path("DEDUP_CONFIG"),
            local_python=reader.path("DEDUP_LOCAL_PYTHON"),
            drop=reader.drop(),
            metrics=reader.listen_address("DEDUP_STATS_PORT"),
            feedback=reader.feedback(),
            foreign=foreign,
        )
        if are_merged:
            reader.refuse_without_effect(read)
        reader.raise_problems()
        return read

    @property
    def tells(self) -> bool:
        """Whether verdicts come back to the crawl."""
        return self.mode == "local" or self.patience > 0


def is_enabled(settings: BaseSettings) -> bool:
    """Whether the plugin is to do anything.

    Raises:
        UsageError: ``DEDUP_ENABLED`` is neither yes nor no.
    """
    reader = _Reader(settings)
    enabled = reader.yes_or_no("DEDUP_ENABLED")
    reader.raise_problems()
    return enabled


class _Reader:
    """Reads one setting after the other and gathers what is wrong."""

    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings
        self._problems: list[str] = []

    def raise_problems(self) -> None:
        if self._problems:
            raise UsageError(
                "the crawl does not start, since its pages would be lost; correct in the Scrapy settings: "
                + "; ".join(self._problems)
            )

    def foreign_names(self) -> tuple[str, ...]:
        """Names of other programs, which may begin as ours do; one that is close to ours is a problem."""
        foreign = []
        for name in self._settings:
            if isinstance(name, str) and name.startswith(PREFIX) and name not in SETTINGS:
                meant = _meant_by(name.removeprefix(PREFIX))
                if meant is None:
                    foreign.append(name)
                else:
                    self._problems.append(f"{name}: no such setting, did you mean {PREFIX}{meant}?")
        return tuple(foreign)

    def refuse_without_effect(self, read: PluginSettings) -> None:
        """What one setting needs of another one."""
        if read.mode != "local":
            self._refuse_set(("DEDUP_STATE", "DEDUP_CONFIG", "DEDUP_LOCAL_PYTHON"), "DEDUP_MODE = 'local'")
        if not read.tells:
            self._refuse_set(("DEDUP_DROP", "DEDUP_DROP_REFETCHES"), "DEDUP_AWAIT, or DEDUP_MODE = 'local'")
        if not read.drop:
            self._refuse_set(("DEDUP_DROP_REFETCHES",), "DEDUP_DROP = True")

    def _refuse_set(self, names: tuple[str, ...], needed: str) -> None:
        for name in names:
            if str(self._value(name)).lower() not in ("none", "false", "0"):
                self._problems.append(f"{name}: it has no effect without {needed}, add that")

    def captured(self) -> Wanted | None:
        types = self._parsed("DEDUP_CAPTURE_TYPES", media_types)
        statuses = self._parsed("DEDUP_CAPTURE_STATUS", status_ranges)
        return Wanted(types, statuses) if self.yes_or_no("DEDUP_CAPTURE") else None

    def servers(self, name: str) -> tuple[str, ...]:
        value = self._value(name)
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, (list, tuple)):
            return self._wrong(name, value, ())
        servers = tuple(str(part).strip() for part in parts)
        matches = [_SERVER.fullmatch(server) for server in servers]
        if not servers or any(match is None or not 0 < int(match[2]) < 65536 for match in matches):
            return self._wrong(name, value, ())
        return servers

    def listen_address(self, name: str) -> ListenAddress | None:
        value = self._value(name)
        if value is None:
            return None
        host, _, port = str(value).rpartition(":")
        is_port = not isinstance(value, bool) and re.fullmatch(r"[0-9]{1,5}", port) and int(port) < 65536
        if not is_port or (str(value).startswith(":")):
            return self._wrong(name, value, None)
        return ListenAddress(host.strip("[]") or LOCAL, int(port))

    def topic_prefix(self, name: str) -> str:
        value = self._value(name)
        if not isinstance(value, str) or not _TOPIC_PREFIX.fullmatch(value):
            return self._wrong(name, value, DEFAULT_PREFIX)
        return value

    def generation(self, name: str) -> str:
        value = self._value(name)
        if not isinstance(value, str) or not _GENERATION.fullmatch(value):
            return self._wrong(name, value, "")
        return value

    def fields(self, name: str) -> dict[str, str]:
        value = self._mapping(name)
        for ours, theirs in value.items():
            if ours not in OUR_FIELDS or not (theirs is None or (isinstance(theirs, str) and theirs)):
                return self._wrong(name, value, {})
        names = dict(zip(OUR_FIELDS, OUR_FIELDS, strict=True)) | value
        if names["url"] is None or names["body"] is names["text"] is None:
            return self._wrong(name, value, {}, detail="; url and one of body and text are needed")
        return {ours: theirs for ours, theirs in names.items() if theirs is not None}

    def job(self, name: str) -> str | None:
        """Name of the crawl as far as it is told; None: take the time of the start."""
        value = self._value(name)
        if value is not None and not (isinstance(value, str) and value):
            return self._wrong(name, value, None)
        folder = self._settings.get("JOBDIR")
        return value or os.environ.get("SCRAPY_JOB") or (Path(folder).resolve().name if folder else None)

    def whole_number(self, name: str, least: int, most: int) -> int:
        value = self._number(name, int)
        if value is None or not least <= value <= most:
            return self._wrong(name, self._value(name), least, detail=f" (here at least {least})")
        return int(value)

    def seconds(self, name: str, most: float) -> float:
        value = self._number(name, float)
        if value is None or not 0 <= value <= most:
            return self._wrong(name, self._value(name), 0.0)
        return float(value)

    def choice(self, name: str, choices: tuple[Chosen, ...]) -> Chosen:
        value = self._value(name)
        return next((choice for choice in choices if choice == value), None) or self._wrong(name, value, choices[0])

    def spool(self, name: str) -> str | None:
        path = self.path(name)
        if path is None:
            folder = self._settings.get("JOBDIR")
            return os.fspath(Path(folder) / "dedup.spool") if folder else "dedup-%(spider)s.spool"
        return None if path == "none" else path

    def state(self, name: str) -> str | None:
        folder = self._settings.get("JOBDIR")
        return self.path(name) or (os.fspath(Path(folder) / "dedup") if folder else None)

    def path(self, name: str) -> str | None:
        value = self._value(name)
        if value is None or (isinstance(value, (str, os.PathLike)) and os.fspath(value)):
            return None if value is None else os.fspath(value)
        return self._wrong(name, value, None)

    def drop(self) -> frozenset[str]:
        drops, drops_refetches = self.yes_or_no("DEDUP_DROP"), self.yes_or_no("DEDUP_DROP_REFETCHES")
        return frozenset(() if not drops else ("duplicate", "refetch") if drops_refetches else ("duplicate",))

    def feedback(self) -> FeedbackPolicy | None:
        policy = FeedbackPolicy(
            action=self.choice("DEDUP_FEEDBACK_ACTION", _ACTIONS),
            least=self.whole_number("DEDUP_FEEDBACK_MIN", 20, 10**6),
            explore=self.share("DEDUP_FEEDBACK_EXPLORE"),
            budget=self.whole_number("DEDUP_FEEDBACK_BUDGET", 0, 10**9),
            seed=self.whole_number("DEDUP_FEEDBACK_SEED", 0, 2**63 - 1),
            is_dry_run=self.yes_or_no("DEDUP_FEEDBACK_DRY_RUN"),
        )
        return policy if self.yes_or_no("DEDUP_FEEDBACK") else None

    def share(self, name: str) -> float:
        value = self._number(name, float)
        if value is None or not 0 < value <= 1:
            return self._wrong(name, self._value(name), 1.0)
        return float(value)

    def yes_or_no(self, name: str) -> bool:
        """As Scrapy reads it, so that ``-s NAME=False`` and ``-s NAME=0`` are no."""
        match str(self._value(name)).lower():
            case "true" | "1":
                return True
            case "false" | "0":
                return False
        return self._wrong(name, self._value(name), False)

    def compression(self, name: str) -> str | None:
        value = self._value(name)
        if value not in _COMPRESSIONS:
            return self._wrong(name, value, None)
        if value == "none":
            return None
        if not codec_is_installed(value):
            missing = (
                f", and the package that brings {value} is not installed: pip install 'crawl-dedup-scrapy[compression]'"
            )
            return self._wrong(name, value, None, detail=missing)
        return str(value)

    def kafka_options(self, name: str) -> dict[str, Any]:
        options = {key: value for key, value in self._mapping(name).items() if value is not None}
        before = len(self._problems)
        for key, value in options.items():
            if key not in KAFKA_OPTIONS:
                close = difflib.get_close_matches(str(key), KAFKA_OPTIONS, n=1)
                meant = f"did you mean {close[0]}?" if close else f"it takes {', '.join(KAFKA_OPTIONS)}"
                self._problems.append(f"{name}[{key!r}]: not an option that can be passed through, {meant}")
            elif not isinstance(value, KAFKA_OPTIONS[key]) or (
                isinstance(value, bool) and KAFKA_OPTIONS[key] is not bool
            ):
                self._problems.append(
                    f"{name}[{key!r}]: a {type(value).__name__}, write {_written(KAFKA_OPTIONS[key])}"
                )
        if len(self._problems) == before:
            self._check_security(name, options)
            self._check_timeouts(name, options)
        if len(self._problems) == before and "ssl_context" not in options and _is_tls(options):
            self._load_tls(name, options)
        is_by_token = options.get("sasl_mechanism") == "OAUTHBEARER" and "sasl_oauth_token_provider" not in options
        if len(self._problems) == before and is_by_token:
            self._load_tokens(name, options)
        return {key: value for key, value in options.items() if key not in (*_TLS_OPTIONS, *OAUTH_OPTIONS)}

    def _check_security(self, name: str, options: Mapping[str, Any]) -> None:
        protocol = options.get("security_protocol", "PLAINTEXT")
        if protocol not in _PROTOCOLS:
            self._problems.append(f"{name}['security_protocol']={protocol!r}: write one of {', '.join(_PROTOCOLS)}")
            return
        without_use = [key for key in options if key.startswith("ssl_") and not _is_tls(options)]
        without_use += [key for key in options if key.startswith("sasl_") and not protocol.startswith("SASL")]
        if without_use:
            self._problems.append(
                f"{name}: {', '.join(without_use)} have no effect with security_protocol {protocol}; "
                "write 'SASL_SSL', 'SASL_PLAINTEXT' or 'SSL' there, or leave them out"
            )
        if protocol.startswith("SASL"):
            mechanism = options.get("sasl_mechanism")
            if mechanism not in _MECHANISMS:
                self._problems.append(f"{name}['sasl_mechanism']={mechanism!r}: write one of {', '.join(_MECHANISMS)}")
            missing = {"sasl_plain_username", "sasl_plain_password"} - set(options)
            if mechanism in _PASSWORD_MECHANISMS and missing:
                self._problems.append(f"{name}: {mechanism} needs {', '.join(sorted(missing))} too")
            if "sasl_oauth_token_provider" not in options:
                wrong = oauth_problems(mechanism, options)
                self._problems += [f"{name}[{key!r}]: {why}" for key, why in wrong]
            if mechanism == "AWS_MSK_IAM":
                self._check_aws(name, protocol)

    def _check_aws(self, name: str, protocol: str) -> None:
        if protocol != "SASL_SSL":
            self._problems.append(f"{name}: AWS_MSK_IAM needs security_protocol SASL_SSL")
        try:
            require_aws_credentials()
        except UsageError as error:
            self._problems.append(f"{name}: {error}")

    def _check_timeouts(self, name: str, options: Mapping[str, Any]) -> None:
        for key, value in options.items():
            if key.endswith("_ms") and value <= 0:
                self._problems.append(f"{name}[{key!r}]={value}: write milliseconds, above 0")
        delivery = options.get("delivery_timeout_ms", DELIVERY_MS)
        request = options.get("request_timeout_ms", REQUEST_MS)
        if delivery < request:
            self._problems.append(
                f"{name}: delivery_timeout_ms={delivery} leaves no time for a second try after "
                f"request_timeout_ms={request}; write at least twice that"
            )

    def _load_tls(self, name: str, options: dict[str, Any]) -> None:
        try:
            context = tls_context(
                cafile=options.get("ssl_cafile"),
                certfile=options.get("ssl_certfile"),
                keyfile=options.get("ssl_keyfile"),
                password=options.get("ssl_password"),
                ciphers=options.get("ssl_ciphers"),
                check_hostname=options.get("ssl_check_hostname", True),
            )
        except OSError as error:
            self._problems.append(
                f"{name}: cannot use the TLS files ({error}), "
                "check ssl_cafile, ssl_certfile, ssl_keyfile, ssl_password and ssl_ciphers"
            )
        else:
            options["ssl_context"] = context

    def _load_tokens(self, name: str, options: dict[str, Any]) -> None:
        try:
            options["sasl_oauth_token_provider"] = token_provider(options)
        except OSError as error:
            self._problems.append(f"{name}['sasl_oauth_cafile']: cannot be used ({error}), name a PEM file")

    def _value(self, name: str) -> Any:
        value = self._settings.get(name)
        return SETTINGS[name].default if value is None else value

    def _parsed(self, name: str, parse: Callable[[Any], tuple[Parsed, ...]]) -> tuple[Parsed, ...]:
        value = self._value(name)
        try:
            return parse(value)
        except UsageError as error:
            return self._wrong(name, value, (), detail=f" ({error})")

    def _number(self, name: str, kind: Callable[[str], float]) -> float | None:
        """A number, or text that is one (as ``scrapy crawl -s`` gives it)."""
        value = self._value(name)
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            return None
        try:
            return kind(str(value))
        except ValueError:
            return None

    def _mapping(self, name: str) -> dict[str, Any]:
        """A mapping, or JSON text of one (as ``scrapy crawl -s`` gives it)."""
        try:
            return dict(self._settings.getdict(name) if self._settings.get(name) is not None else {})
        except (TypeError, ValueError):
            self._problems.append(f"{name}: write {SETTINGS[name].allowed}")  # its value may hold a password
            return {}

    def _wrong(self, name: str, value: object, fallback: Fallback, detail: str = "") -> Fallback:
        self._problems.append(f"{name}={value!r}: write {SETTINGS[name].allowed}{detail}")
        return fallback


def _meant_by(name: str) -> str | None:
    """The setting of ours, without its prefix, that was meant by a name that none has: it is misspelt, or words of it
    are left out.
    """
    for setting in SETTINGS:
        ours = setting.removeprefix(PREFIX)
        if 2 * len(name) >= len(ours) and (ours.startswith(f"{name}_") or ours.endswith(f"_{name}")):
            return ours
    known = [setting.removeprefix(PREFIX) for setting in SETTINGS]
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=MISSPELT)), None)


def _is_tls(options: Mapping[str, Any]) -> bool:
    return str(options.get("security_protocol", "")).endswith("SSL")


def _written(kind: type | tuple[type, ...]) -> str:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return " or ".join(kind.__name__ for kind in kinds)
