"""The conditions in records of forgetting: unclear ones are refused."""

from __future__ import annotations

from typing import Any, cast

import pytest

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.forgetting import Forget, ForgetCondition
from crawler_plugin.wire.messages import decode, encode


@pytest.mark.parametrize(
    "condition",
    [
        {},
        {"kind": "host"},
        {"kind": "before", "text": "a"},
        {"kind": "host", "text": "a", "number": 1},
        {"number": 1 << 64},
        {"kind": "scope", "number": -1},
        {"kind": "before", "number": 1 << 63},
        {"kind": "host", "text": "a", "site": 1 << 32},
        {"kind": "host", "text": "a", "site": -1},
    ],
)
def test_a_condition_that_says_nothing_clear_is_none(condition: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        ForgetCondition(**condition)


def test_a_record_of_a_kind_that_there_is_not_is_none() -> None:
    forged = ForgetCondition(kind=cast(Any, "all"))
    with pytest.raises(UnreadableRecord, match="Invalid enum value"):
        decode(Forget, encode(Forget(scheme=b"s", writer=b"w", condition=forged)))
