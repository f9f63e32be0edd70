"""Lists the transactions that a broker holds open. Brokers before Kafka 4.1 cannot search by name, so all are
listed."""

from __future__ import annotations

from typing import Any


def open_transactions(admin: Any, beginning: str) -> list[str]:
    """The ids with this beginning."""
    listed = admin.list_transactions(state_filters=["Ongoing"])
    ids = [each.transactional_id for found in listed.values() for each in found]
    return [each for each in ids if each.startswith(beginning)]
