"""Settings → the arguments of the pure parts: reads the files that settings name."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Final

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.urls import CANONICALIZATION
from worker.config import Settings
from worker.config.word_files import read_lines
from worker.fingerprint.fingerprinter import Recipe
from worker.fingerprint.hashing import CONTENT
from worker.fingerprint.key import KEYED, LEAST_BYTES, Key
from worker.fingerprint.near import HAMMING_RATIO, AccurateNear, Ratio, SimHashNear
from worker.fingerprint.scheme import Scheme, Value, content_hash
from worker.fingerprint.scoped import LEAST_ACROSS, RULE, ScopedNear
from worker.fingerprint.sketch import SKETCH, slots_for
from worker.fingerprint.text_reader import FEATURES
from worker.index.layout import Layout
from worker.index.shard import Shard
from worker.page.extract import RULE as EXTRACTION
from worker.page.words.dictionary import UserWord, unused_words, words_rule
from worker.page.words.noise import NOISE_WORDS, NoiseWords
from worker.page.words.normalise import NORMALISER, normalise
from worker.sites import version as suffixes_version
from worker.stream.partition.scopes import ScopeOf, everywhere, of_header, of_host, of_site, within

_MOST_KEY_BYTES: Final = 4096

_USER_WORD: Final = re.compile(r"(?P<word>.+?)(?:\s+(?P<frequency>\d{1,9}))?(?:\s+(?P<tag>[a-zA-Z]+))?")
_log = logging.getLogger(__name__)


def recipe(settings: Settings) -> Recipe:
    """How these settings make fingerprints, with the files that they name read.

    Raises:
        UsageError: a file that cannot be read, naming setting, file and line.
    """
    segment = settings.segment
    fold = segment.fold_traditional
    return Recipe(
        user_words=_user_words("segment.user_dictionary", segment.user_dictionary),
        fold_traditional=fold,
        noise_words=_noise_words("segment.noise_words", segment.noise_words, fold),
        minimum=settings.features.minimum,
        sketched=settings.near.predicate == "accurate",
        max_bytes=settings.page.max_bytes,
        key=_key("fingerprint.key_file", settings.fingerprint.key_file),
    )


def scheme(settings: Settings, made: Recipe) -> Scheme:
    """All that a verdict depends on, under the names of the settings if there are such; ``made`` is
    ``recipe(settings)``.

    A setting that existed in some release stays named, with the choice that is left: without the name all existing
    indexes would be refused.
    """
    unused = unused_words(made.user_words, fold_traditional=made.fold_traditional)
    if unused:
        shown = ", ".join(unused[:5])
        _log.warning(
            "%d words of segment.user_dictionary can never be tokens, such as %s: they hold no Chinese character, or "
            "a blank or punctuation; take them out",
            len(unused),
            shown,
        )
    return Scheme.of(
        {
            "urls": CANONICALIZATION,
            "page.extractor": f"built-in: {EXTRACTION}",
            "page.max_bytes": made.max_bytes,
            "normaliser": NORMALISER,
            "segmenter": words_rule(made.user_words, made.noise_words, fold_traditional=made.fold_traditional),
            "segment.hmm": False,
            "segment.user_dictionary": content_hash(map(str, made.user_words)) if made.user_words else None,
            "segment.fold_traditional": made.fold_traditional,
            "segment.noise_words": content_hash(made.noise_words.lines()),
            "features": FEATURES,
            "features.units": "words",
            "features.weights": "tf",
            "features.idf_table": None,
            "features.levels_file": None,
            "features.minimum": made.minimum,
            "fingerprint.hash": "xxh3",
            "fingerprint.key_file": None if made.key is None else f"{made.key.name}, {KEYED}",
            "equal pages": CONTENT,
            **_near_in_words(near(settings)),
            "near.scope": settings.near.scope,
            "near: titles": f"{RULE}, {LEAST_ACROSS} tokens across sites",
            "public suffixes": suffixes_version(),
            "near.ttl_days": settings.near.ttl_days,
            "near.track_changes": settings.near.track_changes,
            "topics.shards": settings.topics.shards,
        }
    )


RECORDS: Final = 1
"""The version of their columns."""
_OF_JUDGING: Final = ("near.", "near: ", "topics.")
"""The beginnings of names that records do not depend on."""


def reading(settings: Settings, made: Recipe) -> Scheme:
    """All that records of pages depend on (``worker.scan.records``): the part of the scheme that judging cannot
    change."""
    entries = dict(scheme(settings, made).entries)
    kept = {name: value for name, value in entries.items() if not name.startswith(_OF_JUDGING)}
    kept |= {name: entries[name] for name in ("near.scope", "near: titles")}
    return Scheme.of({"records": RECORDS, **kept, "near: sketch": SKETCH})


def near(settings: Settings) -> ScopedNear:
    """The predicate in force."""
    k = settings.near.k
    if settings.near.predicate == "simhash":
        return ScopedNear(SimHashNear(k, HAMMING_RATIO))
    return ScopedNear(AccurateNear(k, slots_for(settings.near.threshold)))


def new_index(settings: Settings) -> Callable[[], Shard]:
    """Makes an empty shard that uses the predicate in force."""
    return partial(Shard.by, near(settings), layout=Layout(settings.index.layout), by_url=settings.near.track_changes)


def scope_of(settings: Settings, made: Recipe) -> ScopeOf:
    """The scope that pages are compared within; ``made`` is ``recipe(settings)``."""
    kind, _, name = settings.near.scope.partition(":")
    key = made.key.scopes if made.key else None
    match kind:
        case "host":
            whole = of_host(key)
        case "site":
            whole = of_site(key)
        case "header":
            whole = of_header(name, key)
        case _:
            whole = everywhere
    return within(whole, key)


def _near_in_words(in_force: ScopedNear) -> dict[str, Value]:
    rule = in_force.near
    accurate = isinstance(rule, AccurateNear)
    words: dict[str, Value] = {
        "near.predicate": "accurate" if accurate else "simhash",
        "near.k": rule.k,
        "near: sketch": SKETCH if accurate else None,
    }
    for name in (field.name for field in fields(rule) if field.name != "k"):
        value = getattr(rule, name)
        words[f"near: {name.replace('_', ' ')}"] = "/".join(map(str, value)) if isinstance(value, Ratio) else value
    return words


def _key(setting: str, path: Path | None) -> Key | None:
    """The secret in a file. No part of it stands in any error."""
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            secret = file.read(_MOST_KEY_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{setting}: {path} cannot be read ({error.strerror}); give this user the right to") from error
    if len(secret) > _MOST_KEY_BYTES:
        raise UsageError(f"{setting}: {path} has more than {_MOST_KEY_BYTES} bytes, which is no key; name another file")
    secret = secret.rstrip(b"\r\n")
    if len(secret) < LEAST_BYTES:
        raise UsageError(
            f"{setting}: {path} holds {len(secret)} bytes, a key has at least {LEAST_BYTES}; make one with: "
            f"head -c 32 /dev/urandom | base64 > {path}"
        )
    return Key.of(secret)


def _user_words(setting: str, path: Path | None) -> tuple[UserWord, ...]:
    """jieba's format: a word a line, after it its frequency or its tag or both."""

    def read(line: str) -> UserWord:
        match = _USER_WORD.fullmatch(line)
        if match is None:
            raise ValueError("not a word with frequency and tag, as: 51区 100 n")
        frequency = match["frequency"]
        return match["word"], int(frequency) if frequency else None, match["tag"]

    return () if path is None else tuple(read_lines(setting, path, read))


def _noise_words(setting: str, path: Path | None, fold_traditional: bool) -> NoiseWords:
    if path is None:
        return NOISE_WORDS
    return NoiseWords(frozenset(read_lines(setting, path, partial(normalise, fold_traditional=fold_traditional))))
