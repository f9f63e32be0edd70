"""Settings → recipe and scheme."""

from __future__ import annotations

import logging
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from crawler_plugin.wire.errors import PageError, UsageError
from crawler_plugin.wire.page_headers import PageMeta
from worker.compose.parts import near, recipe, scheme, scope_of
from worker.config import Settings
from worker.evaluate.literature.explained import Explainer
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.fingerprint.key import Key
from worker.fingerprint.near import HAMMING_RATIO, AccurateNear, SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.page.extract import from_text
from worker.page.words.noise import NOISE_WORDS, NoiseWords
from worker.pool.process_pool import ProcessPool
from worker.stream.partition.scopes import ALL_PAGES


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "words.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def with_settings(**sections: dict[str, Any]) -> Settings:
    return Settings.model_validate(sections)


def test_the_defaults_of_settings_and_recipe_are_the_same() -> None:
    assert recipe(Settings()) == Recipe(sketched=True)
    assert recipe(with_settings(near={"predicate": "simhash"})) == Recipe()


def test_a_user_dictionary_is_read_in_the_format_of_jieba(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff51区\n\n9架 5\n飞碟 10 n\r\n外星人 nz\n")
    made = recipe(with_settings(segment={"user_dictionary": path}))
    assert made.user_words == (("51区", None, None), ("9架", 5, None), ("飞碟", 10, "n"), ("外星人", None, "nz"))
    assert "51区" in Explainer(made).explain(from_text("内部有51区"), "https://example.org/").words


def test_noise_words_of_a_file_replace_the_built_in_ones_in_normalised_spelling(tmp_path: Path) -> None:
    made = recipe(with_settings(segment={"noise_words": written(tmp_path, "Fish\nＷＡＴＥＲ\n")}))
    assert made.noise_words == NoiseWords(frozenset({"fish", "water"}))
    assert recipe(Settings()).noise_words == NOISE_WORDS


def answered(made: Recipe, body: bytes, meta: PageMeta) -> Fingerprinted:
    """A parsing process's answer on the page."""
    with ProcessPool[int, Fingerprinted](
        partial(Fingerprinter, made), Fingerprinted, processes=1, timeout_seconds=60, memory_bytes=1 << 29
    ) as pool:
        pool.submit(1, body, meta)
        done: list[tuple[int, Fingerprinted | PageError]] = []
        while not done:
            done = pool.results(1.0)
    outcome = done[0][1]
    assert isinstance(outcome, Fingerprinted)
    return outcome


SECRET = "correct horse battery staple"


@pytest.mark.parametrize("behind", ["", "\n", "\r\n", "\n\n"])
def test_line_ends_behind_a_secret_are_no_part_of_it(tmp_path: Path, behind: str) -> None:
    made = recipe(with_settings(fingerprint={"key_file": written(tmp_path, SECRET + behind)}))
    assert made.key == Key.of(SECRET.encode())
    assert recipe(with_settings(fingerprint={"key_file": written(tmp_path, f" {SECRET}")})).key != made.key


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", r"holds 0 bytes, a key has at least 16; make one with: head -c 32 /dev/urandom \| base64 > .*words\.txt"),
        (b"123456789012345\n", "holds 15 bytes, a key has at least 16; make one with"),
        (b"\0" * 4097, "more than 4096 bytes, which is no key; name another file"),
    ],
)
def test_what_is_no_key_is_refused_with_the_way_to_make_one(tmp_path: Path, content: bytes, complaint: str) -> None:
    settings = with_settings(fingerprint={"key_file": written(tmp_path, content)})
    with pytest.raises(UsageError, match=rf"fingerprint\.key_file: .*words\.txt (has|holds)? ?.*{complaint}"):
        recipe(settings)


def test_a_key_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, SECRET)
    settings = with_settings(fingerprint={"key_file": path})
    path.unlink()
    with pytest.raises(UsageError, match=r"fingerprint\.key_file: .*words\.txt cannot be read \(No such file"):
        recipe(settings)


def test_the_key_is_in_the_scheme_by_a_name_that_does_not_tell_it(tmp_path: Path) -> None:
    keyed = with_settings(fingerprint={"key_file": written(tmp_path, SECRET)})
    made = recipe(keyed)
    ours, theirs = scheme(keyed, made), scheme(Settings(), recipe(Settings()))
    (row,) = ours.differences(theirs)
    assert made.key is not None
    assert row == ("fingerprint.key_file", f"{made.key.name}, siphash-2-4/blake2b/1", None)
    assert SECRET.encode() not in ours.encode() and made.key.root.hex().encode() not in ours.encode()
    other = tmp_path / "other"
    other.write_text(f"{SECRET}!")
    another = with_settings(fingerprint={"key_file": other})
    assert [row.name for row in ours.differences(scheme(another, recipe(another)))] == ["fingerprint.key_file"]
    renamed = written(tmp_path, SECRET).rename(tmp_path / "renamed")
    same = with_settings(fingerprint={"key_file": renamed})
    assert scheme(same, recipe(same)).id == ours.id


def test_scopes_depend_on_the_key(tmp_path: Path) -> None:
    keyed = with_settings(near={"scope": "host"}, fingerprint={"key_file": written(tmp_path, SECRET)})
    of_public = scope_of(with_settings(near={"scope": "host"}), Recipe())
    assert scope_of(keyed, recipe(keyed))("http://a.example/", ()) != of_public("http://a.example/", ())


