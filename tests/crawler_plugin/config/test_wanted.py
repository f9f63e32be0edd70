"""Which responses are pages."""

from __future__ import annotations

import pytest

from crawler_plugin.config.catalogue import SETTINGS
from crawler_plugin.config.wanted import Wanted, media_types, status_ranges
from crawler_plugin.wire.errors import UsageError
from worker.page.extract import extract

DEFAULT = Wanted(
    media_types(SETTINGS["DEDUP_CAPTURE_TYPES"].default), status_ranges(SETTINGS["DEDUP_CAPTURE_STATUS"].default)
)


@pytest.mark.parametrize(
    "content_type",
    [
        "text/html",
        "TEXT/HTML; charset=GBK",
        " text/plain ",
        "application/xhtml+xml;charset=utf-8",
        "application/xml",
        "application/json",
        "application/ld+json",
        "application/rss+xml",
        "application/html",
        "application/xhtml; charset=utf-8",
        "application/x-json",
        "text/plain, text/html",
    ],
)
def test_by_default_what_a_worker_can_read_is_a_page(content_type: str) -> None:
    assert DEFAULT.has_type(content_type)
    assert extract(b"<p>text</p>", content_type=content_type).text


@pytest.mark.parametrize("content_type", ["image/png", "image/svg+xml", "application/pdf", "video/mp4", "", "html"])
def test_by_default_what_a_worker_cannot_read_is_none(content_type: str) -> None:
    assert not DEFAULT.has_type(content_type)


@pytest.mark.parametrize(("status", "is_wanted"), [(199, False), (200, True), (299, True), (300, False), (404, False)])
def test_by_default_a_page_is_what_came_with_success(status: int, is_wanted: bool) -> None:
    assert DEFAULT.has_status(status) is is_wanted


@pytest.mark.parametrize("told", ["200-299, 404", ["200-299", 404], ("200-299", "404")])
def test_statuses_are_told_as_text_or_as_a_list(told: object) -> None:
    assert status_ranges(told) == ((200, 299), (404, 404))


def test_a_single_status_may_be_a_number() -> None:
    assert status_ranges(404) == ((404, 404),)


@pytest.mark.parametrize("told", ["", [], "ok", "20", "1000", "299-200", "200-", "200,,404", None, True])
def test_what_is_no_status_is_refused(told: object) -> None:
    with pytest.raises(UsageError):
        status_ranges(told)


@pytest.mark.parametrize("told", ["", [], "html", "text/", "/html", "text/html; charset=utf-8", 7, "[a]/b", "text/?"])
def test_what_is_no_media_type_is_refused(told: object) -> None:
    with pytest.raises(UsageError):
        media_types(told)


def test_a_star_stands_for_any_letters_and_a_dot_for_itself() -> None:
    wanted = Wanted(media_types("application/vnd.a*"), ())
    assert wanted.has_type("application/vnd.abc")
    assert not wanted.has_type("application/vndxabc")
