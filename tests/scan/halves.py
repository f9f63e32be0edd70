"""The two halves of a scan, one after the other, as the commands call them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.scan.archives import some_pages
from tests.scan.test_scan import settings
from worker.places import Folder
from worker.scan.fingerprinting import ReadSoFar, fingerprint
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.judging import JudgeTask, judge, record_files

PAGES = some_pages(11, 90)


def untold(done: object) -> None:
    pass


def read(out: Path, *archives: Path, stop: Callable[[], bool] = lambda: False, **changed: Any) -> ReadSoFar | None:
    found = find_archives([str(one) for one in archives], Fields(), most_bytes=1 << 20)
    return fingerprint(found, settings().model_copy(update=changed), Folder(str(out)), stop, untold)


def judged(out: Path, *records: Path, old: tuple[Path, ...] = (), **more: Any) -> dict[str, Any]:
    tell = more.pop("tell", untold)
    chosen = more.pop("settings", settings())
    new, before = (record_files([str(one) for one in names]) for names in (records, old))
    return judge(JudgeTask(target=Folder(str(out)), old=before, new=new, lines=True, **more), chosen, tell)
