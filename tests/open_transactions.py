"""Which transactions a broker holds open; brokers before Kafka 4.1 cannot be asked by name, so all are looked at."""

from __future__ import annotations

from typing import Any


def open_transactions(admin: Any, beginning: str) -> list[str]:
    """The ids, of those that begin so."""
    listed = admin.list_transactions(state_filters=["Ongoing"])
    ids = [each.transactional_id for found in listed.values() for each in found]
    return [each for each in ids if each.startswith(beginning)]
