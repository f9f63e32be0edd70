"""Copies that were begun, are whole, or are another's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.files import HeldFile
from tests.scan.inputs.written import put
from tests.scan.writing.judged import content_of_all, copies, verdicts, write
from worker.places import Folder
from worker.scan.inputs.records import Archive
from worker.scan.writing.copy_paths import PROGRESS


def test_parts_write_together_what_one_writes_and_whole_copies_are_not_written_again(
    many: list[Archive], tmp_path: Path
) -> None:
    judged_as = verdicts(many, lambda number: number % 2 == 0)
    done, _ = write(tmp_path / "whole", many, judged_as)
    assert (done.archives, done.before, done.pages, done.stay) == (4, 0, 15, 8)
    out, removed = tmp_path / "out", Folder(str(tmp_path / "removed"))
    for number in (3, 1, 2):
        part, told = write(out, many, judged_as, part=(number, 3), removed=removed)
        assert part.before == 0 and part.archives == len(told) == (2 if number == 1 else 1)
    assert content_of_all(out) == content_of_all(tmp_path / "whole")
    assert sorted(content_of_all(out)) == ["a-2.jsonl", "a.jsonl", "a.warc.gz", "in/b/c.html"]
    gone = ["a-2.jsonl", "a.jsonl", "a.warc.gz", "in/a.html", "in/d.html"]
    assert sorted(content_of_all(tmp_path / "removed")) == gone
    times = {path: path.stat().st_mtime_ns for path in copies(out)}
    again, _ = write(out, many, judged_as, removed=removed)
    assert (again.archives, again.before, again.pages, again.stay) == (4, 4, 15, 8)
    assert {path: path.stat().st_mtime_ns for path in copies(out)} == times
    assert not list(tmp_path.rglob("*.lock")) and not list(tmp_path.rglob("*.tmp"))


def test_what_was_decided_otherwise_and_what_others_have_put_there_is_left_alone(
    many: list[Archive], tmp_path: Path
) -> None:
    judged_as = verdicts(many, lambda number: number % 2 == 0)
    write(tmp_path / "out", many, judged_as)
    before = content_of_all(tmp_path / "out")
    with pytest.raises(Refused, match=r"out/a.jsonl was written with other decisions, .* name another --out"):
        write(tmp_path / "out", many, verdicts(many, lambda number: number % 2 == 1))
    with pytest.raises(Refused, match="was written with other decisions"):
        write(tmp_path / "out", many, judged_as, removed=Folder(str(tmp_path / "removed")))
    assert content_of_all(tmp_path / "out") == before
    for name in ("a.jsonl", "in/b/c.html"):
        path = put(tmp_path / "of others", name, b"mine")
        with pytest.raises(Refused, match=rf"of others/{name} is there already, and this command did not write it"):
            write(path.parents[name.count("/")], many, judged_as)
        assert path.read_bytes() == b"mine"
        shutil.rmtree(tmp_path / "of others")


@pytest.mark.parametrize("damaged", [b"", b"{", b"\xff", b"[" * 99_999, b'{"decisions": 1}'])
def test_progress_that_cannot_be_read_is_refused_and_removed_it_is_written_anew(
    damaged: bytes, many: list[Archive], tmp_path: Path
) -> None:
    judged_as = verdicts(many, lambda number: number % 2 == 0)
    write(tmp_path / "out", many, judged_as)
    before = content_of_all(tmp_path / "out")
    progress = tmp_path / "out" / PROGRESS / "a.jsonl.json"
    progress.write_bytes(damaged)
    with pytest.raises(Refused, match=r"a.jsonl.json does not say how far the copy is .* remove it and .*/out/a.jsonl"):
        write(tmp_path / "out", many, judged_as)
    progress.unlink()
    (tmp_path / "out" / "a.jsonl").unlink()
    write(tmp_path / "out", many, judged_as)
    assert content_of_all(tmp_path / "out") == before


def test_ended_at_any_file_it_goes_on_and_leaves_the_same_ones(
    many: list[Archive], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_as = verdicts(many, lambda number: number % 2 == 0)
    whole, removed = tmp_path / "whole", Folder(str(tmp_path / "whole-removed"))
    write(whole, many, judged_as, removed=removed)
    files, ended_at = 0, (0, 0)
    replaced = Folder.replaced

    class Killed(BaseException):
        """The process ends here."""

    @contextmanager
    def ends(folder: Folder, name: str) -> Iterator[Path]:
        nonlocal files
        files += 1
        with replaced(folder, name) as beside:
            yield beside
            if files == ended_at[0]:
                raise Killed
        if files == ended_at[1]:
            raise Killed

    monkeypatch.setattr(Folder, "replaced", ends)
    for number in (1, 2, 3, 4, 9, 12, 18):
        out, gone = tmp_path / f"out-{number}", Folder(str(tmp_path / f"gone-{number}"))
        for before, behind in ((number, 0), (0, number)):
            files, ended_at = 0, (before, behind)
            with suppress(Killed):
                write(out, many, judged_as, removed=gone)
        ended_at = (0, 0)
        write(out, many, judged_as, removed=gone)
        assert content_of_all(out) == content_of_all(whole)
        assert content_of_all(Path(gone.where)) == content_of_all(Path(removed.where))
        shutil.rmtree(out)
        shutil.rmtree(gone.where)


def test_a_second_process_that_writes_the_same_copy_is_refused(many: list[Archive], tmp_path: Path) -> None:
    lock = tmp_path / "out" / PROGRESS / "a.jsonl.lock"
    lock.parent.mkdir(parents=True)
    with HeldFile(lock), pytest.raises(Refused, match="held by another process, which writes the same copy"):
        write(tmp_path / "out", many, verdicts(many, lambda _: True))
