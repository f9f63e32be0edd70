"""Makes fingerprints in the process that asks for them."""

from __future__ import annotations

from typing import Final

from crawler_plugin.wire.errors import PageError
from crawler_plugin.wire.page_headers import PageMeta
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.fingerprinter import Fingerprinter
from worker.pool.process_pool import PoolUsage
from worker.stream.partition.fingerprint_pool import Source


class InProcess:
    """Replaces a pool of processes where a caller asks for one page at a time.

    A page is read when it is submitted. Nothing bounds its time and memory.
    """

    usage: Final = PoolUsage()

    def __init__(self, fingerprinter: Fingerprinter) -> None:
        self._fingerprinter = fingerprinter
        self._done: list[tuple[Source, Fingerprinted | PageError]] = []

    @property
    def capacity(self) -> int:
        """There is always room: nothing waits."""
        return 1

    @property
    def outstanding(self) -> int:
        """Pages that were submitted and not collected yet."""
        return len(self._done)

    def submit(self, key: Source, body: bytes, meta: PageMeta) -> None:
        """Read the page. An exception becomes its result, as in a process of the pool."""
        result: Fingerprinted | PageError
        try:
            result = self._fingerprinter(body, meta)
        except PageError as error:
            result = error
        except MemoryError:
            result = PageError("parser-memory", "it needs more memory than there is")
        except Exception as error:
            result = PageError("parser-raised", f"{type(error).__name__}: {error}")
        self._done.append((key, result))

    def results(self, timeout: float = 0.0) -> list[tuple[Source, Fingerprinted | PageError]]:
        """All results since the last call."""
        done, self._done = self._done, []
        return done
