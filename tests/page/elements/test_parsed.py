"""Values and texts of a parsed page, as people read them."""

from __future__ import annotations

import pytest

from worker.page.elements.markup import parse


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        ("<p>a &amp; b", ["a & b"]),
        ("<p>one\r\ntwo\rthree", ["one\ntwo\nthree"]),
        ("<textarea>&lt;p&gt;</textarea>", ["<p>"]),
        ("<xmp>&lt;p&gt;</xmp>", ["&lt;p&gt;"]),
        ("<xmp>a\0b</xmp>", ["a\ufffdb"]),
    ],
)
def test_references_are_resolved_where_the_element_has_such(page: str, texts: list[str]) -> None:
    found = parse(page)
    assert [found.text(row) for row in range(len(found.runs))] == texts


def test_a_script_is_kept_as_it_is_and_a_value_is_not() -> None:
    found = parse("<link rel=canonical href='/x?a=1&amp;b=2\0'><script type=application/ld+json>\"&amp;\"</script>")
    assert [found.value(row) for row in range(len(found.values))][-1] == '"&amp;"'
    assert "/x?a=1&b=2\ufffd" in [found.value(row) for row in range(len(found.values))]
