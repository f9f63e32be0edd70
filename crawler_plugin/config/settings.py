"""The plugin's settings: read and checked once, before the first request.

A wrong value stops the crawl at its start, since the alternative is a crawl of hours whose pages went nowhere. One
message names all errors at once.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from scrapy.settings import BaseSettings

from crawler_plugin.config.catalogue import PREFIX, SETTINGS
from crawler_plugin.config.kinds import SettingKind, WrongValue, whole_number
from crawler_plugin.config.wanted import Wanted
from crawler_plugin.feedback.decision import FeedbackPolicy
from crawler_plugin.metrics.server import ListenAddress
from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.kafka_client.connection import require_crc32c
from crawler_plugin.wire.topics import DEAD_LETTERS, DEFAULT_PREFIX, JOBS, PAGES, VERDICTS, topic_name

Oversize: TypeAlias = Literal["truncate", "reject"]
OnFull: TypeAlias = Literal["block", "spool", "fail"]
Mode: TypeAlias = Literal["kafka", "local"]

_ENABLED: Final = "DEDUP_ENABLED"
"""Read before all other settings, which are not read where it is False."""
MISSPELT: Final = 0.8
"""How similar a name must be to a setting's name to count as a misspelling of it. If this were lower, DEDUP_STRATEGY of
another add-on would pass for DEDUP_STATE."""


@dataclass(frozen=True)
class PluginSettings:
    """The plugin's settings, checked. ``connection`` holds keyword arguments of ``KafkaProducer``."""

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
    """The topic that gets the number of pages of each job."""
    patience: float = 0.0
    """Seconds for which an item waits for a worker's verdict on its page; 0: it does not wait."""
    awaits_responses: bool = False
    """Whether callbacks also wait for the verdict on their response."""
    is_dry_run: bool = False
    """Whether nothing is dropped, and everything that would be dropped is counted."""
    verdicts: str = topic_name(DEFAULT_PREFIX, VERDICTS)
    dead_letters: str = topic_name(DEFAULT_PREFIX, DEAD_LETTERS)
    spool: str | None = None
    """A path in which %(spider)s and %(job)s stand for names; None: there is no spool."""
    spool_bytes: int = 1024**3
    captured: Wanted | None = None
    """Which of the responses that callbacks get are captured; None: pages come in items."""
    mode: Mode = "kafka"
    state: str | None = None
    """A path in which %(spider)s and %(job)s stand for names; None: the state is lost at the end of the crawl."""
    config: str | None = None
    local_python: str | None = None
    """The interpreter that judges; None: this one."""
    drop: frozenset[str] = frozenset()
    """The verdicts whose items are dropped."""
    dropped: str | None = None
    """A path in which %(spider)s and %(job)s stand for names; None: dropped items are not kept."""
    metrics: ListenAddress | None = None
    """The address at which the crawl shows its metrics; None: nowhere."""
    feedback: FeedbackPolicy | None = None
    """How to decide on requests by the verdicts on their templates; None: requests are not decided on."""
    foreign: tuple[str, ...] = ()
    """Names that begin with ``DEDUP_`` and are neither settings of the plugin nor misspelt settings."""

    @classmethod
    def read(cls, settings: BaseSettings, *, are_merged: bool = True) -> PluginSettings:
        """Read all settings that begin with ``DEDUP_``.

        Before the spider's settings are merged, each setting is read by itself: the spider may still bring what is
        missing.

        Raises:
            UsageError: one or more of them are wrong; the message names each and says what to write.
        """
        require_crc32c()
        reader = _Reader(settings)
        foreign = reader.foreign_names()
        told = {name.removeprefix(PREFIX).lower(): reader.read(name) for name in SETTINGS if name != _ENABLED}
        if are_merged:
            bounded = whole_number(told["max_page_bytes"], 1024**5)
            told["buffer_bytes"] = reader.read("DEDUP_BUFFER_BYTES", bounded)
        prefix, generation = told["topic_prefix"], told["generation"]
        folder = settings.get("JOBDIR")
        default_spool = os.fspath(Path(folder) / "dedup.spool") if folder else "dedup-%(spider)s.spool"
        dropped = [verdict for verdict, name in _DROPPED.items() if told["drop"] and told[name]]
        feedback = FeedbackPolicy(
            action=told["feedback_action"],
            least=told["feedback_min"],
            explore=told["feedback_explore"],
            budget=told["feedback_budget"],
            seed=told["feedback_seed"],
            is_dry_run=told["feedback_dry_run"] or told["dry_run"],
            earlier=told["feedback_from"],
        )
        read = cls(
            **{name: told[name] for name in _AS_TOLD},
            topic=topic_name(prefix, PAGES),
            jobs=topic_name(prefix, JOBS),
            verdicts=topic_name(prefix, VERDICTS, generation),
            dead_letters=topic_name(prefix, DEAD_LETTERS, generation),
            patience=told["await"],
            awaits_responses=told["await_responses"],
            is_dry_run=told["dry_run"],
            job=told["job"] or os.environ.get("SCRAPY_JOB") or (Path(folder).resolve().name if folder else None),
            connection=told["kafka_options"],
            spool=None if told["spool"] == "none" else told["spool"] or default_spool,
            captured=Wanted(told["capture_types"], told["capture_status"]) if told["capture"] else None,
            state=told["state"] or (os.fspath(Path(folder) / "dedup") if folder else None),
            drop=frozenset(dropped),
            metrics=told["stats_port"],
            feedback=feedback if told["feedback"] else None,
            foreign=foreign,
        )
        if are_merged:
            reader.refuse_without_effect(read)
            reader.refuse_odd_folder(folder)
        reader.raise_problems()
        return read

    @property
    def tells(self) -> bool:
        """Whether verdicts come back to the crawl."""
        return self.mode == "local" or self.patience > 0

    @property
    def longest_wait(self) -> float | None:
        """Seconds to wait for a verdict; None: wait until the process that judges has answered."""
        return None if self.mode == "local" else self.patience


