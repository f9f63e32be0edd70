"""Errors on wrong arguments of ``worker.local`` name the argument, and nothing is judged."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from crawler_plugin.wire.errors import UsageError
from tests.local.crashes import SETTINGS
from worker.local import Deduplicator, FetchedPage

URL: Final = "http://a.example/"
NAN: Final = float("nan")
MANY: Final = 10**6
Given = dict[str, Any]

TYPES: Final[list[tuple[str, Given]]] = [
    ("url", {"url": 17, "text": ""}),
    ("url", {"url": b"http://a.example/", "text": ""}),
    ("url", {"url": FetchedPage(URL, b"")}),
    *(("text", {"url": URL, "text": text}) for text in (NAN, 17, ("a", "b"), b"bytes", ["a"], True)),
    *(("body", {"url": URL, "body": body}) for body in (NAN, 17, ("a",), {}, object())),
    ("encoding", {"url": URL, "body": b"", "encoding": 8}),
    ("content_type", {"url": URL, "body": b"", "content_type": b"text/html"}),
    *(("fetched", {"url": URL, "body": b"", "fetched": time}) for time in (1.5e9, NAN, True, b"2024", ("a",))),
    ("headers", {"url": URL, "body": b"", "headers": None}),
    ("headers", {"url": URL, "body": b"", "headers": [("spider", "news")]}),
    ("headers", {"url": URL, "body": b"", "headers": {1: "news"}}),
    (r"headers\['spider'\]", {"url": URL, "body": b"", "headers": {"spider": b"news"}}),
    *(("id", {"id": id_, "text": ""}) for id_ in (NAN, b"a", ("a",), True)),
    *((name, {"url": URL, "body": b"", name: value}) for name in ("store", "pardon") for value in ("no", 0, None)),
    ("'title'", {"url": URL, "body": b"", "title": "a"}),
]
VALUES: Final[list[tuple[str, Given]]] = [
    ("url", {"text": ""}),
    ("url", {"url": "", "text": ""}),
    ("url", {"url": "doc-17", "text": ""}),
    ("url", {"url": "/path", "text": ""}),
    ("url", {"url": "http://[::1/", "text": ""}),
    ("url", {"url": "http://a.example/" + "x" * MANY, "text": ""}),
    ("url", {"url": "http://a.example/\ud800", "text": ""}),
    ("id", {"id": "", "text": ""}),
    ("id", {"id": "x" * MANY, "text": ""}),
    ("id", {"id": 10**5000, "text": ""}),
    ("id", {"id": "\ud800", "text": ""}),
    ("body and text", {"url": URL}),
    ("body and text", {"url": URL, "body": None, "text": None}),
    ("body and text", {"url": URL, "body": b"", "text": ""}),
    *(
        ("fetched", {"url": URL, "body": b"", "fetched": time})
        for time in ("2024", "", "yesterday", 10**18, -(10**5000))
    ),
    ("encoding", {"url": URL, "body": b"", "encoding": "\ud800"}),
    (r"headers\['spider'\]", {"url": URL, "body": b"", "headers": {"spider": "\ud800"}}),
]


def name_of(value: object) -> str:
    return value if isinstance(value, str) else ""


@pytest.fixture(scope="module")
def local() -> Deduplicator:
    return Deduplicator(config=SETTINGS)


def calls(local: Deduplicator, given: Given) -> list[Callable[[], object]]:
    """Each way to get a verdict on the same page."""
    return [
        lambda: local.judge(**given),
        lambda: local.look_up(**given),
        lambda: asyncio.run(local.judge_async(**given)),
        lambda: list(local.judge_all([FetchedPage(**given)])),
    ]


@pytest.mark.parametrize(("name", "given"), TYPES, ids=name_of)
def test_a_value_of_another_type_is_a_type_error(local: Deduplicator, name: str, given: Given) -> None:
    for call in calls(local, given):
        with pytest.raises(TypeError, match=rf"\b{name}|{name}"):
            call()
    assert local.judged == 0


@pytest.mark.parametrize(("name", "given"), VALUES, ids=name_of)
def test_a_value_that_cannot_be_is_a_value_error(local: Deduplicator, name: str, given: Given) -> None:
    for call in calls(local, given):
        with pytest.raises(ValueError, match=rf"^{name}") as raised:
            call()
        assert len(str(raised.value)) < 1000
    assert local.judged == 0


def test_a_page_that_is_none_is_refused_and_the_rest_of_the_pages_too(local: Deduplicator) -> None:
    for pages in (None, 17, "pages", b"pages", FetchedPage(URL, b""), {"url": URL}):
        with pytest.raises(TypeError, match=r"^pages is"):
            local.judge_all(pages)  # type: ignore[arg-type]
    for page in (URL, (URL, b""), {"url": URL}):
        with pytest.raises(TypeError, match=r"^a page is .*: give a worker\.local\.FetchedPage"):
            list(local.judge_all([page]))  # type: ignore[list-item]
    with pytest.raises(TypeError, match="durable is 'no'"):
        local.judge(URL, b"", durable="no")  # type: ignore[arg-type]
    assert local.judged == 0


@pytest.mark.parametrize(
    ("name", "given", "error"),
    [
        ("state", {"state": 17}, TypeError),
        ("state", {"state": b"seen"}, TypeError),
        ("state", {"state": ""}, ValueError),
        ("state", {"state": "a\0b"}, ValueError),
        ("state", {"state": "\ud800"}, ValueError),
        ("config", {"config": 17}, TypeError),
        ("config", {"config": {"near": {"k": 2}}}, TypeError),
        ("config", {"config": ""}, ValueError),
        ("config", {"config": "a\0b"}, ValueError),
        ("clock", {"clock": 17}, TypeError),
    ],
)
def test_what_a_deduplicator_is_made_with_is_looked_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, given: Given, error: type[Exception]
) -> None:
    monkeypatch.chdir(tmp_path)
    plain: Given = {"config": SETTINGS}
    with pytest.raises(error, match=f"^{name} "):
        Deduplicator(**plain | given)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("enormous", ["x" * MANY, f"{'x' * 200}/" * 200])
def test_a_path_that_is_too_long_is_told_as_one(enormous: str) -> None:
    with pytest.raises(UsageError, match="cannot be opened"):
        Deduplicator(enormous, SETTINGS)
    with pytest.raises(UsageError, match="there is no such config file"):
        Deduplicator(config=enormous)


@pytest.mark.parametrize(
    ("keyword", "setting"), [("k", r"near\.k"), ("threshold", r"near\.threshold"), ("near__scope", r"near\.scope")]
)
def test_a_setting_given_as_an_argument_is_shown_its_way(local: Deduplicator, keyword: str, setting: str) -> None:
    way = rf"no argument '{keyword}'.*{setting}.*Deduplicator\(config="
    with pytest.raises(TypeError, match=way):
        Deduplicator(None, None, **{keyword: 2})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=way):
        local.judge(URL, b"", **{keyword: 2})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"there is no argument 'txt'.*did you mean text\?"):
        FetchedPage(URL, txt="a")


@pytest.mark.parametrize("time", [NAN, float("inf"), -1e300, None, "now"])
def test_a_clock_that_is_none_is_told_before_a_page_is_judged(time: Any) -> None:
    with Deduplicator(config=SETTINGS, clock=lambda: time) as odd:
        with pytest.raises(ValueError, match=r"^clock gives"):
            odd.judge(URL, b"")
        assert odd.judged == 0


def test_a_path_may_be_a_str_or_whatever_names_a_file(tmp_path: Path) -> None:
    class Named:
        def __fspath__(self) -> str:
            return os.fspath(tmp_path / "seen")

    Deduplicator(Named(), SETTINGS).close()
    assert (tmp_path / "seen" / "index.blocks").is_file()
