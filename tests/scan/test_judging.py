"""What is told of a scan while it judges, and what it counts besides pages."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from tests.scan.archives import some_pages, write_jsonl, write_warc
from tests.scan.test_scan import settings
from worker.local import Deduplicator
from worker.results.rows import DEAD_LETTERS, VERDICTS, pageless_records, read_line
from worker.scan.checkpoint import Checkpoint, ScanPlan
from worker.scan.ids import Ids
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.judging import Done, Judging

pytestmark = pytest.mark.usefixtures("read_here")
PAGES = some_pages(3, 20)
PLAN = ScanPlan(archives=[], against=0, fields={}, base=None, base_digest="", keeps=False, clock=0.0)


@pytest.mark.parametrize("against", [0, 1])
def test_each_page_is_told_of_and_what_is_none_is_counted(tmp_path: Path, against: int) -> None:
    lines = write_jsonl(PAGES[:10], tmp_path / "a.jsonl")
    with lines.open("ab") as file:
        file.write(b"no json\n")
    warc = write_warc(PAGES[10:], tmp_path / "b.warc.gz")
    archives = find_archives([str(lines), str(warc)], Fields(), most_bytes=1 << 20)
    plan = structs.replace(PLAN, against=against)
    told: list[Done] = []
    with (
        Deduplicator(config=settings()) as local,
        closing(Ids(tmp_path, 0)) as ids,
        closing(Judging(tmp_path, archives, Checkpoint(plan=plan), local, ids)) as judging,
    ):
        assert judging.run(lambda: False, told.append)
        assert [done.pages for done in told] == [*range(1, 21), 20]
        assert told[-1].broken == 1
        assert told[-1].bytes == lines.stat().st_size + warc.stat().st_size
        assert [end.passed_over for end in judging.ends] == [{}, {"warcinfo": 1}]
        assert judging.ends[1].lengths == {name: (tmp_path / name).stat().st_size for name in (VERDICTS, DEAD_LETTERS)}
        assert ids[19] == "urn:page:9"
    rows = [read_line(line) for line in (tmp_path / VERDICTS).read_bytes().splitlines()]
    assert len(rows) == (10 if against else 20)
    assert sum(row.duplicate_of is not None for row in rows) <= told[-1].copies > 0
    dead = pageless_records((tmp_path / DEAD_LETTERS).read_bytes().splitlines())
    assert [letter.reason for letter in dead] == ([] if against else ["no-json"])
    kept = Checkpoint.read(tmp_path)
    assert kept is not None
    assert (kept.archive, kept.records, kept.judged) == (2, 0, 20)
    assert kept.lengths == {name: (tmp_path / name).stat().st_size for name in (VERDICTS, DEAD_LETTERS)}


def test_many_records_without_a_page_wait_for_no_page_and_a_stop_is_heard_among_them(tmp_path: Path) -> None:
    lines = write_jsonl(PAGES[:1], tmp_path / "a.jsonl")
    with lines.open("ab") as file:
        file.write(
            b"no json, but as long as many another line of a file in which somebody has mixed up two things\n" * 20_000
        )
    (archive,) = find_archives([str(lines)], Fields(), most_bytes=1 << 20)
    half = lines.stat().st_size // 2
    told: list[Done] = []
    with (
        Deduplicator(config=settings()) as local,
        closing(Ids(tmp_path, 0)) as ids,
        closing(Judging(tmp_path, [archive], Checkpoint(plan=PLAN), local, ids)) as judging,
    ):
        assert not judging.run(lambda: archive.bytes_read > half, told.append)
    assert told[0].bytes < half, "the verdict came before all of them were read"
    kept = Checkpoint.read(tmp_path)
    assert kept is not None
    assert 5_000 < kept.records < 15_000
    letters = (tmp_path / DEAD_LETTERS).read_bytes().splitlines()
    assert len(letters) == kept.records - 1