_DROPPED: Final = {"duplicate": "drop", "refetch": "drop_refetches"}
"""Verdicts, and by which settings their items are dropped."""
_AS_TOLD: Final = (
    *("bootstrap_servers", "fields", "buffer_bytes", "max_page_bytes", "oversize", "flush_timeout", "compression"),
    *("on_full", "give_up_seconds", "required", "spool_bytes", "mode", "config", "local_python", "dropped"),
)
"""Fields that simply hold the value of the setting of their name."""


def is_enabled(settings: BaseSettings) -> bool:
    """Whether the plugin is switched on.

    Raises:
        UsageError: ``DEDUP_ENABLED`` is neither yes nor no.
    """
    reader = _Reader(settings)
    enabled: bool = reader.read(_ENABLED)
    reader.raise_problems()
    return enabled


class _Reader:
    """Reads one setting after the other and collects the problems."""

    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings
        self._problems: dict[str, list[str]] = {}

    def read(self, name: str, kind: SettingKind | None = None) -> Any:
        """The setting's value, or its default where the value is wrong; ``kind`` replaces the setting's own kind."""
        setting = SETTINGS[name]
        value = self._value(name)
        kind = kind or setting.kind
        try:
            return kind.read(value)
        except (ValueError, TypeError, LookupError) as error:
            wrong = error if isinstance(error, WrongValue) else WrongValue()
            said = wrong.problems or [f"={value!r}: write {setting.allowed}{kind.detail}{wrong.detail}"]
            self._problems[name] = [name + each for each in said]
            return setting.kind.read(setting.default)

    def raise_problems(self) -> None:
        if self._problems:
            raise UsageError(
                "the crawl does not start, since its pages would be lost; correct in the Scrapy settings: "
                + "; ".join(problem for problems in self._problems.values() for problem in problems)
            )

    def foreign_names(self) -> tuple[str, ...]:
        """Names of other programs, which may begin as ours do; a name that is close to one of ours is a problem."""
        foreign = []
        for name in self._settings:
            if isinstance(name, str) and name.startswith(PREFIX) and name not in SETTINGS:
                meant = _meant_by(name.removeprefix(PREFIX))
                if meant is None:
                    foreign.append(name)
                else:
                    self._problems[name] = [f"{name}: no such setting, did you mean {PREFIX}{meant}?"]
        return tuple(foreign)

    def refuse_without_effect(self, read: PluginSettings) -> None:
        """Collect settings that have no effect without another setting."""
        if read.mode != "local":
            self._refuse_set("DEDUP_MODE = 'local'", "DEDUP_STATE", "DEDUP_CONFIG", "DEDUP_LOCAL_PYTHON")
        names = "DEDUP_DROP", "DEDUP_DROP_REFETCHES", "DEDUP_DROPPED"
        if not read.tells:
            self._refuse_set("DEDUP_AWAIT, or DEDUP_MODE = 'local'", "DEDUP_AWAIT_RESPONSES", *names)
        if read.captured is None:
            self._refuse_set("DEDUP_CAPTURE = True", "DEDUP_AWAIT_RESPONSES")
        if not read.drop:
            self._refuse_set("DEDUP_DROP = True", *names[1:])

    def refuse_odd_folder(self, folder: str | None) -> None:
        """Collect an error if the name of ``JOBDIR`` is not UTF-8: the crawl and the files of its state are named after
        it."""
        if folder and os.fsencode(folder).decode(errors="ignore") != os.fspath(folder):
            self._problems["JOBDIR"] = [f"JOBDIR={folder!r}: its name is not UTF-8, give it another one"]

    def _refuse_set(self, needed: str, *names: str) -> None:
        for name in names:
            if str(self._value(name)).lower() not in ("none", "false", "0"):
                problem = f"{name}: it has no effect without {needed}, add that"
                self._problems.setdefault(name, []).append(problem)

    def _value(self, name: str) -> Any:
        value = self._settings.get(name)
        return SETTINGS[name].default if value is None else value


def _meant_by(name: str) -> str | None:
    """The setting of ours, without its prefix, that an unknown name was meant for: the name is misspelt, or words are
    missing.
    """
    for setting in SETTINGS:
        ours = setting.removeprefix(PREFIX)
        if 2 * len(name) >= len(ours) and (ours.startswith(f"{name}_") or ours.endswith(f"_{name}")):
            return ours
    known = [setting.removeprefix(PREFIX) for setting in SETTINGS]
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=MISSPELT)), None)
