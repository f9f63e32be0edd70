"""The crawls pass with the oldest Scrapy that pyproject.toml allows, not only with the one that is installed."""

from __future__ import annotations

import pytest

from tools.crawls.old_scrapy import FEW, main, oldest_scrapy


def test_the_oldest_scrapy_is_the_lower_bound_of_the_project() -> None:
    assert oldest_scrapy() == "2.14"


@pytest.mark.long
@pytest.mark.cluster
def test_crawls_pass_with_the_oldest_scrapy() -> None:
    assert main([*FEW, "-p", "no:cacheprovider"]) == 0
