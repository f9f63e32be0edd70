"""Frames between a crawl and the process that judges its pages."""

from __future__ import annotations

from io import BytesIO
from typing import Final

import pytest

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.judge_pipe import (
    GREETING,
    MOST_SAID,
    JudgeFailed,
    JudgeOpened,
    JudgeOpening,
    JudgeSaid,
    PageJudged,
    PageToJudge,
    Said,
    read_asked,
    read_said,
    write_frame,
)

SAID: Final[list[Said]] = [
    JudgeOpened(7),
    PageJudged("duplicate", "http://a.example/", 2, 0.5, "sketch", True, ""),
    JudgeFailed("the disk is full: make room"),
    JudgeSaid(30, "a line"),
]


def test_what_is_said_and_asked_comes_as_it_was_sent_one_after_the_other() -> None:
    pipe = BytesIO()
    opening, page = JudgeOpening(None, "config.yaml"), PageToJudge((("url", b"http://a.example/"),), b"\0" * 100_000)
    for frame in (*SAID, opening, page):
        write_frame(pipe, frame)
    pipe.seek(0)
    assert [read_said(pipe) for _ in SAID] == SAID
    assert (read_asked(pipe, JudgeOpening), read_asked(pipe, PageToJudge)) == (opening, page)
    with pytest.raises(EOFError):
        read_said(pipe)


def test_the_form_is_the_one_that_the_greeting_names() -> None:
    """Sides of different versions must notice: with other bytes here, the greeting needs another number."""
    pipe = BytesIO()
    write_frame(pipe, PageToJudge((("url", b"u"),), b"v"))
    write_frame(pipe, JudgeOpened(1))
    assert GREETING == b"crawl-dedup judge 1\n"
    assert pipe.getvalue() == (
        b"\x2c\0\0\0\x83\xa4type\xabPageToJudge\xa7headers\x91\x92\xa3url\xc4\x01u\xa5value\xc4\x01v"
        b"\x1a\0\0\0\x82\xa4type\xabJudgeOpened\xa6judged\x01"
    )


def test_a_frame_that_is_torn_is_the_end_and_any_other_is_none() -> None:
    pipe = BytesIO()
    write_frame(pipe, SAID[1])
    whole = pipe.getvalue()
    for length in range(len(whole)):
        with pytest.raises(EOFError):
            read_said(BytesIO(whole[:length]))
    not_text = whole.replace(b"sketch", b"\xff" * 6)
    for wrong in (b"\xff" * 8, (MOST_SAID + 1).to_bytes(4, "little"), b"\x01\0\0\0\xc1", b"\x01\0\0\0\x80", not_text):
        with pytest.raises(UnreadableRecord):
            read_said(BytesIO(wrong))
    with pytest.raises(UnreadableRecord):
        read_asked(BytesIO(whole), PageToJudge)
