"""Records are judged: in the order of the files or of fetch times, against what came before, again after a kill."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crawler_plugin.wire.errors import Refused, UsageError
from tests.scan.archives import some_pages, write_jsonl
from tests.scan.test_scan import Killed, after, content, files, rows, run, settings, task
from worker.local import Deduplicator
from worker.places import Folder
from worker.scan.fingerprinting import Read, fingerprint
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.judging import Judged, JudgeTask, judge, record_files
from worker.stream.shard.memory_limit import OverMemoryLimit

pytestmark = pytest.mark.usefixtures("read_here")
PAGES = some_pages(11, 90)


def untold(done: object) -> None:
    pass


def read(out: Path, *archives: Path, stop: Callable[[], bool] = lambda: False, **changed: Any) -> Read | None:
    found = find_archives([str(one) for one in archives], Fields(), most_bytes=1 << 20)
    return fingerprint(found, settings().model_copy(update=changed), Folder(str(out)), stop, untold)


def judged(out: Path, *records: Path, old: tuple[Path, ...] = (), **more: Any) -> dict[str, Any]:
    tell = more.pop("tell", untold)
    chosen = more.pop("settings", settings())
    new, before = (record_files([str(one) for one in names]) for names in (records, old))
    return judge(JudgeTask(target=Folder(str(out)), old=before, new=new, lines=True, **more), chosen, tell)


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("archives")
    parts = [write_jsonl(PAGES[begin : begin + 30], folder / f"{begin:02}.jsonl") for begin in (0, 30, 60)]
    with parts[1].open("ab") as file:
        file.write(b"no json\n")
    return parts


@pytest.fixture
def records(tmp_path: Path, archives: list[Path]) -> Path:
    assert read(tmp_path / "records", *archives) is not None
    return tmp_path / "records"


@pytest.fixture(scope="module")
def scanned(archives: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("worker.local.deduplicator.PAGES_AHEAD", 8)
        folder = tmp_path_factory.mktemp("scanned")
        assert run(task(folder, *archives)) is not None
    return folder


def test_verdicts_are_those_of_a_scan(tmp_path: Path, records: Path, scanned: Path) -> None:
    found = judged(tmp_path / "out", records)
    for name in ("verdicts.jsonl", "dead-letters.jsonl"):
        assert (tmp_path / "out" / name).read_bytes() == (scanned / name).read_bytes()
    assert pq.read_table(tmp_path / "out" / "verdicts") == pq.read_table(scanned / "verdicts.parquet")
    whole = json.loads((scanned / "summary.json").read_text())
    assert {name: found[name] for name in ("pages", "verdicts", "archives", "inputs", "settings")} == {
        name: whole[name] for name in ("pages", "verdicts", "archives", "inputs", "settings")
    }
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "dead-letters.jsonl", "summary.json", "verdicts", "verdicts.jsonl",
    ]  # fmt: skip


def test_what_is_whole_is_not_read_again_and_what_was_interrupted_is(tmp_path: Path, archives: list[Path]) -> None:
    out = tmp_path / "records"
    assert read(out, *archives, stop=after(50)) is None
    assert [path.name for path in out.iterdir()] == ["00.jsonl.parquet"]
    (out / "00.jsonl.parquet").touch()
    again = read(out, *archives)
    assert again is not None
    assert (again.files, again.whole, again.records, again.dead) == (2, 1, 61, 1)
    with pytest.raises(Refused, match="records of the same archive, read with other settings"):
        read(out, archives[0], features=settings().features.model_copy(update={"minimum": 4}))
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
        "pages.jsonl-2.parquet", "pages.jsonl.parquet",
    ]  # fmt: skip


def test_killed_at_any_time_it_comes_to_the_same_when_it_is_run_again(tmp_path: Path, records: Path) -> None:
    state = tmp_path / "state"

    def die(done: Judged) -> None:
        if done.records >= 60:
            raise Killed

    whole, out = tmp_path / "whole", tmp_path / "out"
    judged(whole, records)
    for _ in range(2):
        with pytest.raises(Killed):
            judged(out, records, tell=die, states=[state], keeps=True)
    (out / "verdicts").mkdir(exist_ok=True)
    (out / "verdicts" / "00007.parquet").write_bytes(b"of a run with smaller parts")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr("worker.scan.judge.base_state.BaseState.replace_by", lambda *arguments: die(Judged(60)))
        judged(out, records, states=[state], keeps=True)
    judged(out, records, states=[state], keeps=True)
    assert files(out) == files(whole)
    with Deduplicator(state, settings()) as local:
        assert local.judged == len(PAGES)
    with pytest.raises(UsageError, match="complete verdicts"):
        judged(out, records)


@pytest.mark.parametrize("ttl", [None, 0.5])
def test_in_the_order_of_fetch_times_it_judges_what_a_scan_of_that_order_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ttl: float | None
) -> None:
    monkeypatch.setattr("worker.scan.judge.external_sort._AT_ONCE", 16)
    times = [(number * 37 % len(PAGES)) * 3_600_000 for number in range(len(PAGES))]
    pages = [replace(page, fetched=time) for page, time in zip(PAGES, times, strict=True)]

    def written(order: list[int], name: str) -> Path:
        lines = (
            {"id": number, "url": pages[number].url, "html": pages[number].body, "fetched": pages[number].fetched}
            for number in order
        )
        (tmp_path / name).write_text("\n".join(map(json.dumps, lines)))
        return tmp_path / name

    chosen = settings().model_copy(update={"near": settings().near.model_copy(update={"ttl_days": ttl})})
    in_time = sorted(range(len(PAGES)), key=times.__getitem__)
    read(tmp_path / "records", written(list(range(45)), "a.jsonl"), written(list(range(45, 90)), "b.jsonl"))
    read(tmp_path / "sorted", written(in_time, "c.jsonl"))
    judged(tmp_path / "out", tmp_path / "records", by_fetch_time=True, settings=chosen)
    judged(tmp_path / "expected", tmp_path / "sorted", settings=chosen)

    def fates(folder: Path) -> dict[str | None, tuple[Any, ...]]:
        return {row.id: (row.verdict, row.duplicate_of_id, row.reason, row.distance) for row in rows(folder)}

    assert fates(tmp_path / "out") == fates(tmp_path / "expected")
    assert [row.id for row in rows(tmp_path / "out")] == [str(number) for number in range(90)]
    judged(tmp_path / "files", tmp_path / "records", settings=chosen)
    assert fates(tmp_path / "files") != fates(tmp_path / "out")


def test_several_states_and_old_records_come_before(tmp_path: Path, archives: list[Path], scanned: Path) -> None:
    name = [tmp_path / "records" / f"{archive.name}.parquet" for archive in archives]
    for number, archive in enumerate(archives):
        read(tmp_path / "records", archive)
        judged(
            tmp_path / f"{number}",
            tmp_path / "records" / f"{archive.name}.parquet",
            states=[tmp_path / f"s{number}"],
            keeps=True,
        )
    name = [tmp_path / "records" / f"{archive.name}.parquet" for archive in archives]
    judged(tmp_path / "by-records", name[2], old=(name[0], name[1]))
    judged(tmp_path / "by-states", name[2], states=[tmp_path / "s0", tmp_path / "s1"])
    judged(tmp_path / "by-both", name[2], old=(name[1],), states=[tmp_path / "s0"])
    last = [(row.id, row.verdict, row.duplicate_of, row.duplicate_of_id) for row in rows(scanned)][60:]
    for way in ("by-records", "by-states", "by-both"):
        assert [(row.id, row.verdict, row.duplicate_of, row.duplicate_of_id) for row in rows(tmp_path / way)] == last
    assert run(task(tmp_path / "scan", archives[2], states=[tmp_path / "s0", tmp_path / "s1"])) is not None
    assert rows(tmp_path / "scan") == rows(tmp_path / "by-states")


def test_another_predicate_reads_no_page_again_and_other_reading_is_refused(
    tmp_path: Path, records: Path, archives: list[Path]
) -> None:
    simhash = settings().model_copy(update={"near": settings().near.model_copy(update={"predicate": "simhash"})})
    judged(tmp_path / "out", records, settings=simhash)
    found = find_archives([str(one) for one in archives], Fields(), most_bytes=1 << 20)
    with Deduplicator(config=simhash) as local:
        pages = (record.page for one in found for record in one.records() if hasattr(record, "page"))
        verdicts = [verdict for _, verdict in local.judge_found(pages)]
    assert [
        (row.verdict, row.duplicate_of, row.distance, row.similarity, row.sketch) for row in rows(tmp_path / "out")
    ] == [(one.verdict, one.duplicate_of, one.distance, one.similarity, one.sketch) for one in verdicts]
    other = settings().model_copy(update={"features": settings().features.model_copy(update={"minimum": 4})})
    with pytest.raises(Refused, match=r"made with other settings: features\.minimum is 4 here and 3 there"):
        judged(tmp_path / "other", records, settings=other)


def test_records_that_another_program_wrote_are_taken_and_what_is_none_is_named(tmp_path: Path, records: Path) -> None:
    table = pa.concat_tables(pq.read_table(file) for file in sorted(records.glob("*.parquet")))
    plain = table.replace_schema_metadata().set_column(0, "file", table.column("file").cast(pa.large_string()))
    (tmp_path / "engine").mkdir()
    pq.write_table(plain, tmp_path / "engine" / "part-0.parquet", row_group_size=7)
    judged(tmp_path / "ours", records)
    judged(tmp_path / "theirs", tmp_path / "engine")
    for name in ("verdicts.jsonl", "dead-letters.jsonl"):
        assert content(tmp_path / "ours" / name) == content(tmp_path / "theirs" / name)
    pq.write_table(plain.drop_columns(["bands"]), tmp_path / "odd.parquet")
    with pytest.raises(UsageError, match="no column 'bands'"):
        judged(tmp_path / "1", tmp_path / "odd.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "odd.parquet").read_bytes()[:-9])
    with pytest.raises(UsageError, match="cannot be read as records"):
        judged(tmp_path / "2", tmp_path / "cut.parquet")
    with pytest.raises(UsageError, match="no column 'dead'"):
        judged(tmp_path / "3", tmp_path / "ours")
    for column, said in (("text_hash", "without text_hash"), ("url", "neither a URL nor a reason")):
        place, kind = plain.schema.get_field_index(column), plain.schema.field(column).type
        lacking = plain.set_column(place, column, pa.nulls(len(plain), kind))
        pq.write_table(lacking, tmp_path / "odd.parquet")
        with pytest.raises(UsageError, match=said):
            judged(tmp_path / column, tmp_path / "odd.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no records are in"):
        judged(tmp_path / "3", tmp_path / "empty")
    others = table.set_column(table.schema.get_field_index("scheme"), "scheme", pa.array(["00" * 8] * len(table)))
    pq.write_table(others.replace_schema_metadata(), tmp_path / "others.parquet")
    with pytest.raises(Refused, match="their scheme is 0000000000000000"):
        judged(tmp_path / "4", tmp_path / "others.parquet")


def test_memory_that_does_not_suffice_is_said_with_what_would(tmp_path: Path, records: Path) -> None:
    table = pq.read_table(records / "00.jsonl.parquet")
    chance, count = np.random.default_rng(1), 60_000
    random = {
        name: pa.array(chance.integers(-(2**62), 2**62, count)) for name in ("fingerprint", "text_hash", "title_words")
    }
    random |= {name: pa.array([chance.bytes(32) for _ in range(count)]) for name in ("sketch", "bands")}
    random |= {"url": pa.array([f"http://a.example/{number}" for number in range(count)])}
    first = table.slice(0, 1).to_pylist()[0]
    columns = [random.get(field.name, pa.array([first[field.name]] * count, field.type)) for field in table.schema]
    pq.write_table(pa.table(columns, schema=table.schema), tmp_path / "many.parquet")
    small = settings().model_copy(update={"index": settings().index.model_copy(update={"memory_mb": 12})})
    with pytest.raises(OverMemoryLimit, match=r"of 60,000 records are judged; all of them need about \d\d MiB"):
        judged(tmp_path / "out", tmp_path / "many.parquet", settings=small)
