"""Archives and their records, for tests of the steps after reading them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scan.archives import write_jsonl
from tests.scan.halves import PAGES, read
from tests.scan.test_scan import run, task


@pytest.fixture(scope="module")
def three_archives(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("archives")
    parts = [write_jsonl(PAGES[begin : begin + 30], folder / f"{begin:02}.jsonl") for begin in (0, 30, 60)]
    with parts[1].open("ab") as file:
        file.write(b"no json\n")
    return parts


@pytest.fixture
def records(read_here: None, tmp_path: Path, three_archives: list[Path]) -> Path:
    assert read(tmp_path / "records", *three_archives) is not None
    return tmp_path / "records"


@pytest.fixture(scope="module")
def scanned(three_archives: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scanned")
    assert run(task(folder, *three_archives)) is not None
    return folder
