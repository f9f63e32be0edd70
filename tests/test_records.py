"""Records that any engine makes."""

from __future__ import annotations

import pickle
from functools import partial

import pyarrow as pa

from worker import records
from worker.config import Settings


def test_it_can_be_sent_to_other_processes_with_its_settings() -> None:
    other = Settings.model_validate({"features": {"minimum": 4}})
    page = pa.RecordBatch.from_pylist([{"url": "http://a.example/", "text": "three words only"}])
    task = pickle.loads(pickle.dumps(partial(records.fingerprint, settings=other)))
    (one,), (by_default,) = task(page).to_pylist(), records.fingerprint(page).to_pylist()
    assert one["scheme"] != by_default["scheme"]
    assert one["text_hash"] == by_default["text_hash"]
