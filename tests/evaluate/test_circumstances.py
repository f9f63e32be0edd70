"""The circumstances that are recorded with a measurement."""

from __future__ import annotations

import numba

from worker.evaluate.circumstances import machine


def test_the_line_on_the_machine_ends_with_what_else_was_measured_if_anything_was() -> None:
    assert machine([]).endswith(f"numba {numba.__version__}")
    assert machine(["a 1", "b 2"]).endswith(f"numba {numba.__version__}; a 1, b 2")
