"""Settings → a few pages read in a separate process, for commands that show them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from crawler_plugin.wire.errors import PageError
from crawler_plugin.wire.page_headers import PageMeta
from worker.compose.kernels import compile_apart
from worker.compose.machine import MIB
from worker.config import PageSettings
from worker.pool.process_pool import ProcessPool

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


def parsed(
    task: Callable[[], Callable[[bytes, PageMeta], T]],
    result: type[T],
    page: PageSettings,
    pages: Iterable[tuple[K, bytes, PageMeta]],
) -> Iterator[tuple[K, T | PageError]]:
    """The task's result for each of a few pages, with its key, in any order.

    They are read one after the other in a process that ends if a page is made to break parsers.

    Args:
        task: picklable; called in that process, it returns the task, whose results are of the type ``result``.
    """
    compile_apart()  # otherwise the process would compile alone, and tell nobody
    memory = page.memory_mb * MIB
    with ProcessPool[K, T](
        task,
        result,
        processes=1,
        timeout_seconds=page.timeout_seconds,
        memory_bytes=memory,
        result_bytes=memory,
    ) as pool:
        yield from pool.each(pages)
