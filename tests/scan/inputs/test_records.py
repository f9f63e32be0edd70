"""The promises of every archive, whatever its form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawler_plugin.wire.errors import UsageError
from tests.scan.inputs.written import (
    MOST,
    PACKED,
    archive_of,
    content_of,
    csv_of,
    html,
    jsonl,
    pages_of,
    parquet,
    put,
    rows,
    url,
    warc_of,
)
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.inputs.records import Archive, ArchivedPage, BrokenRecord

COUNT = 25
FORMS: dict[str, Callable[[Path], Path]] = {
    **{f"jsonl{end}": lambda at, end=end: put(at, "a" + end, PACKED[end](jsonl(rows(COUNT)))) for end in PACKED},  # type: ignore[misc]
    **{f"csv{end}": lambda at, end=end: put(at, "a" + end, PACKED[end](csv_of(rows(COUNT)))) for end in PACKED},  # type: ignore[misc]
    **{f"warc{end}": lambda at, end=end: put(at, "a" + end, PACKED[end](warc_of(COUNT))) for end in PACKED},  # type: ignore[misc]
    "warc.gz by record": lambda at: put(at, "a", warc_of(COUNT, packed=True)),
    "parquet": lambda at: parquet(at / "a", rows(COUNT)),
    "parquet zstd": lambda at: parquet(at / "a", rows(COUNT), compression="zstd"),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_pages_come_out_of_every_form_at_every_call(form: str, tmp_path: Path) -> None:
    archive = archive_of(FORMS[form](tmp_path))
    first = list(archive.records())
    pages = [record for record in first if isinstance(record, ArchivedPage)]
    assert [page.page.url for page in pages] == [url(number) for number in range(COUNT)]
    assert [content_of(page) for page in pages] == [html(number) for number in range(COUNT)]
    assert len(first) == COUNT
    assert list(archive.records()) == first
    offsets = [page.place.offset for page in pages]
    assert offsets == sorted(set(offsets))
    assert {page.place.file for page in pages} == {archive.name}
    assert archive.bytes_in_all == archive.bytes_read == Path(archive.name).stat().st_size
    assert archive.form.replace("+", ".").startswith(form.split()[0])


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.integers(0), bit=st.integers(0, 7), cut=st.booleans(), added=st.binary(max_size=40))
def test_no_damage_raises_or_changes_what_another_call_finds(
    form: str, tmp_path: Path, where: int, bit: int, cut: bool, added: bytes
) -> None:
    content = bytearray(FORMS[form](tmp_path).read_bytes())
    where %= len(content)
    content[where] ^= 1 << bit
    content[where:where] = added
    if cut:
        del content[where + 1 :]
    path = put(tmp_path, "damaged", bytes(content))
    try:
        (archive,) = find_archives([str(path)], Fields(), most_bytes=MOST)
    except UsageError:
        return  # nothing in the file tells its kind any more
    found = list(archive.records())
    assert list(archive.records()) == found
    assert all(isinstance(record, ArchivedPage | BrokenRecord) for record in found)


RECORD_BY_RECORD = ["jsonl", "warc", "warc.gz by record"]


@pytest.mark.parametrize("form", RECORD_BY_RECORD)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.integers(0), byte=st.integers(0, 255))
def test_a_byte_that_is_wrong_costs_the_record_that_it_is_in(form: str, tmp_path: Path, where: int, byte: int) -> None:
    content = bytearray(FORMS[form](tmp_path).read_bytes())
    content[where % len(content)] = byte
    suffix = {"jsonl": ".jsonl", "warc": ".warc"}.get(form, ".warc.gz")
    found = pages_of(archive_of(put(tmp_path, "damaged" + suffix, bytes(content))))
    whole = {(page.page.url, content_of_any(page)) for page in found}
    intact = sum((url(number), html(number)) in whole for number in range(COUNT))
    # A lost line end makes one line of two.
    assert intact >= COUNT - (2 if form == "jsonl" else 1)


def content_of_any(page: ArchivedPage) -> str:
    body = page.page.body
    return body.decode(errors="replace") if isinstance(body, bytes) else body or ""


@pytest.mark.parametrize("form", [form for form in FORMS if not form.startswith("parquet")])
def test_what_stands_before_the_end_of_a_file_that_was_cut_is_read(form: str, tmp_path: Path) -> None:
    content = FORMS[form](tmp_path).read_bytes()
    path = put(tmp_path, "cut", content[: len(content) * 3 // 4])
    archive: Archive = archive_of(path)
    found = list(archive.records())
    pages = [record for record in found if isinstance(record, ArchivedPage)]
    assert [content_of(page) for page in pages] == [html(number) for number in range(len(pages))]
    if not form.endswith((".bz2", ".xz", ".zst")):  # those pack these few pages as one block
        assert len(pages) >= COUNT // 2
    reasons = [record.reason for record in found if isinstance(record, BrokenRecord)]
    assert reasons in (["damaged"], ["no-json"], ["no-columns"])
