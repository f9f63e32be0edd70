"""Settings → the values that the pure parts are handed: reads the files that settings name."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.urls import CANONICALIZATION
from worker.config import Settings
from worker.fingerprint.fingerprinter import Recipe
from worker.fingerprint.hashing import CONTENT
from worker.fingerprint.key import KEYED, LEAST_BYTES, Key
from worker.fingerprint.near import HAMMING_RATIO, AccurateNear, Ratio, SimHashNear
from worker.fingerprint.scheme import Scheme, Value, content_hash
from worker.fingerprint.scoped import LEAST_ACROSS, RULE, ScopedNear
from worker.fingerprint.sketch import SKETCH, slots_for
from worker.index.layout import Layout
from worker.index.shard import Shard
from worker.page.extract import extractor_rule
from worker.page.words.noise import NOISE_WORDS, NoiseWords
from worker.page.words.normalise import NORMALISER, normalise
from worker.page.words.segment import UserWord
from worker.page.words.weigh import FEATURES, IdfTable
from worker.sites import version as suffixes_version
from worker.stream.partition.scopes import ScopeOf, everywhere, of_header, of_host, of_site

MAX_IDF: Final = 1000.0
"""Far above the logarithm of any collection's size; what is larger is a mistake, and would overflow the weights."""

_MOST_KEY_BYTES: Final = 4096

_USER_WORD: Final = re.compile(r"(?P<word>.+?)(?:\s+(?P<frequency>\d{1,9}))?(?:\s+(?P<tag>[a-zA-Z]+))?")
_LEVEL: Final = re.compile(r"(?P<word>[^\t]+)\t *(?P<level>[1-5])")
_log = logging.getLogger(__name__)
Read = TypeVar("Read")


def recipe(settings: Settings) -> Recipe:
    """How fingerprints are made by these settings, files read.

    Raises:
        UsageError: a file that cannot be read, naming setting, file and line; ``tf-idf`` without a table.
    """
    segment, features = settings.segment, settings.features
    fold = segment.fold_traditional
    if features.weights == "tf-idf" and features.idf_table is None:
        raise UsageError(
            "features.weights is tf-idf, which needs a table: set features.idf_table to a file of words with their "
            "idf, or features.weights to tf"
        )
    return Recipe(
        engine=segment.engine,
        hmm=segment.hmm,
        user_words=_user_words("segment.user_dictionary", segment.user_dictionary),
        fold_traditional=fold,
        noise_words=_noise_words("segment.noise_words", segment.noise_words, fold),
        units=features.units,
        weights=features.weights,
        idf=_idf("features.idf_table", features.idf_table, segment.fold_traditional)
        if features.weights in ("tf-idf", "five-levels")
        else None,
        levels=_levels("features.levels_file", features.levels_file, fold)
        if features.weights == "five-levels"
        else None,
        minimum=features.minimum,
        hash=settings.fingerprint.hash,
        sketched=settings.near.predicate == "accurate",
        extractor=settings.page.extractor,
        max_bytes=settings.page.max_bytes,
        key=_key("fingerprint.key_file", settings.fingerprint.key_file),
    )


