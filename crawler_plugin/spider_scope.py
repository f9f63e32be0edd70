"""The scope in which a spider began anew (``-a dedup_reset=1``), which is kept from one crawl to the next.

The scope's name is the spider's and the time. Two files hold it:

===========================  ===========================================================================================
``dedup-SPIDER.scope``       of the spider, in the working directory like its spool: its later crawls use that scope
``dedup.scope`` in JOBDIR    of the job: where it exists, a resumed job keeps this scope, whatever its arguments say
===========================  ===========================================================================================
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from scrapy import Spider

from crawler_plugin.config.kinds import YES_OR_NO
from crawler_plugin.crawl_log import CrawlLog
from crawler_plugin.wire.errors import Refused, UsageError
from crawler_plugin.wire.files import replaced

RESET: Final = "dedup_reset"
OF_JOB: Final = "dedup.scope"


def scope_of_crawl(spider: Spider | None, job_dir: str | None, now_ms: int, log: CrawlLog) -> str | None:
    """The scope of all pages of this crawl; None where its spider has never begun anew.

    Raises:
        UsageError: the argument is neither yes nor no.
        Refused: a file cannot be read or written, so that the next crawl would be in another scope.
    """
    name = "" if spider is None else spider.name
    of_spider = Path(f"dedup-{name.replace('/', '_')}.scope")
    of_job = None if job_dir is None else Path(job_dir) / OF_JOB
    is_reset = _is_asked(spider)
    try:
        if of_job is not None and (scope := _read(of_job)):
            return scope
        scope = f"{name}@{now_ms}" if is_reset else _read(of_spider)
        if is_reset:
            _write(of_spider, scope)
        if of_job is not None and scope:
            _write(of_job, scope)
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(
            f"{RESET}: the scope of spider {name!r} cannot be kept ({error}): it is in {of_spider.absolute()} and, "
            f"for a JOBDIR, in its file {OF_JOB}; see that both can be read and written"
        ) from error
    if is_reset:
        log.say(
            logging.INFO,
            f"{RESET}: pages are compared only with those that this spider fetches from now on, in scope {scope!r}; "
            f"{of_spider.absolute()} keeps the scope for later crawls: remove that file to compare as before",
        )
    return scope or None


def _is_asked(spider: Spider | None) -> bool:
    told = getattr(spider, RESET, False)
    try:
        asked: bool = YES_OR_NO.read(told)
    except LookupError:
        raise UsageError(f"-a {RESET}={told!r}: write 1 or 0 (True or False)") from None
    return asked


def _read(path: Path) -> str:
    """The file's text; empty where there is no file."""
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""


def _write(path: Path, scope: str) -> None:
    with replaced(path) as beside:
        beside.write_text(scope + "\n", encoding="utf-8")
