"""The text of all shown elements of a page, from the project's parser and from lexbor's tree.

Lexbor builds the tree that the standard describes. The tree is turned into the arrays of
``worker.page.elements.markup``, and the same function decides which of their texts are shown, so that only the trees
are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from resiliparse.parse.html import DocumentNode, DOMNode, ElementNode, HTMLTree, NodeType

from worker.page.elements.markup import KIND, Rows, _mark_of, parse
from worker.page.elements.parsed import FROM, TO
from worker.page.elements.vocabulary import (
    BLOCK,
    BREAK,
    ELEMENTS,
    NOT_HTML,
    NOT_HTML_ELEMENTS,
    ROLES,
    SCOPE,
    WORDS,
    bits_of,
    hash_of,
)
from worker.page.main_text.shown import hide
from worker.page.main_text.tally import GONE, OF_ELEMENTS, OF_RUNS, TAKEN

_READ: Final = {"style", "role", "readonly", "disabled", "shadowrootmode"}
"""The attributes that decide whether an element is shown."""


def ours(markup: str) -> list[str]:
    """The shown words in the order of the page, as the project's parser reads it."""
    page = parse(markup)
    return _words(page.body, page.elements, page.runs, page.text)


def lexbors(markup: str) -> list[str]:
    """The shown words in the order of lexbor's tree."""
    body, elements, runs = _arrays(markup)
    texts = bytes(body)
    return _words(body, elements, runs, lambda run: texts[runs[run, FROM] : runs[run, TO]].decode("utf-8", "replace"))


def _words(body: Any, elements: Rows, runs: Rows, text: Callable[[int], str]) -> list[str]:
    known = np.zeros((len(elements), OF_ELEMENTS), dtype=np.int32)
    said = np.zeros((len(runs), OF_RUNS), dtype=np.int32)
    hide(body, elements, runs, True, known, said)
    parts = []
    for run, (_, _, owner, breaks) in enumerate(runs.tolist()):
        parts.append("\n" if breaks else "")
        if not said[run, TAKEN] and not known[owner, GONE]:
            parts.append(text(run))
    return "".join(parts).replace("\0", "").split()


def _arrays(markup: str) -> tuple[Any, Rows, Rows]:
    """Lexbor's tree in the form in which ``parse`` returns the project's tree."""
    made = _Made()
    made.add(_document(markup), 0)
    body = np.frombuffer(bytearray(b"".join(made.texts)), dtype=np.uint8)
    elements = np.array([(0, 0, 0, -1), *made.elements], dtype=np.int32)
    return body, elements, np.array(made.runs or np.zeros((0, 4)), dtype=np.int32)


def _document(markup: str) -> DocumentNode:
    document = HTMLTree.parse(markup).document
    assert document is not None
    return document


def _breaks(kind: int) -> bool:
    return bool(kind & (BLOCK | BREAK) or not kind)


class _Made:
    """Elements, runs and texts so far."""

    def __init__(self) -> None:
        self.elements: list[tuple[int, int, int, int]] = []
        self.runs: list[tuple[int, int, int, int]] = []
        self.texts: list[bytes] = []
        self.length = 0
        self.breaks = True

    def add(self, top: DOMNode, row: int) -> None:
        """Add everything in a node, in its order, without recursion: pages are deeper than Python's stack."""
        pending: list[tuple[DOMNode | None, int, int]] = [(top.first_child, row, BREAK)]
        while pending:
            node, parent, kind = pending.pop()
            if node is None:  # the end of an element of this kind
                self.breaks |= _breaks(kind)
                continue
            if node.next_sibling is not None:
                pending.append((node.next_sibling, parent, 0))
            if node.type == NodeType.TEXT:
                self._add_text(node.text or "", parent)
            elif isinstance(node, ElementNode):
                name = hash_of(node.tag or "")
                kind = self._kind(name, parent)
                self.breaks |= _breaks(kind)
                self.elements.append((name, kind, self._mark(node), parent))
                pending.append((None, parent, kind))
                held: DOMNode = node
                if node.tag == "template":  # its content is not in the tree
                    inner = node.html
                    held = _document(inner[inner.index(">") + 1 :])
                if held.first_child is not None:
                    pending.append((held.first_child, len(self.elements), 0))

    def _add_text(self, text: str, parent: int) -> None:
        encoded = text.encode("utf-8", "replace")
        if encoded:
            self.texts.append(encoded)
            self.runs.append((self.length, self.length + len(encoded), parent, int(self.breaks)))
            self.length += len(encoded)
            self.breaks = self.breaks and not text.strip(" \t\n\r\f")

    def _kind(self, name: int, parent: int) -> int:
        around = self.elements[parent - 1][KIND] if parent else 0
        if around & (NOT_HTML | SCOPE) == NOT_HTML:
            return int(bits_of(NOT_HTML_ELEMENTS, name)) | NOT_HTML
        return int(bits_of(ELEMENTS, name))

    @staticmethod
    def _mark(node: ElementNode) -> int:
        mark = 0
        for name in _READ.intersection(node.attrs):
            encoded = np.frombuffer(bytearray((node.getattr(name) or "").encode("utf-8", "replace")), dtype=np.uint8)
            mark |= _mark_of(encoded, hash_of(name), 0, len(encoded), WORDS, ROLES)
        return mark
