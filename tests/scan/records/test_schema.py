"""The values that a record must have, and those that must be equal in all records."""

from __future__ import annotations

import pyarrow as pa
import pytest

from crawler_plugin.wire.errors import Refused, UsageError
from worker.fingerprint.scheme import Scheme
from worker.scan.inputs.records import BrokenRecord, RecordPlace
from worker.scan.records.schema import SCHEMA, as_records, pageless_row, refuse_incomplete, refuse_others, stamped

SCHEME = Scheme.of({"records": 1, "features.minimum": 3})
RECORDS = as_records([pageless_row(BrokenRecord(RecordPlace("a", 0), "damaged", "torn"), "00")], SCHEMA)


def without(name: str) -> pa.RecordBatch:
    place = SCHEMA.get_field_index(name)
    return RECORDS.set_column(place, name, pa.nulls(len(RECORDS), SCHEMA.field(name).type))


@pytest.mark.parametrize("name", ["file", "text_hash", "bands", "doubt", "scheme"])
def test_a_record_that_lacks_what_every_one_has_is_refused(name: str) -> None:
    refuse_incomplete("a.parquet", RECORDS)
    with pytest.raises(UsageError, match=f"a.parquet holds a record without {name}"):
        refuse_incomplete("a.parquet", without(name))


def test_a_record_of_no_page_says_why() -> None:
    with pytest.raises(UsageError, match="neither a URL nor a reason"):
        refuse_incomplete("a.parquet", without("dead"))


def test_records_of_another_scheme_are_refused_with_what_differs_where_it_is_known() -> None:
    refuse_others("a", stamped(SCHEME), [SCHEME.id.hex()], SCHEME)
    other = Scheme.of({"records": 1, "features.minimum": 4})
    with pytest.raises(Refused, match=r"features\.minimum is 4 here and 3 there"):
        refuse_others("a", stamped(SCHEME), [SCHEME.id.hex()], other)
    with pytest.raises(Refused, match=f"their scheme is {SCHEME.id.hex()}"):
        refuse_others("a", SCHEMA, [SCHEME.id.hex()], other)
    with pytest.raises(UsageError, match="no column 'bands'"):
        refuse_others("a", SCHEMA.remove(SCHEMA.get_field_index("bands")), [], SCHEME)
