"""A target with a defect that only coverage leads to, for the test that the fuzzer finds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from atheris import instrument_func


def _attack(data: bytes) -> None:
    """Three branches deep."""
    if len(data) > 2 and data[0] == ord("c") and data[1] == ord("r") and data[2] == ord("a"):
        raise ValueError("the planted defect")


attack: Callable[[bytes], None] = instrument_func(_attack)


def seeds() -> Iterator[bytes]:
    """No input that hints at the defect."""
    yield b"harmless"
