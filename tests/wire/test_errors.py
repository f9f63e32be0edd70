"""Errors say who must act: by their exit code, and a page's by its reason."""

from __future__ import annotations

import re

import pytest

from crawler_plugin.wire import errors
from crawler_plugin.wire.errors import (
    UNEXPECTED,
    CheckFailed,
    PageError,
    Refused,
    Stop,
    Unavailable,
    UnreadableRecord,
    UsageError,
)


@pytest.mark.parametrize(("kind", "code"), [(CheckFailed, 1), (UsageError, 2), (Unavailable, 3), (Refused, 4)])
def test_each_kind_of_stop_has_an_exit_code_of_its_own(kind: type[Stop], code: int) -> None:
    assert kind("do this").exit_code == code
    assert str(kind("do this")) == "do this"


def test_the_table_of_exit_codes_has_those_that_are_used_and_no_other() -> None:
    table = {int(code) for code in re.findall(r"^(\d+) ", errors.__doc__ or "", re.MULTILINE)}
    assert table == {0, UNEXPECTED, *(kind.exit_code for kind in Stop.__subclasses__())}


@pytest.mark.parametrize(("detail", "shown"), [("a picture", "not-text: a picture"), ("", "not-text")])
def test_a_page_error_is_shown_as_its_reason_and_what_a_person_wants_to_know_besides(detail: str, shown: str) -> None:
    error = PageError("not-text", detail)
    assert (error.reason, error.detail, str(error)) == ("not-text", detail, shown)


def test_who_catches_what_ends_the_process_does_not_catch_what_costs_a_page_or_a_record() -> None:
    assert not issubclass(PageError, Stop)
    assert not issubclass(UnreadableRecord, Stop)
