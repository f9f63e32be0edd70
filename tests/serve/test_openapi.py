"""The description is valid OpenAPI, and says what is answered."""

from __future__ import annotations

import json
from typing import Any

from openapi_spec_validator import validate

from tests.serve.served import Served, page
from worker.serve.asked_pages import PARAMETERS, AskedPage
from worker.serve.exchange import METHODS
from worker.serve.openapi import DESCRIPTION

TOLD: dict[str, Any] = json.loads(DESCRIPTION)
SCHEMAS = TOLD["components"]["schemas"]


def test_it_is_served_and_valid(service: Served) -> None:
    assert service.ask("GET", "/openapi.json").row == TOLD
    validate(TOLD)


def test_each_path_and_parameter_that_is_taken_is_told() -> None:
    assert {path: next(iter(said)).upper() for path, said in TOLD["paths"].items()} == {
        path: method for path, method in METHODS.items() if path != "/openapi.json"
    }
    assert tuple(each["name"] for each in TOLD["paths"]["/judge"]["post"]["parameters"]) == PARAMETERS
    assert tuple(SCHEMAS["Page"]["properties"]) == AskedPage.__struct_fields__


def test_answers_have_the_fields_that_are_told(service: Served) -> None:
    unique, error = service.judge_lines(page("http://openapi.example/"), b"").rows + service.judge_lines(b"{}").rows
    seen = service.ask("GET", "/seen?url=http://openapi.example/").row
    unseen = service.ask("GET", "/seen?url=http://unseen.example/").row
    assert list(unique) == list(SCHEMAS["Verdict"]["properties"])
    assert error.keys() == SCHEMAS["Error"]["properties"].keys()
    assert unseen.keys() == set(SCHEMAS["Seen"]["required"])
    assert unseen.keys() <= seen.keys() <= SCHEMAS["Seen"]["properties"].keys()
