"""The options of the JVM."""

from __future__ import annotations

import pytest

from worker.broker.configuration import AMPLE_HEAP_MB, DEFAULT_HEAP_MB, java_options


@pytest.mark.parametrize(
    ("heap_mb", "first_mb", "collector"),
    [
        (DEFAULT_HEAP_MB, 64, "-XX:+UseSerialGC"),
        (AMPLE_HEAP_MB - 1, 170, "-XX:+UseSerialGC"),
        (AMPLE_HEAP_MB, AMPLE_HEAP_MB, "-XX:+UseG1GC"),
        (40, 40, "-XX:+UseSerialGC"),
    ],
)
def test_a_heap_begins_small_unless_it_is_ample(heap_mb: int, first_mb: int, collector: str) -> None:
    options = java_options(heap_mb)
    assert f"-Xmx{heap_mb}m" in options
    assert f"-Xms{first_mb}m" in options
    assert [option for option in options if option.endswith("GC")] == [collector]
