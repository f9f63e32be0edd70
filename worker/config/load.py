"""Puts the layers together: defaults < file < environment < flags. All that is wrong is told in one error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from crawler_plugin.wire.errors import UsageError
from worker.config.catalogue import catalogue
from worker.config.conflicts import conflicts
from worker.config.model import Settings
from worker.config.problems import Given, Layer, Problem, refuse, wrong_value
from worker.config.sources import FLAG, read_environment, read_file, read_flags

DEFAULT_FILE: Final = Path("config.yaml")
DEFAULT: Final = "default"
MOST_BYTES: Final = 4 * 1024**2
"""Size of the largest file of settings: YAML takes a second for each megabyte of comments."""
_LOG_FORMAT: Final = "log.format"


@dataclass(frozen=True)
class Loaded:
    """Settings, the file that was read (None: none), and where each value that is no default came from, by key."""

    settings: Settings
    file: Path | None
    origins: Mapping[str, str]

    def open_secrets(self) -> list[str]:
        """A sentence for each secret that stands on the command line, where every user of the machine can read it."""
        entries = [entry for entry in catalogue().values() if entry.secret and entry.key in self.origins]
        return [
            f"{entry.key} was given by {FLAG}: while this runs, every user of this machine can read it (ps, /proc); "
            f"give it by {entry.environment} or {entry.key}_file, and choose a new one"
            for entry in entries
            if self.origins[entry.key].startswith(FLAG) and self._value(entry.key) is not None
        ]

    def _value(self, key: str) -> Any:
        section, _, name = key.partition(".")
        return getattr(getattr(self.settings, section), name)


def load_settings(*, config: Path | None, overrides: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """The settings in force.

    ``config`` is ``--config``, ``overrides`` are the values of ``--set``, each ``KEY=VALUE``.

    Raises:
        UsageError: everything that is wrong with them, each with its key and where it was given.
    """
    return load(config=config, overrides=overrides, environ=environ).settings


def load(*, config: Path | None, overrides: Sequence[str], environ: Mapping[str, str]) -> Loaded:
    """As ``load_settings``, with the origin of each value."""
    problems: list[Problem] = []
    try:
        file = find_config_file(config, environ)
        from_file = read_file(file) if file else Layer({})
    except UsageError as error:
        file, from_file = None, Layer({}, (Problem("", "", str(error)),))
    layers = [from_file, read_environment(environ), read_flags(overrides)]
    given: dict[str, Given] = {}
    for layer in layers:
        problems += layer.problems
        given |= layer.given
    secrets = _read_secret_files(given)
    problems += secrets.problems
    given |= secrets.given

    settings, wrong = _validate(given)
    problems += wrong
    doubtful = {problem.key for problem in problems}
    for conflict in conflicts(settings):
        if doubtful.isdisjoint(conflict.keys):
            origin = next((given[key].origin for key in conflict.keys if key in given), DEFAULT)
            problems.append(Problem(conflict.keys[0], origin, conflict.text))
    if problems:
        raise refuse(problems)
    return Loaded(settings, file, {key: value.origin for key, value in given.items()})


def asks_for_json(*, config: Path | None, overrides: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Whether ``log.format`` is json by what can be read of settings that are wrong; arguments as of ``load``."""
    flags, named = read_flags(overrides).given, read_environment(environ).given
    given = flags.get(_LOG_FORMAT) or named.get(_LOG_FORMAT)
    if given is not None:
        return given.value == "json"
    try:
        file = find_config_file(config, environ)
        text = file.read_text("utf-8-sig", errors="replace") if file else ""
    except (UsageError, OSError):
        return False
    section = ""
    for line in text.splitlines():  # the file may be no YAML
        words = line.partition("#")[0].replace("'", "").replace('"', "")
        if words[:1].strip():
            section = words.partition(":")[0].strip()
        if section == "log" and "format: json" in " ".join(words.split()):
            return True
    return False


def find_config_file(config: Path | None, environ: Mapping[str, str]) -> Path | None:
    """``--config``, else ``DEDUP_CONFIG``, else ``config.yaml`` in the working directory if there is one, else None.

    Raises:
        UsageError: what was named does not exist, is no file, or is too large for one of settings.
    """
    if config is not None:
        named, by = config, "--config"
    elif environ.get("DEDUP_CONFIG"):
        named, by = Path(environ["DEDUP_CONFIG"]), "DEDUP_CONFIG"
    elif DEFAULT_FILE.exists():
        named, by = DEFAULT_FILE, "in the current folder"
    else:
        return None
    try:
        is_folder, is_file, is_there = named.is_dir(), named.is_file(), named.exists()
    except OSError:  # a name that is too long for one
        is_folder = is_file = is_there = False
    if is_folder:
        raise UsageError(f"{named} ({by}): it is a folder; name the file in it")
    if is_there and not is_file:
        raise UsageError(f"{named} ({by}): it is a pipe or a device; save its content in a file and name that")
    if is_there and named.stat().st_size > MOST_BYTES:
        raise UsageError(f"{named} ({by}): it has more than {MOST_BYTES // 1024**2} MiB; name a file of settings")
    if not is_file:
        raise UsageError(f"{named} ({by}): there is no such config file; create it or name another one")
    return named


def _read_secret_files(given: Mapping[str, Given]) -> Layer:
    """The secrets whose ``*_file`` setting names a file that can be read; the origin of the secret is that setting."""
    values: dict[str, Given] = {}
    problems = []
    for key in (entry.key for entry in catalogue().values() if entry.secret):
        by_file = given.get(f"{key}_file")
        if by_file is None or by_file.value is None:
            continue
        direct = given.get(key)
        if direct is not None and direct.value is not None:
            text = f"also given by {key} ({direct.origin}); keep one of the two"
            problems.append(Problem(f"{key}_file", by_file.origin, text))
            continue
        try:
            secret = Path(str(by_file.value)).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, ValueError) as error:  # not UTF-8; a path with a NUL in it
            if _is_file(Path(str(by_file.value))):
                why = error.strerror if isinstance(error, OSError) else "not UTF-8"
                problems.append(Problem(f"{key}_file", by_file.origin, f"the file cannot be read ({why}); correct it"))
            continue  # that there is no such file is found with the other values
        if secret:
            values[key] = Given(secret, f"{key}_file")
        else:
            problems.append(Problem(f"{key}_file", by_file.origin, "the file is empty; write the secret into it"))
    return Layer(values, tuple(problems))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long for one
        return False


def _validate(given: Mapping[str, Given]) -> tuple[Settings, list[Problem]]:
    """Settings from the values that are right, and a problem for each value that is wrong."""
    try:
        return Settings(**_nested(given)), []
    except ValidationError as error:
        problems = {}
        for detail in error.errors(include_url=False, include_context=False):
            key = ".".join(str(part) for part in detail["loc"][:2])
            reason = _reason(detail["type"], detail["msg"])
            problems[key] = wrong_value(catalogue()[key], given[key], reason)
        right = {key: value for key, value in given.items() if key not in problems}
        return Settings(**_nested(right)), list(problems.values())


def _reason(kind: str, message: str) -> str:
    """What ``allowed`` does not say by itself."""
    if kind == "string_type":
        return "not text; put it in quotes"
    return message.removeprefix("Value error, ") if kind == "value_error" else ""


def _nested(given: Mapping[str, Given]) -> dict[str, Any]:
    nested: dict[str, dict[str, object]] = {}
    for key, value in given.items():
        section, _, name = key.partition(".")
        nested.setdefault(section, {})[name] = value.value
    return nested
