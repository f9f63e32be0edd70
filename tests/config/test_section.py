"""Rules for the settings of every section."""

from __future__ import annotations

import pytest
from pydantic import FilePath, ValidationError

from worker.config.section import REDACTED, Section, setting


class Example(Section):
    """One setting of each kind that needs care."""

    count: int = setting(3, "How many.", unit="pages", ge=1)
    enabled: bool = setting(False, "Whether.")
    name: str = setting("a", "Which.")
    file: FilePath | None = setting(None, "Where.")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"count": True}, "truth value"),
        ({"name": REDACTED}, "how a secret is shown"),
        ({"file": "/" + "a" * 5000}, "too long"),
        ({"other": 1}, "not permitted"),
        ({"count": 0}, "greater than or equal to 1"),
    ],
)
def test_a_value_is_refused_with_the_reason(given: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        Example.model_validate(given)


def test_a_truth_value_is_one_where_it_belongs() -> None:
    assert Example.model_validate({"enabled": True}).enabled


def test_a_setting_knows_its_text_and_its_unit_for_people() -> None:
    field = Example.model_fields["count"]
    assert (field.description, field.json_schema_extra) == ("How many.", {"unit": "pages", "example": ""})