def scheme(settings: Settings, made: Recipe) -> Scheme:
    """All that a verdict depends on, under the names of the settings where there are such.

    ``made`` is ``recipe(settings)``. Compiled or by jieba, words are cut by one rule, so ``segment.engine`` is no part
    of it.

    Raises:
        UsageError: the extractor is not installed here.
    """
    segmenter = made.segmenter()
    if segmenter.unused_words:
        shown = ", ".join(segmenter.unused_words[:5])
        _log.warning(
            "%d words of segment.user_dictionary can never be tokens, such as %s: they hold no Chinese character, or "
            "a blank or punctuation; take them out",
            len(segmenter.unused_words),
            shown,
        )
    return Scheme.of(
        {
            "urls": CANONICALIZATION,
            "page.extractor": f"{made.extractor}: {extractor_rule(made.extractor)}",
            "page.max_bytes": made.max_bytes,
            "normaliser": NORMALISER,
            "segmenter": segmenter.name,
            "segment.hmm": made.hmm,
            "segment.user_dictionary": content_hash(map(str, made.user_words)) if made.user_words else None,
            "segment.fold_traditional": made.fold_traditional,
            "segment.noise_words": content_hash(made.noise_words.lines()),
            "features": FEATURES,
            "features.units": made.units,
            "features.weights": made.weights,
            "features.idf_table": _values_hash(made.idf),
            "features.levels_file": _values_hash(made.levels),
            "features.minimum": made.minimum,
            "fingerprint.hash": made.hash,
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


def near(settings: Settings) -> ScopedNear:
    """The predicate in force."""
    k = settings.near.k
    if settings.near.predicate == "simhash":
        return ScopedNear(SimHashNear(k, HAMMING_RATIO))
    return ScopedNear(AccurateNear(k, slots_for(settings.near.threshold)))


def new_index(settings: Settings) -> Callable[[], Shard]:
    """Makes an empty shard that finds what the predicate in force calls near."""
    return partial(Shard.by, near(settings), layout=Layout(settings.index.layout), by_url=settings.near.track_changes)


def scope_of(settings: Settings, made: Recipe) -> ScopeOf:
    """What pages are compared within; ``made`` is ``recipe(settings)``."""
    kind, _, name = settings.near.scope.partition(":")
    key = made.key.scopes if made.key else None
    match kind:
        case "host":
            return of_host(key)
        case "site":
            return of_site(key)
        case "header":
            return of_header(name, key)
    return everywhere


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


def _values_hash(of_words: Mapping[str, float] | None) -> str | None:
    return None if of_words is None else content_hash(f"{word}\t{value!r}" for word, value in of_words.items())


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

    return () if path is None else tuple(_lines(setting, path, read))


def _noise_words(setting: str, path: Path | None, fold_traditional: bool) -> NoiseWords:
    if path is None:
        return NOISE_WORDS
    return NoiseWords(frozenset(_lines(setting, path, partial(normalise, fold_traditional=fold_traditional))))


def _idf(setting: str, path: Path | None, fold_traditional: bool) -> IdfTable | None:
    def read(line: str) -> tuple[str, float]:
        word, number = line.rsplit(None, 1)
        idf = float(number)
        if not 0 <= idf <= MAX_IDF or math.isnan(idf):
            raise ValueError(f"an idf of {number} is not between 0 and {MAX_IDF:g}")
        return normalise(word, fold_traditional=fold_traditional), idf

    return None if path is None else IdfTable(dict(_lines(setting, path, read)))


def _levels(setting: str, path: Path | None, fold_traditional: bool) -> dict[str, int] | None:
    seen: set[str] = set()

    def read(line: str) -> tuple[str, int]:
        match = _LEVEL.fullmatch(line)
        if match is None:
            raise ValueError("not a word, a tab and its level from 1 to 5")
        word = normalise(match["word"], fold_traditional=fold_traditional)
        if word in seen:
            raise ValueError(f"{word} has a level on a line before this")
        seen.add(word)
        return word, int(match["level"])

    return None if path is None else dict(_lines(setting, path, read))


def _lines(setting: str, path: Path, read: Callable[[str], Read]) -> Iterator[Read]:
    """Each line of a UTF-8 file that is not blank, and does not begin with # as no word does, read.

    Raises:
        UsageError: the file cannot be read, or ``read`` raises ``ValueError``.
    """
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{setting}: {path} is not UTF-8 at byte {error.start}; save it as UTF-8") from error
    except OSError as error:
        raise UsageError(f"{setting}: {path} cannot be read ({error.strerror}); name another file") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            yield read(line.strip())
        except ValueError as error:
            raise UsageError(f"{setting}: {path}, line {number}: {error}; correct the line") from error
