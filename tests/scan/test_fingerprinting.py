"""Records of archives in files; each file is whole or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_plugin.wire.errors import Refused
from tests.scan.archives import write_jsonl
from tests.scan.halves import PAGES, read
from tests.scan.test_scan import after, settings

pytestmark = pytest.mark.usefixtures("read_here")


def test_what_is_whole_is_not_read_again_and_what_was_cut_off_is(tmp_path: Path, three_archives: list[Path]) -> None:
    out = tmp_path / "records"
    assert read(out, *three_archives, stop=after(50)) is None
    assert [path.name for path in out.iterdir()] == ["00.jsonl.parquet"]
    (out / "00.jsonl.parquet").touch()
    again = read(out, *three_archives)
    assert again is not None
    assert (again.files, again.whole, again.records, again.dead) == (2, 1, 61, 1)
    with pytest.raises(Refused, match="records of the same archive, read with other settings"):
        read(out, three_archives[0], features=settings().features.model_copy(update={"minimum": 4}))
    other = write_jsonl(PAGES[:3], tmp_path / "00.jsonl")
    with pytest.raises(Refused, match="records of another archive"):
        read(out, other)


def test_two_archives_of_one_name_come_to_two_files(tmp_path: Path) -> None:
    found = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        found.append(write_jsonl(PAGES[:3], tmp_path / name / "pages.jsonl"))
    read(tmp_path / "records", *found)
    assert sorted(path.name for path in (tmp_path / "records").iterdir()) == [
        "pages-2.jsonl.parquet", "pages.jsonl.parquet",
    ]  # fmt: skip
