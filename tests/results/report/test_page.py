"""Everyone can read the page: by keyboard, by ear, in the dark."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.results.report.reports import Parsed, real_rows, report, texts_of

STYLE = (Path(__file__).parents[3] / "worker" / "results" / "report" / "report.css").read_text()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Parsed:
    return Parsed(report(real_rows(), tmp_path_factory.mktemp("report"), texts_of))


def test_each_link_within_it_leads_somewhere(page: Parsed) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    inner = [a["href"] or "" for tag, a in page.elements if tag == "a" and (a["href"] or "").startswith("#")]
    assert {target[1:] for target in inner} <= set(ids)
    assert inner[0] == "#report", "the first link skips the menu"


def test_each_picture_says_what_it_shows_or_is_not_read_aloud(page: Parsed) -> None:
    for tag, attributes in page.elements:
        if tag == "svg":
            assert attributes.get("aria-hidden") == "true" or (
                attributes.get("role") == "img" and attributes.get("aria-label")
            )


def test_headings_are_in_order(page: Parsed) -> None:
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def colours(scheme: str) -> dict[str, tuple[float, ...]]:
    light, dark = STYLE.split("@media (prefers-color-scheme: dark)")
    found = re.findall(r"--([a-z-]+): #([0-9a-f]+);", light if scheme == "light" else dark.split("* {")[0])
    return {
        name: tuple(int(part, 16) / 255 for part in re.findall("..", value if len(value) == 6 else 2 * value))
        for name, value in found
    }


def luminance(colour: tuple[float, ...]) -> float:
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_enough_in_both_schemes(scheme: str) -> None:
    of = colours(scheme)
    assert of.keys() == colours("light").keys()
    pairs = [(ink, paper) for ink in ("ink", "quiet", "link") for paper in ("paper", "panel")]
    for ink, paper in [*pairs, ("del-ink", "del"), ("ins-ink", "ins")]:
        low, high = sorted((luminance(of[ink]), luminance(of[paper])))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (scheme, ink, paper)
    low, high = sorted((luminance(of["bar"]), luminance(of["paper"])))
    assert (high + 0.05) / (low + 0.05) >= 3
