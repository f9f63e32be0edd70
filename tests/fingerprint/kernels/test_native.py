"""The digest of the kernels' cache covers exactly the files of kernels."""

from __future__ import annotations

from pathlib import Path

from worker.fingerprint.kernels import native


def test_a_change_of_any_kernel_makes_numba_compile_all_anew() -> None:
    files = {path.stem for path in Path(native.__file__).parent.glob("*.py")} - {"__init__", "native"}
    assert files == set(native.KERNELS)
