"""``python -m benchmarks soft-404``."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.soft_404 import ERROR_PAGE


def page(text: str) -> str:
    return f"<html><body><article><p>{text}</p></article></body></html>"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    root = tmp_path / "site" / "html"
    root.mkdir(parents=True)
    (root / ERROR_PAGE).write_text(page("This page does not exist here any more, please use the search."))
    chance = random.Random(1)
    for _ in range(12):
        folder, *names = ("".join(chance.choices("abdeiklmnorstu", k=6)) for _ in range(13))
        (root / folder).mkdir()
        for name in names:
            text = ("".join(chance.choices("abdeiklmnorstu", k=6)) for _ in range(150))
            (root / folder / f"{name}.html").write_text(page(" ".join(text)))
    return tmp_path


def test_a_real_error_page_is_found_and_no_other_is(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["soft-404", "--sites", str(site), "--seeds", "6"]) == 0
    printed = capsys.readouterr().out
    assert (
        "soft_404_places=8: 4 pages called error pages, 4 of them rightly (precision 1.000); of 6 error pages 0.67"
        in printed
    )


def test_without_error_pages_there_is_nothing_to_measure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["soft-404", "--sites", str(tmp_path)]) == 2
    assert "has no 404.html in a folder of its own" in capsys.readouterr().err
