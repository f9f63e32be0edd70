"""The pages that stay are those that the groups name, and each removed page is near to a page that stays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.outcomes import Verdict
from tests.results.groups.scanned import NEAR, crawled, written
from worker.fingerprint.near import AccurateNear
from worker.places import Folder
from worker.results.formats import write_parquet
from worker.results.groups.grouping import Grouping
from worker.results.groups.keep import KEEPS, Keep, kept
from worker.results.groups.nearness import nearness, page_of
from worker.results.groups.verdict_lines import VerdictLines
from worker.results.rows import OF_SCAN, scan_row
from worker.scan.writing.staying import NOWHERE, memory_for, staying
from worker.scan.writing.verdict_columns import VerdictColumns

SEEDS = (3, 8)


def columns(rows: Sequence[Verdict], folder: Path, files: int = 1) -> VerdictColumns:
    (folder / "verdicts").mkdir()
    for number, part in enumerate(np.array_split(np.arange(len(rows)), files)):
        write_parquet(iter([scan_row(rows[row]) for row in part]), OF_SCAN, folder / f"verdicts/{number:03}.parquet")
    return VerdictColumns(Folder(str(folder)))


def varied(rows: Sequence[Verdict]) -> list[Verdict]:
    """The rows, some of which name another page of the crawl, and some of which have a word or two more."""
    urls = sorted({row.url for row in rows})
    named = [urls[(7 * n) % len(urls)] if n % 3 else None for n in range(len(rows))]
    more = [n % 3 * (row.tokens >= 60) for n, row in enumerate(rows)]  # a short text must stay short
    return [
        row.having(canonical=name, tokens=row.tokens + words)
        for row, name, words in zip(rows, named, more, strict=True)
    ]


def by_groups(rows: Sequence[Verdict], folder: Path, keep: Keep) -> tuple[list[bool], list[int], int]:
    """The same from the groups of the lines: which pages stay, which page each removed one is replaced by, and how many
    groups are split."""
    stays, instead, split = [False] * len(rows), [NOWHERE] * len(rows), 0
    with VerdictLines(written(rows, folder)) as lines:
        number = {begin: row for row, (begin, _) in enumerate(lines.rows())}
        for group in Grouping(lines, NEAR.near).groups(1):
            for part in kept(lines, group, keep, NEAR.near):
                if part.page is None:
                    continue
                stays[number[part.page]] = True
                split += part.split_from is not None
                for member in part.members.tolist():
                    instead[number[member]] = number[part.page]
    return stays, instead, split // 2


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("ids", [True, False])
def test_it_is_what_groups_say(keep: Keep, seed: int, ids: bool, tmp_path: Path) -> None:
    rows = varied(crawled(seed, ids=ids).rows)
    if not ids:  # where pages have no ids, the URL is the id
        rows = [row.having(id=row.url, duplicate_of_id=row.duplicate_of) for row in rows]
    found = staying(columns(rows, tmp_path, files=3), keep, NEAR.near, with_originals=True)
    assert found.instead is not None and found.fetched is not None
    assert (found.stays.tolist(), found.instead.tolist(), found.split) == by_groups(rows, tmp_path, keep)
    assert found.fetched.tolist() == [NOWHERE if row.fetched is None else row.fetched for row in rows]
    moved = [row for row in np.flatnonzero(found.stays).tolist() if rows[row].verdict != "unique"]
    assert keep == "longest" or bool(moved) == (keep != "first")
    goes = np.flatnonzero(~found.stays).tolist()
    assert len(goes) > 20
    for row in goes:
        if rows[row].verdict != "dead":
            other = int(found.instead[row])
            assert found.stays[other] and nearness(NEAR.near, page_of(rows[other]), page_of(rows[row])) is not None


def test_without_originals_the_first_ones_stay_and_nothing_else_is_looked_up(tmp_path: Path) -> None:
    rows = crawled(3).rows
    found = staying(columns(rows, tmp_path), "first", None, with_originals=False)
    assert found.stays.tolist() == [row.verdict == "unique" for row in rows]
    assert (found.instead, found.fetched, found.split) == (None, None, 0)


def test_of_an_earlier_scan_s_survivor_no_page_stays(tmp_path: Path) -> None:
    rows = [row for row in crawled(3).rows if row.verdict == "duplicate"]
    found = staying(columns(rows, tmp_path), "longest", NEAR.near, with_originals=False)
    assert not found.stays.any() and found.instead is not None and (found.instead == NOWHERE).all()


@pytest.mark.parametrize("suspect_from", [0, 15])
def test_copies_of_a_suspect_stay_those_too_that_were_judged_before(suspect_from: int, tmp_path: Path) -> None:
    first = Verdict(url="http://a.example/p/0-x", verdict="unique", id="0", file="a", title_hash="0" * 8)
    rows = [first] + [
        Verdict(
            url=f"http://a.example/p/{number}-x",
            verdict="duplicate",
            duplicate_of=first.url,
            suspect=number > suspect_from,
            id=str(number),
            file="a",
            title_hash=f"{number:08x}",
        )
        for number in range(1, 20)
    ]
    assert staying(columns(rows, tmp_path), "first", None, with_originals=False).stays.all()


def test_other_settings_than_the_scan_s_are_refused(tmp_path: Path) -> None:
    verdicts = columns(crawled(8).rows, tmp_path)
    with pytest.raises(UsageError, match="by these settings the two are not near: name the settings of the scan"):
        staying(verdicts, "newest", AccurateNear(k=0, threshold=128, hamming_threshold=128), with_originals=False)


def test_where_no_page_is_called_canonical_nobody_can_prefer_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="take --keep shortest-url"):
        staying(columns(crawled(3).rows, tmp_path), "canonical", NEAR.near, with_originals=False)


def test_damaged_verdicts_are_told_of(tmp_path: Path) -> None:
    rows = [row.having(sketch=row.sketch[:-1]) for row in crawled(8).rows]
    with pytest.raises(UsageError, match=r"the verdicts are damaged \(a word does not have 64 hex digits\)"):
        staying(columns(rows, tmp_path), "newest", NEAR.near, with_originals=False)


def test_a_hundred_million_verdicts_fit_into_twenty_gigabytes() -> None:
    assert memory_for(10**8, 2 * 10**7, "first", with_originals=False) < 1 << 30
    assert memory_for(10**8, 2 * 10**7, "longest", with_originals=True) < 20 << 30
