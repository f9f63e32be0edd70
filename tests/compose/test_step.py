"""The settings that the worker's step gets."""

from __future__ import annotations

from crawler_plugin.wire.topics import DAY_MS
from worker.compose.parts import recipe, scheme
from worker.compose.step import policy
from worker.config import Settings, load_settings
from worker.verdict.findings import FindingRules


def test_the_defaults_of_settings_and_findings_are_the_same() -> None:
    given = Settings()
    assert policy(given, scheme(given, recipe(given)), b"writer").findings == FindingRules()


def test_the_policy_holds_what_the_settings_say() -> None:
    given = load_settings(
        config=None,
        environ={},
        overrides=[
            "near.k=2",
            "near.ttl_days=0.5",
            "topics.shards=3",
            "output.mode=drop",
            "index.flush_entries=7",
            "commit.pages=11",
            "commit.megabytes=5",
        ],
    )
    words = scheme(given, recipe(given))
    made = policy(given, words, b"writer")
    assert (made.scheme, made.scheme_text, made.writer) == (words.id, words.encode(), b"writer")
    assert (made.shards, made.output, made.flush_entries) == (3, "drop", 7)
    assert made.ttl == DAY_MS // 2
    assert (made.commit_pages, made.held_bytes) == (11, 5 << 20)
    assert 0 < made.commit_bytes < made.held_bytes, "a transaction begins before the pages wait for it"


def test_without_a_time_to_live_nothing_expires() -> None:
    given = Settings()
    assert policy(given, scheme(given, recipe(given)), b"w").ttl is None
