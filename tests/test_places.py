"""Files appear whole, here and in an object store."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import Unavailable, UsageError
from worker.places import Folder, is_url, shown


@pytest.fixture(params=["here", "file", "memory", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    where = {"here": str(tmp_path / "a/b"), "file": f"file://{tmp_path}/c", "memory": f"memory://{tmp_path}/m/"}
    kind: str = request.param
    return Folder(where[kind] if kind in where else f"{request.getfixturevalue('bucket')}/some/where")


def test_a_file_is_there_only_when_all_of_it_is(place: Folder) -> None:
    assert (place.names(), place.size("x/y.json"), place.read("x/y.json")) == ([], None, None)
    with place.replaced("x/y.json") as beside:
        beside.write_bytes(b"1")
        assert place.size("x/y.json") is None and not place.names(".json")
    assert (place.read("x/y.json"), place.size("x/y.json"), place.size("x")) == (b"1", 1, None)

    class Stopped(Exception):
        pass

    with pytest.raises(Stopped), place.replaced("x/y.json") as beside:
        beside.write_bytes(b"22")
        raise Stopped
    assert not beside.exists()
    assert place.read("x/y.json") == b"1"
    place.write("x/y.json", b"333")
    place.write("w.json", b"")
    place.write("x.txt", b"")
    assert (place.names(), place.names(".json")) == (["w.json", "x.txt", "x/y.json"], ["w.json", "x/y.json"])
    with place.open("x/y.json") as file:
        file.seek(1)
        assert file.read() == b"33"
    place.remove("x/y.json")
    place.remove("x/y.json")
    assert place.names() == ["w.json", "x.txt"]
    with pytest.raises(FileNotFoundError):
        place.open("x/y.json")


def test_what_cannot_be_written_says_where_and_what_to_do(bucket: str, tmp_path: Path) -> None:
    put = tmp_path / "file"
    put.write_bytes(b"")
    for where in (str(put), "s3://nobody-has-made-this"):
        with pytest.raises(Unavailable, match=rf"^{where}/a cannot be written \(.*then run the same command again$"):
            Folder(where).write("a", b"1")
    with pytest.raises(Unavailable, match="No space left"), Folder(str(tmp_path)).replaced("a"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(UsageError, match=r"^odd://b/a cannot be opened .*install what fsspec needs for odd://"):
        Folder("odd://b").write("a", b"1")


def test_a_file_that_another_process_has_replaced_at_the_same_time_is_told_as_such(tmp_path: Path) -> None:
    place = Folder(str(tmp_path))
    with pytest.raises(Unavailable, match="another process may be writing there: let it end"), place.replaced("a"):
        place.write("a", b"2")
    assert place.read("a") == b"2"


def test_a_file_system_that_is_no_store_gets_the_file_under_another_name_first(tmp_path: Path) -> None:
    place = Folder(f"local://{tmp_path}/d")
    assert not place.is_here
    place.write("e/f", b"1")
    place.write("e/f", b"2")
    assert (place.names(), place.read("e/f")) == (["e/f"], b"2")


def test_no_password_is_shown() -> None:
    assert str(Folder("sftp://me:secret@there/a/")) == "sftp://there/a"
    assert shown("see http://u:p@a.example/ there") == "see http://a.example/ there"
    assert is_url("s3://a") and not is_url("s3:/a") and not is_url("/s3://")
