"""Kinds of settings; single settings are tested together with all the others."""

from __future__ import annotations

import pytest

from crawler_plugin.config.kinds import SHARE, YES_OR_NO, SettingKind, choice, name, seconds, whole_number


@pytest.mark.parametrize(
    ("kind", "allowed"),
    [
        (whole_number(20, 10**6), "a whole number from 20 to 1000000"),
        (seconds(3600), "seconds, a number from 0 to 3600"),
        (choice("block", "spool", "fail"), "block, spool or fail"),
        (choice("kafka", "local"), "kafka or local"),
        (YES_OR_NO.but("True needs the add-on"), "True or False; True needs the add-on"),
    ],
)
def test_what_may_be_written_is_worded_from_what_is_read(kind: SettingKind, allowed: str) -> None:
    assert kind.allowed == allowed


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        (whole_number(20, 22), [20, "21", 22], [19, 23, "20.0", 20.5, True, None]),
        (seconds(2), [0, "0.5", 2.0], [-0.1, 2.1, "nan", True, None]),
        (SHARE, [1e-300, "0.5", 1], [0, 1.01, "nan", None]),
        (name(3), ["", "a.B", "1_-"], ["abcd", "a b", "\u00e9", None, b"a"]),
        (choice("a", "b"), ["a", "b"], ["c", "", None, ["a"]]),
        (YES_OR_NO, [True, "false", 0, "1"], ["yes", 2, None, []]),
    ],
)
def test_a_kind_reads_what_is_within_its_bounds(kind: SettingKind, right: list[object], wrong: list[object]) -> None:
    for value in right:
        kind.read(value)
    for value in wrong:
        with pytest.raises((ValueError, TypeError, LookupError)):
            kind.read(value)
