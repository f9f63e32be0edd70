"""From files of rows with all oddities, as many pages are read as an independent reader finds, and the rest is
named."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.scan.inputs.row_files import RowFile, row_files
from tests.scan.inputs.written import MOST, archive_of, broken_of, pages_of, put, write_kept
from worker.places import Folder
from worker.scan.inputs.files import PageFiles
from worker.scan.writing.write import refuse_unwritable

FILES = row_files()


def test_there_are_sixty_and_they_are_the_same_in_every_run() -> None:
    assert len({file.name for file in FILES}) == len(FILES) >= 60 and row_files() == FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_each_record_is_a_page_or_is_named_with_its_reason(file: RowFile, tmp_path: Path) -> None:
    named = {"file_encoding": file.encoding} if file.encoding else {}
    archive = archive_of(put(tmp_path, file.name, file.content), MOST, **named)
    assert not isinstance(archive, PageFiles)
    pages, dead = pages_of(archive), Counter(one.reason for one in broken_of(archive))
    assert (len(pages), dead) == (file.pages, file.dead)
    assert len({page.place for page in pages}) == len(pages) and not archive.passed_over
    refuse_unwritable([archive], Folder(str(tmp_path / "out")))
    copy = tmp_path / "out" / file.name
    assert write_kept(archive, copy, lambda page: page.place.offset != pages[0].place.offset) == []
    kept = pages_of(archive_of(copy, MOST, **named)) if pages[1:] else []
    assert [(page.page.body, page.page.text) for page in kept] == [(one.page.body, one.page.text) for one in pages[1:]]
