"""The result for a page: small, and checked against its type."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.pool.frames import pack

URL = "https://example.org/a"


@pytest.fixture(scope="module")
def fingerprinter() -> Fingerprinter:
    return Fingerprinter(Recipe())


@pytest.mark.parametrize(
    "wrong",
    [
        {"fingerprint": -1},
        {"fingerprint": 1.0},
        {"text_hash": -5},
        {"tokens": 1 << 32},
        {"language": "x" * 17},
        {"reason": "x" * 501},
        {"sketch": b"x" * 31},
        {"bands": b"x" * 33},
    ],
)
def test_what_comes_back_is_held_against_its_type(fingerprinter: Fingerprinter, wrong: dict[str, Any]) -> None:
    packed = pack(msgspec.structs.replace(fingerprinter.of_text("fish water salt", URL), reason=None))
    values = msgspec.msgpack.decode(packed)
    ((name, value),) = wrong.items()
    values[Fingerprinted.__struct_fields__.index(name)] = value
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(pack(values), type=Fingerprinted)
