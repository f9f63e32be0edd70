"""A service that listens, in a thread of this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serve.served import Served, serving


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One for all tests that say of their pages alone what they are about: each has hosts of its own."""
    with serving(tmp_path_factory.mktemp("served") / "state") as served:
        yield served
