"""The extractors of main content in other programs."""

from __future__ import annotations

import importlib.util

import pytest

from crawler_plugin.wire.errors import UsageError
from tests.page.test_extract import PAGE
from worker.evaluate.extractors import BUILT_IN, EXTRACTORS, extractor_named
from worker.page.extract import extract
from worker.page.main_text.content import main_content


@pytest.mark.parametrize("name", EXTRACTORS)
def test_of_a_page_each_keeps_the_main_content(name: str) -> None:
    if name != BUILT_IN and importlib.util.find_spec(name) is None:
        with pytest.raises(UsageError, match=rf"{name} is not installed; pip install 'crawl-dedup\[evaluate\]'"):
            extractor_named(name)
        pytest.skip(f"needs {name}: pip install 'crawl-dedup[evaluate]'")
    page = extract(PAGE.encode(), content_type="text/html", extractor=extractor_named(name))
    assert "sentence 0" in page.text
    assert "sentence 8" in page.text
    for left_out in ("Home", "tracking", "Imprint", "color", "a picture", "•"):
        assert left_out not in page.text
    assert page.title == ("Tropical & fish" if name != "trafilatura" else None)


def test_the_built_in_one_is_the_workers() -> None:
    assert extractor_named(BUILT_IN) is main_content
