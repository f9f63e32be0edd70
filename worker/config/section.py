"""What all sections of the settings have in common: how a setting is declared, and values that none may have."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidatorFunctionWrapHandler, field_validator

REDACTED: Final = "**********"
"""What stands for a secret wherever settings are shown."""


def setting(default: Any, text: str, *, unit: str = "", example: str = "", **bounds: Any) -> Any:
    """One setting. ``text`` says what it does, why the default is what it is, and in its last sentence who should
    change it; ``unit`` is for people."""
    extra: dict[str, Any] = {"unit": unit, "example": example}
    return Field(default, description=text, json_schema_extra=extra, **bounds)


class Section(BaseModel):
    """One section of the settings. Frozen; knows no other keys than its own."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True, regex_engine="python-re"
    )

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any, info: Any) -> Any:
        # YAML reads yes, on and true as a truth value, and Python counts True as 1: k: yes would mean k = 1.
        if isinstance(value, bool) and cls.model_fields[info.field_name].annotation is not bool:
            raise ValueError("a truth value does not belong here; a text such as yes or on needs quotes")
        return value

    @field_validator("*", mode="wrap")
    @classmethod
    def _no_name_of_a_file(cls, value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        try:
            return validate(value)
        except OSError as error:  # a path that is too long to look for
            raise ValueError(error.strerror) from error

    @field_validator("*", mode="before")
    @classmethod
    def _asterisks_are_no_secret(cls, value: Any) -> Any:
        if value == REDACTED:
            raise ValueError("these asterisks are how a secret is shown, not the secret")
        return value