def test_a_parsing_process_gets_the_key_and_shows_it_to_nobody(tmp_path: Path) -> None:
    made = recipe(with_settings(fingerprint={"key_file": written(tmp_path, SECRET)}))
    assert made.key is not None
    meta = PageMeta(url="http://a.example/", form="text")
    with ProcessPool[int, Fingerprinted](
        partial(Fingerprinter, made), Fingerprinted, processes=1, timeout_seconds=60, memory_bytes=1 << 29
    ) as pool:
        pool.submit(1, b"fish water salt", meta)
        done: list[tuple[int, Fingerprinted | PageError]] = []
        while not done:
            done = pool.results(1.0)
        assert done == [(1, Fingerprinter(made)(b"fish water salt", meta))]
        shown = b"".join(
            Path(f"/proc/{pid}/{what}").read_bytes() for pid in pool.pids for what in ("cmdline", "environ")
        )
    for secret in (SECRET.encode(), made.key.root, made.key.features):
        assert secret not in shown and secret.hex().encode() not in shown


def test_a_file_that_went_away_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "飞碟")
    settings = with_settings(segment={"user_dictionary": path})
    path.unlink()
    with pytest.raises(UsageError, match=r"segment\.user_dictionary: .*words\.txt cannot be read \(No such file"):
        recipe(settings)


@pytest.mark.parametrize(
    ("sections", "names"),
    [
        ({"near": {"k": 2}}, ["near.k"]),
        ({"near": {"scope": "host"}}, ["near.scope"]),
        ({"near": {"scope": "site"}}, ["near.scope"]),
        ({"near": {"scope": "header:spider"}}, ["near.scope"]),
        ({"near": {"ttl_days": 30}}, ["near.ttl_days"]),
        ({"features": {"minimum": 4}}, ["features.minimum"]),
        ({"topics": {"shards": 4}}, ["topics.shards"]),
        ({"page": {"max_bytes": 10_000}}, ["page.max_bytes"]),
        ({"index": {"layout": "8x8"}}, []),
        ({"topics": {"prefix": "other."}}, []),
        ({"kafka": {"bootstrap_servers": "elsewhere:9092"}}, []),
        ({"page": {"timeout_seconds": 3}}, []),
        ({"near": {"threshold": 0.75}}, ["near: threshold"]),
        ({"near": {"threshold": 0.5399}}, []),  # the same number of slots
    ],
)
def test_settings_that_verdicts_depend_on_are_in_the_scheme_and_no_others(
    sections: dict[str, dict[str, Any]], names: list[str]
) -> None:
    default, other = Settings(), with_settings(**sections)
    ours, theirs = scheme(default, recipe(default)), scheme(other, recipe(other))
    assert [row.name for row in ours.differences(theirs)] == names
    assert (ours.id == theirs.id) == (not names)


def test_all_that_the_predicate_reads_is_in_the_scheme() -> None:
    for predicate, rule in (("accurate", AccurateNear()), ("simhash", SimHashNear())):
        settings = with_settings(near={"predicate": predicate})
        words = dict(scheme(settings, recipe(settings)).entries)
        assert words["near.predicate"] == predicate
        assert all(f"near: {field.name.replace('_', ' ')}" in words for field in fields(rule) if field.name != "k")
    default = Settings()
    ours, theirs = scheme(default, recipe(default)), scheme(settings, recipe(settings))
    assert {"near.predicate", "near: sketch", "near: threshold"} <= {row.name for row in ours.differences(theirs)}


def test_the_predicate_and_its_scope_are_as_the_settings_say() -> None:
    assert near(Settings()) == ScopedNear(AccurateNear(3))
    assert near(with_settings(near={"predicate": "simhash", "k": 1})) == ScopedNear(SimHashNear(1, HAMMING_RATIO))
    url, headers = "http://www.example.org/", [("spider", b"news")]
    scopes = {
        scope: scope_of(with_settings(near={"scope": scope}), Recipe())(url, headers)
        for scope in ("global", "host", "site", "header:spider", "header:Spider")
    }
    assert scopes["global"] == scopes["header:Spider"] == ALL_PAGES
    assert len(set(scopes.values())) == 4
    assert scopes["site"] == scope_of(with_settings(near={"scope": "site"}), Recipe())("https://example.org:1/", ())
    for scope in scopes:
        own = scope_of(with_settings(near={"scope": scope}), Recipe())(url, [*headers, ("dedup-scope", b"shop-7")])
        assert own not in scopes.values(), "a page's own scope lies within any"


def test_the_content_of_files_counts_in_the_scheme_and_their_name_does_not(tmp_path: Path) -> None:
    def made(name: str, content: str) -> bytes:
        path = tmp_path / name
        path.write_text(content)
        settings = with_settings(segment={"user_dictionary": path})
        return scheme(settings, recipe(settings)).id

    assert made("a", "51区\n") == made("b", "51区\n") != made("c", "51区\n9架\n")


def test_words_that_can_never_be_tokens_are_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = with_settings(segment={"user_dictionary": written(tmp_path, "c++\n51区\n")})
    with caplog.at_level(logging.WARNING):
        scheme(settings, recipe(settings))
    assert "c++" in caplog.text and "segment.user_dictionary" in caplog.text
