"""Other judgements from the same records, and judgements that are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crawler_plugin.wire.errors import Refused
from tests.scan.halves import judged
from tests.scan.test_scan import rows, settings
from worker.local import Deduplicator
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.stream.shard.memory_limit import OverMemoryLimit

pytestmark = pytest.mark.usefixtures("read_here")


def test_another_predicate_reads_no_page_again_and_other_reading_is_refused(
    tmp_path: Path, records: Path, three_archives: list[Path]
) -> None:
    simhash = settings().model_copy(update={"near": settings().near.model_copy(update={"predicate": "simhash"})})
    judged(tmp_path / "out", records, settings=simhash)
    found = find_archives([str(one) for one in three_archives], Fields(), most_bytes=1 << 20)
    with Deduplicator(config=simhash) as local:
        pages = (record.page for one in found for record in one.records() if hasattr(record, "page"))
        verdicts = [verdict for _, verdict in local.judge_found(pages)]
    assert [
        (row.verdict, row.duplicate_of, row.distance, row.similarity, row.sketch) for row in rows(tmp_path / "out")
    ] == [(one.verdict, one.duplicate_of, one.distance, one.similarity, one.sketch) for one in verdicts]
    other = settings().model_copy(update={"features": settings().features.model_copy(update={"minimum": 4})})
    with pytest.raises(Refused, match=r"made with other settings: features\.minimum is 4 here and 3 there"):
        judged(tmp_path / "other", records, settings=other)


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
