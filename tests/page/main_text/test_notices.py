"""Notices, and texts that only speak of what notices speak of."""

from __future__ import annotations

import pytest

from worker.page.main_text.notices import is_notice


@pytest.mark.parametrize(
    "text",
    [
        "You need to enable JavaScript to run this app.",
        "Bitte aktivieren Sie JavaScript in Ihrem Browser.",
        "请启用 JavaScript 后刷新页面",
        "Пожалуйста, включите JavaScript",
        "Loading…",
        "Just a moment...",
        "加载中",
        "読み込み中です",
    ],
)
def test_a_notice_asks_for_scripts_or_patience(text: str) -> None:
    assert is_notice(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "JavaScript is a language.",
        "Enable the second disk before the first.",
        "The loading of ships by night is slow and dangerous, as the crew of one of them told us.",
        "下载中心",
    ],
)
def test_a_text_that_asks_for_neither_is_none(text: str) -> None:
    assert not is_notice(text)
