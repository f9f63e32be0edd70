"""Figures as JSON that people can read and compare: a line for each object without objects in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def as_rows(value: Mapping[str, Any], depth: int = 0) -> str:
    """The object, its own keys in their order, each in a line of its own if one of the values is an object."""
    if not any(isinstance(held, Mapping) for held in value.values()):
        return json.dumps(value, ensure_ascii=False)
    inner = " " * (depth + 1)
    rows = (
        f"{inner}{json.dumps(key, ensure_ascii=False)}: "
        + (as_rows(held, depth + 1) if isinstance(held, Mapping) else json.dumps(held, ensure_ascii=False))
        for key, held in value.items()
    )
    return "{\n" + ",\n".join(rows) + "\n" + " " * depth + "}"
