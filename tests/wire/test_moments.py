"""Moments in all spellings give the same milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from crawler_plugin.wire.moments import since_1970

AT = 1_767_323_045_000


@pytest.mark.parametrize(
    "moment",
    [
        "2026-01-02T03:04:05Z",
        " 2026-01-02 03:04:05 ",
        "2026-01-02T04:04:05+01:00",
        "20260102T030405",
        datetime(2026, 1, 2, 3, 4, 5),
        datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        datetime(2026, 1, 2, 4, 4, 5, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_iso_8601_and_datetimes_are_read_in_utc_where_they_name_no_zone(moment: datetime | str) -> None:
    assert since_1970(moment) == AT


@pytest.mark.parametrize(
    "moment", ["", "2024", "yesterday", "2026-13-01", str(AT), "1704067200.5", "9" * 5000, "\ud800"]
)
def test_what_is_no_iso_8601_is_refused(moment: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        since_1970(moment)


def test_the_first_and_the_last_moment_are_read_in_any_zone() -> None:
    for moment in (datetime.min, datetime.max, datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))):
        assert abs(since_1970(moment)) < 10**15
