"""An export is taken whole or not at all, and the error says what is wrong with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from crawler_plugin.wire.errors import Refused, UsageError
from tests.operations.test_copy_index import entries, grown
from tests.scan.test_exporting import SCHEME, exported
from worker.fingerprint.scheme import Scheme
from worker.places import Folder
from worker.scan import exporting
from worker.scan.records.exported import MANIFEST, whole


@pytest.fixture
def export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setattr(exporting, "_FILE_ROWS", 30)
    exported(grown(1), tmp_path)
    assert len([*tmp_path.iterdir()]) > 2
    return Folder(str(tmp_path))


def test_survivors_come_back_as_they_were(export: Folder) -> None:
    found = whole(export, SCHEME)
    assert [survivor for _, _, survivor in found.rows()] == entries(grown(1))
    assert [order for order, _, _ in found.rows()] == [survivor.order for survivor in entries(grown(1))]


@pytest.mark.parametrize("name", ["00000.parquet", "00001.parquet", MANIFEST])
@pytest.mark.parametrize("harm", ["flipped", "cut", "gone"])
def test_what_is_damaged_or_missing_is_named(export: Folder, name: str, harm: str) -> None:
    file = Path(export.path(name))
    content = bytearray(file.read_bytes())
    if harm == "gone":
        file.unlink()
    else:
        content[len(content) // 2] ^= 1
        file.write_bytes(content if harm == "flipped" else content[:-1])
    if (name, harm) == (MANIFEST, "gone"):
        with pytest.raises(UsageError, match=r"has no _export\.json.*run `python -m worker index export` again"):
            whole(export, SCHEME)
    else:
        with pytest.raises(Refused, match=rf"{name} .*is (damaged|missing).*copy it again"):
            whole(export, SCHEME)


def test_no_flipped_bit_of_the_manifest_goes_unseen(export: Folder) -> None:
    file = Path(export.path(MANIFEST))
    content = file.read_bytes()
    for place in range(0, len(content), 11):
        file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            assert [*whole(export, SCHEME).rows()]
        except Refused:
            continue
        pytest.fail(f"byte {place} of {len(content)}, {content[place : place + 1]!r}")


def test_a_manifest_that_is_not_utf_8_is_damaged(export: Folder) -> None:
    Path(export.path(MANIFEST)).write_bytes(b'{"sha256": "\xff"}')
    with pytest.raises(Refused, match=r"is damaged.*copy it again"):
        whole(export, SCHEME)


def test_an_export_of_other_settings_is_for_seed(export: Folder) -> None:
    other = Scheme.of({**dict(SCHEME.entries), "near.k": 2})
    with pytest.raises(Refused, match=r"with other settings: near\.k.*`python -m worker index seed "):
        whole(export, other)


def test_files_that_are_no_export_are_refused_though_their_digest_is_right(export: Folder) -> None:
    manifest = msgspec.json.decode(Path(export.path(MANIFEST)).read_bytes())["manifest"]
    assert manifest["files"]
    found = whole(export, SCHEME)
    Path(export.path("00000.parquet")).write_bytes(b"PAR1 no records PAR1")
    with pytest.raises(UsageError, match=r"00000\.parquet cannot be read as records"):
        [*replace(found).rows()]
