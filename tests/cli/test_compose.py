"""Settings → recipe and scheme."""

from __future__ import annotations

import logging
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from worker.cli.compose import near, recipe, scheme, scope_of
from worker.config import Settings
from worker.errors import UsageError
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.fingerprint.near import HAMMING_RATIO, AccurateNear, SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.page.segment import NOISE_WORDS
from worker.stream.scopes import ALL_PAGES


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
    assert "51区" in Fingerprinter(made).explain("内部有51区", "https://example.org/").words


def test_noise_words_of_a_file_replace_the_built_in_ones_in_normalised_spelling(tmp_path: Path) -> None:
    made = recipe(with_settings(segment={"noise_words": written(tmp_path, "Fish\nＷＡＴＥＲ\n")}))
    assert made.noise_words == {"fish", "water"}
    assert recipe(Settings()).noise_words == NOISE_WORDS


def test_an_idf_table_is_read_when_the_weights_need_it(tmp_path: Path) -> None:
    path = written(tmp_path, "Fish\t2.5\nwater 0\n")
    made = recipe(with_settings(features={"weights": "tf-idf", "idf_table": path}))
    assert made.idf == {"fish": 2.5, "water": 0.0}
    assert recipe(with_settings(features={"idf_table": path})).idf is None


def test_tf_idf_without_a_table_is_refused() -> None:
    with pytest.raises(UsageError, match=r"set features\.idf_table"):
        recipe(with_settings(features={"weights": "tf-idf"}))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("fish\t2\nwater\n", "line 2"),
        ("fish\tmany\n", "line 1"),
        ("fish\tnan\n", "line 1"),
        ("fish\t-1\n", "line 1"),
        ("fish\t1e300\n", "between 0 and 1000"),
        (b"\xff\xfe", "not UTF-8 at byte 0; save it as UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_setting_and_line(
    tmp_path: Path, content: str | bytes, complaint: str
) -> None:
    path = written(tmp_path, content)
    with pytest.raises(UsageError, match=complaint) as raised:
        recipe(with_settings(features={"weights": "tf-idf", "idf_table": path}))
    assert f"features.idf_table: {path}" in str(raised.value)


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
        ({"near": {"scope": "site"}}, ["near.scope", "public suffixes"]),
        ({"near": {"scope": "header:spider"}}, ["near.scope"]),
        ({"near": {"ttl_days": 30}}, ["near.ttl_days"]),
        ({"features": {"minimum": 4}}, ["features.minimum"]),
        ({"features": {"weights": "log-tf"}}, ["features.weights"]),
        ({"fingerprint": {"hash": "blake2b"}}, ["fingerprint.hash"]),
        ({"topics": {"shards": 4}}, ["topics.shards"]),
        ({"page": {"max_bytes": 10_000}}, ["page.max_bytes"]),
        ({"segment": {"hmm": True}}, ["segmenter", "segment.hmm"]),
        ({"segment": {"engine": "jieba"}}, []),
        ({"index": {"layout": "8x8"}}, []),
        ({"topics": {"prefix": "other."}}, []),
        ({"kafka": {"bootstrap_servers": "elsewhere:9092"}}, []),
        ({"page": {"timeout_seconds": 3}}, []),
        ({"near": {"threshold": 0.75}}, ["near: agreement"]),
        ({"near": {"threshold": 0.599}}, []),  # as many slots
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
    assert {"near.predicate", "near: sketch", "near: agreement"} <= {row.name for row in ours.differences(theirs)}


def test_the_predicate_and_its_scope_are_as_the_settings_say() -> None:
    assert near(Settings()) == ScopedNear(AccurateNear(3))
    assert near(with_settings(near={"predicate": "simhash", "k": 1})) == ScopedNear(SimHashNear(1, HAMMING_RATIO))
    url, headers = "http://www.example.org/", [("spider", b"news")]
    scopes = {
        scope: scope_of(with_settings(near={"scope": scope}))(url, headers)
        for scope in ("global", "host", "site", "header:spider", "header:Spider")
    }
    assert scopes["global"] == scopes["header:Spider"] == ALL_PAGES
    assert len(set(scopes.values())) == 4
    assert scopes["site"] == scope_of(with_settings(near={"scope": "site"}))("https://example.org:1/", ())


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
