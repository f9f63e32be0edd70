"""The parser compared with the tests of the standard."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.page.elements.html5lib import difference, read_tests


@pytest.mark.data("standards")
def test_all_tokens_are_those_of_browsers(standards: Path) -> None:
    tests = list(read_tests(standards / "tokenizer"))
    assert {test.name: said for test in tests if (said := difference(test))} == {}
    assert len(tests) > 7000
