"""Documents → the data that each method keeps of them: once each, in the processes that parse a worker's pages."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from crawler_plugin.wire.errors import PageError
from crawler_plugin.wire.page_headers import PageMeta
from worker.evaluate.labels.labelled import META, Document, Field
from worker.evaluate.methods import Method
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.page.extract import Extracted, Extractor
from worker.page.main_text.content import main_content
from worker.pool.process_pool import ProcessPool

_WARM_UP: Final = "first words, in which dictionaries are read and machine code is made 第一次分词会加载词典"


class Parsers(NamedTuple):
    """How many processes parse, and the limits for a page: as in ``ProcessPool``."""

    processes: int
    timeout_seconds: float
    memory_bytes: int


_Made = tuple[float, int, tuple[tuple[Any, float], ...]]
"""``Kept`` on its way from a parsing process, its methods in the order in which they were given."""


class Kept(NamedTuple):
    """The result for one document: CPU seconds of extracting its text, its tokens, and by method the data that it keeps
    and the CPU seconds from the text to that data."""

    extraction: float
    tokens: int
    by_method: Mapping[str, tuple[Any, float]]


@dataclass(frozen=True)
class Collection:
    """The results for the documents, by id. ``unreadable`` are those that could not be read as pages, with the
    reason."""

    kept: Mapping[str, Kept]
    unreadable: Mapping[str, PageError]

    def of(self, key: str, method: Method) -> Any:
        """The data that the method keeps of a document, None if the document could not be read."""
        kept = self.kept.get(key)
        return None if kept is None else kept.by_method[method.name][0]

    def tokens(self, *keys: str) -> int:
        """The tokens of the longest of these documents."""
        return max(self.kept[key].tokens if key in self.kept else 0 for key in keys)

    def seconds(self, method: Method) -> float:
        """CPU seconds for a document from its text to the data that the method keeps, on average."""
        return _mean(kept.by_method[method.name][1] for kept in self.kept.values())

    def extraction_seconds(self) -> float:
        """CPU seconds for extracting a document's text, on average."""
        return _mean(kept.extraction for kept in self.kept.values())

    def kept_bytes(self, method: Method) -> float:
        """The bytes that the method keeps of a document, on average."""
        return _mean(float(method.kept_bytes(kept.by_method[method.name][0])) for kept in self.kept.values())


def collect(
    documents: Mapping[str, Document],
    compared: Field,
    recipe: Recipe,
    methods: Sequence[Method],
    parsers: Parsers,
    extractor: Extractor = main_content,
) -> Collection:
    """Parse every document, and let ``extractor`` find its main content. A document that breaks its parser costs only
    itself.

    Raises:
        UsageError, Unavailable: parsers cannot be started.
    """
    kept: dict[str, Kept] = {}
    unreadable: dict[str, PageError] = {}
    fields: Any = tuple
    made = fields[float, int, fields[tuple(fields[method.keeps, float] for method in methods)]]
    names = [method.name for method in methods]
    pool: ProcessPool[str, _Made] = ProcessPool(
        partial(_Keeper, recipe, tuple(methods), extractor),
        made,
        processes=parsers.processes,
        timeout_seconds=parsers.timeout_seconds,
        memory_bytes=parsers.memory_bytes,
        result_bytes=parsers.memory_bytes,
    )
    meta = META[compared]
    pages = (
        (key, document.body.encode("utf-8", "replace"), meta.at(document.url or f"document:{key}"))
        for key, document in documents.items()
    )
    with pool:
        for key, result in pool.each(pages):
            if isinstance(result, PageError):
                unreadable[key] = result
            else:
                extraction, tokens, by_method = result
                kept[key] = Kept(extraction, tokens, dict(zip(names, by_method, strict=True)))
    return Collection(kept, unreadable)


class _Keeper:
    """The task of a parsing process."""

    def __init__(self, recipe: Recipe, methods: tuple[Method, ...], extractor: Extractor) -> None:
        self._fingerprinter = Fingerprinter(recipe)
        self._extractor = extractor
        self._makers = [method.maker() for method in methods]
        for make in self._makers:
            make(Extracted(_WARM_UP, "utf-8"), "", b"")

    def __call__(self, body: bytes, meta: PageMeta) -> _Made:
        begun = time.thread_time()
        page = self._fingerprinter.read(body, meta, self._extractor)
        extraction = time.thread_time() - begun
        by_method = []
        for make in self._makers:
            begun = time.thread_time()
            kept = make(page, meta.url, body)
            by_method.append((kept, time.thread_time() - begun))
        tokens = len(self._fingerprinter.reader.tokens(page.text).words)
        return extraction, tokens, tuple(by_method)


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0
