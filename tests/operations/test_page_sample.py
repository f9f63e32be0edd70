"""The check of a page and the published contract agree, header by header."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
import yaml

from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.topics import DEFAULT_PREFIX, PAGES, topic_specs
from worker.operations.page_sample import PageFault, faults_of
from worker.stream.log import Record

ROOT: Final = Path(__file__).resolve().parents[2]
CONTRACT: Final[dict[str, Any]] = yaml.safe_load((ROOT / "docs/reference/pages.asyncapi.yaml").read_text("utf-8"))
MESSAGE: Final = CONTRACT["components"]["messages"]["page"]
URL: Final = "https://a.example/news?id=7"
MOST: Final = 8 << 20


def faults(headers: dict[str, bytes], value: bytes | None = b"<p>A page</p>", **others: Any) -> list[PageFault]:
    return list(faults_of(Record(3, 17, None, value, list(headers.items()), 1_764_150_000_000, **others), MOST))


def is_by_contract(headers: dict[str, bytes]) -> bool:
    """Whether the published schema takes these headers."""
    told = {name: value.decode() for name, value in headers.items()}
    try:
        jsonschema.validate(told, MESSAGE["headers"])
    except jsonschema.ValidationError:
        return False
    return True


GOOD: Final = {
    "status": ["200", "0", "999"],
    "content_type": ["text/html; charset=gbk", "", "nonsense"],
    "encoding": ["gbk", "no such encoding"],
    "fetched": [
        "1764150000000",
        "2026-11-26",
        "2026-11-26T09:40:00Z",
        "2026-11-26 09:40:00.123+01:00",
        "2026-11-26T09:40",
    ],
    "spider": ["news", "新闻"],
    "job": ["2026-11-26"],
    "form": ["bytes", "text"],
    "etag": ["passed on unread"],
    "url": ["http://a.example", "ftp://a.example/x", "HTTPS://a.example/%7e"],
}
BAD: Final = {
    "status": ["200 OK", "-1", "99999", "two hundred", ""],
    "fetched": ["yesterday", "1764150000.5", "26.11.2026", "2026-11-26T09:40:00 CET", ""],
    "form": ["html", "", "Text"],
    "url": ["", "/news", "a.example/news", "news"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in GOOD.items() for value in values])
def test_what_the_contract_takes_is_read(name: str, value: str) -> None:
    headers = {"url": URL.encode(), name: value.encode()}
    assert is_by_contract(headers)
    assert faults(headers) == []


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_what_the_contract_refuses_is_told_with_its_place_and_what_to_do(name: str, value: str) -> None:
    headers = {"url": URL.encode()} | {name: value.encode()}
    assert not is_by_contract(headers)
    (fault,) = faults(headers)
    assert (fault.partition, fault.offset, fault.where) == (3, 17, name)
    assert fault.move
    assert str(fault).startswith(f"partition 3, offset 17, header '{name}': ")


def test_without_a_url_there_is_no_page() -> None:
    assert not is_by_contract({})
    assert [(fault.where, fault.what.split(":")[0]) for fault in faults({})] == [
        ("url", "not a page but a dead letter (bad-headers")
    ]


@pytest.mark.parametrize(("given", "meant"), [("Content-Type", "content_type"), ("URL", "url"), ("Status ", "status")])
def test_a_header_that_is_spelled_otherwise_is_named_with_the_one_that_is_meant(given: str, meant: str) -> None:
    headers = {"url": URL.encode(), given: b"200"}
    if meant == "url":
        headers.pop("url")
    found = faults(headers)
    assert any(meant in fault.move for fault in found)
    if meant != "url":
        assert [fault.where for fault in found] == [given]
        assert faults(headers | {meant: b"200"}) == []


@pytest.mark.parametrize("name", ["content_type", "spider", "job", "encoding", "url"])
def test_bytes_that_are_no_utf8_are_told(name: str) -> None:
    (fault,) = faults({"url": URL.encode(), name: b"\xff\xfe"})
    assert fault.where == name
    assert "UTF-8" in fault.move


@pytest.mark.parametrize(
    ("value", "others", "what"),
    [
        (None, {}, "no-body"),
        (b"x" * MOST, {}, "oversize"),
        (b"", {"oversize": 9 << 20}, "oversize"),
        (b"", {"unreadable": "the batch ends before its last record"}, "unreadable-record"),
    ],
)
def test_a_value_that_is_no_page_is_told(value: bytes | None, others: dict[str, Any], what: str) -> None:
    (fault,) = faults({"url": URL.encode()}, value, **others)
    assert fault.where == "value"
    assert what in fault.what


def test_text_that_is_no_utf8_is_told_and_an_empty_page_is_one() -> None:
    headers = {"url": URL.encode(), "form": b"text"}
    assert [fault.where for fault in faults(headers, "Fähre".encode("latin-1"))] == ["value"]
    assert faults(headers, "Fähre".encode()) == []
    assert faults(headers, b"") == []


def test_what_a_stranger_put_into_a_header_is_shown_as_text_and_in_short() -> None:
    found = faults({"url": URL.encode(), "status": b"\x1b[2J" * 10_000, "\x1fspider\n": b""})
    told = "".join(map(str, found))
    assert [fault.where for fault in found] == ["status", "\x1fspider\n"]
    assert told.isprintable()
    assert len(told) < 600


def test_the_contract_names_the_headers_that_are_read_and_the_topic_as_it_is_made() -> None:
    headers = MESSAGE["headers"]
    assert list(headers["properties"]) == list(PageMeta.__struct_fields__)
    assert headers["required"] == ["url"]
    assert headers.get("additionalProperties", True) is True
    jsonschema.Draft7Validator.check_schema(headers)
    channel = CONTRACT["channels"]["pages"]
    assert channel["address"] == "{prefix}" + PAGES
    assert channel["parameters"]["prefix"]["default"] == DEFAULT_PREFIX
    (spec,) = [spec for spec in topic_specs() if spec.topic == PAGES]
    kafka = channel["bindings"]["kafka"]
    assert kafka["partitions"] == spec.partitions
    told = kafka["topicConfiguration"]
    made = {key: value for key, value in spec.config.items() if key != "message.timestamp.type"}  # AsyncAPI has none
    assert {key: str(value) for key, value in told.items()} == made | {"cleanup.policy": "['delete']"}


def test_examples_of_the_contract_are_pages() -> None:
    assert len(MESSAGE["examples"]) == 2
    for example in MESSAGE["examples"]:
        jsonschema.validate(example["headers"], MESSAGE["headers"])
        headers = {name: value.encode() for name, value in example["headers"].items()}
        assert faults(headers, example["payload"].encode()) == []
    for name, told in MESSAGE["headers"]["properties"].items():
        for example in told.get("examples", ()):
            assert faults({"url": URL.encode()} | {name: example.encode()}) == []
