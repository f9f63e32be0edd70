"""Moments as milliseconds since 1970 UTC, read alike from items, rows, headers and calls. A leaf."""

from __future__ import annotations

from datetime import UTC, datetime


def since_1970(moment: datetime | str) -> int:
    """Milliseconds since 1970 UTC of a ``datetime`` or of ISO 8601 text; one that names no zone is taken for UTC.

    Raises:
        ValueError: the text is not ISO 8601, or the value is not a moment.
    """
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment.strip())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        return round(moment.timestamp() * 1000)
    except OverflowError as error:
        raise ValueError(f"{moment} is out of range: {error}") from error
