"""The layers above the defaults: the YAML file with its lines, the environment, ``--set``; values by dotted key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from crawler_plugin.wire.errors import UsageError
from worker.config.catalogue import (
    ENVIRONMENT_PREFIX,
    GONE,
    OTHER_NAMES,
    PLUGIN_NAMES,
    catalogue,
    closest_key,
    did_you_mean,
    environment_of,
    sections,
)
from worker.config.problems import Given, Layer, Problem

FLAG = "--set"
_NO_SUCH = "there is no such setting"


def read_environment(environ: Mapping[str, str]) -> Layer:
    """The settings among the environment's names. Any other name that begins with ``DEDUP_`` is a problem.

    Names of the Scrapy plugin's settings are passed over: workers and spiders may have one environment.
    Names count as written in upper case; another spelling would be ignored by some readers, so it is refused here.
    """
    keys = {entry.environment: entry.key for entry in catalogue().values()}
    others = (*OTHER_NAMES, *PLUGIN_NAMES)
    known = [*keys, *others]
    names = [name for name in environ if name.upper().startswith(ENVIRONMENT_PREFIX) and name not in others]
    gone = {environment_of(key): told for key, told in GONE.items()}
    problems = [
        Problem("", name, _sentence("the environment has no such setting", gone.get(name) or did_you_mean(name, known)))
        for name in sorted(names)
        if name not in keys
    ]
    given = {keys[name]: _from_text(keys[name], environ[name], name) for name in names if name in keys}
    return Layer(given, tuple(problems))


def read_flags(overrides: Sequence[str]) -> Layer:
    """The values of ``--set KEY=VALUE``; of a key given twice the last counts, as with any flag."""
    given: dict[str, Given] = {}
    problems = []
    for override in overrides:
        key, separator, text = override.partition("=")
        key = key.strip()
        if not separator:
            # Only what can be a key is shown: the rest may be a password that was meant to follow "=".
            word = re.match(r"[\w.-]*", key)
            problems.append(Problem(f"{FLAG} {word.group() if word else ''}", "", 'has no "="; write --set KEY=VALUE'))
        elif key in catalogue():
            given[key] = _from_text(key, text, f"{FLAG} {key}")
        else:
            problems.append(Problem(key, FLAG, _no_such(key)))
    return Layer(given, tuple(problems))


def read_file(path: Path) -> Layer:
    """The values of a YAML file with their lines.

    Raises:
        UsageError: the file cannot be read, is not UTF-8, or is not YAML; nothing more can be said of such a file.
    """
    text = _read_text(path)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{path}:{mark.line + 1}, column {mark.column + 1}" if mark else str(path)
        raise UsageError(f"{place}: not YAML: {error.problem or error.context}; correct that line") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        found = f"a character that YAML does not allow (code {error.character})"
        raise UsageError(f"{path}:{line}: {found}; remove it") from error
    except RecursionError as error:
        raise UsageError(f"{path}: nested too deeply; settings are sections of key: value") from error
    if root is None or _is_null(root):
        return Layer({})
    if not isinstance(root, yaml.MappingNode):
        found = "a list" if isinstance(root, yaml.SequenceNode) else "a single value"
        raise UsageError(f"{_line(path, root)}: found {found}; write sections such as near: with their keys below")
    return _Walk(path).of(root)


class _Walk:
    """Goes over the nodes of one file and collects values and problems."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._given: dict[str, Given] = {}
        self._problems: list[Problem] = []

    def of(self, root: yaml.MappingNode) -> Layer:
        for section, name_node, node in self._once(root, ""):
            if section not in sections():
                self._problem(section, name_node, _no_such(section, list(sections())))
            elif isinstance(node, yaml.MappingNode):
                self._section(section, node)
            elif not _is_null(node):
                keys = ", ".join(sections()[section].model_fields)
                self._problem(section, name_node, f"found {_kind(node)}; allowed: a section with the keys {keys}")
        return Layer(self._given, tuple(self._problems))

    def _section(self, section: str, node: yaml.MappingNode) -> None:
        for name, name_node, value in self._once(node, section):
            key = f"{section}.{name}"
            entry = catalogue().get(key)
            if entry is None:
                self._problem(key, name_node, _no_such(key))
            elif not isinstance(value, yaml.ScalarNode):
                self._problem(key, name_node, f"found {_kind(value)}; allowed: {entry.allowed}")
            else:
                self._scalar(key, value)

    def _scalar(self, key: str, node: yaml.ScalarNode) -> None:
        try:
            value = yaml.SafeLoader("").construct_object(node)
        except (yaml.MarkedYAMLError, ValueError):
            self._problem(key, node, f"found a value that cannot be read; allowed: {catalogue()[key].allowed}")
            return
        self._given[key] = Given(value, _line(self._path, node))

    def _once(self, node: yaml.MappingNode, section: str) -> list[tuple[str, yaml.Node, yaml.Node]]:
        """The pairs of a mapping, each key once; a key written again is a problem that names both lines."""
        first: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for name_node, value in node.value:
            name = name_node.value if isinstance(name_node, yaml.ScalarNode) else _kind(name_node)
            if name in first:
                key = f"{section}.{name}" if section else name
                line = first[name][0].start_mark.line + 1
                self._problem(key, name_node, f"written before in line {line}; keep one of the two")
            else:
                first[name] = (name_node, value)
        return [(name, *nodes) for name, nodes in first.items()]

    def _problem(self, key: str, node: yaml.Node, text: str) -> None:
        self._problems.append(Problem(key, _line(self._path, node), text))


def _read_text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = f"not UTF-8 (byte {content[error.start]:#04x})"
        raise UsageError(f"{path}:{line}: {found}; save the file as UTF-8") from error


def _from_text(key: str, text: str, origin: str) -> Given:
    """Text of the environment or a flag, which the setting's type converts. Empty or ``null`` is none where allowed."""
    is_none = catalogue()[key].optional and text in ("", "null")
    return Given(None if is_none else text, origin)


def _no_such(key: str, known: Sequence[str] = ()) -> str:
    return _sentence(_NO_SUCH, did_you_mean(key, known) if known else closest_key(key))


def _sentence(statement: str, question: str) -> str:
    return f"{statement}; {question or 'remove it, or see them all with --print-config'}"


def _line(path: Path, node: yaml.Node) -> str:
    return f"{path}:{node.start_mark.line + 1}"


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return "a section" if isinstance(node, yaml.MappingNode) else "a single value"
