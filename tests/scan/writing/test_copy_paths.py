"""Copies stay in their folder, side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_plugin.wire.errors import UsageError
from worker.places import Folder
from worker.scan.inputs.archive_ref import ArchiveRef
from worker.scan.writing.copy_paths import PROGRESS, refuse_read_ones, safe, targets


def ref(below: str, form: str = "warc", name: str = "", *, is_folder: bool = False) -> ArchiveRef:
    return ArchiveRef(name=name or below, form=form, below=below, is_folder=is_folder)


@pytest.mark.parametrize(
    ("below", "found"),
    [
        ("a/b.warc.gz", "a/b.warc.gz"),
        ("../../etc/passwd", "_/_/etc/passwd"),
        ("/etc/passwd", "etc/passwd"),
        ("a//./b/..", "a/b/_"),
        ("", "_"),
        ("..", "_"),
        (f"{PROGRESS}/a.json", f"_{PROGRESS}/a.json"),
        (f"a/{PROGRESS}", f"a/{PROGRESS}"),
    ],
)
def test_no_path_leads_out_of_the_folder(below: str, found: str) -> None:
    assert safe(below) == found


def test_of_two_that_cannot_be_side_by_side_the_later_gets_a_number() -> None:
    refs = [
        ref("a.warc.gz"),
        ref("a.warc.gz"),
        ref("in", "files", is_folder=True),
        ref("in/a.warc.gz"),
        ref("in", "files", is_folder=True),
        ref("in/a.warc.gz"),
        ref("a.warc.gz/b.warc"),  # a WACZ with the name of a WARC
        ref("in"),
        ref("a.html", "files"),
        ref("a.html", "files"),
    ]
    assert targets(refs) == [
        "a.warc.gz",
        "a-2.warc.gz",
        "in",
        "in/a.warc.gz",
        "in-2",
        "in/a-2.warc.gz",
        "a-3.warc.gz/b.warc",
        "in-3",
        "a.html",
        "a-2.html",
    ]


def test_no_copy_takes_the_place_of_an_archive(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    for name, out in (
        (f"{tmp_path}/a", f"{tmp_path}/link/x/.."),
        (f"{tmp_path}/x/../a", str(tmp_path)),
        ("s3://b/c/a", "s3://b/c/"),
        (f"{tmp_path}/a", f"file://{tmp_path}"),
    ):
        with pytest.raises(UsageError, match="is read, and the pages that stay would be written in its place"):
            refuse_read_ones([ref("a", name=name)], ["a"], Folder(out))
        refuse_read_ones([ref("a", name=name)], ["a"], Folder(f"{out}/elsewhere"))
