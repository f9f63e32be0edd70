"""Documents that a page carries in the ``srcdoc`` of its frames: mails, chapters of books, articles in a sandbox."""

from __future__ import annotations

from typing import Final

from worker.page.elements.markup import MARK, Rows, parse
from worker.page.elements.parsed import ATTRIBUTE, OF, VALUE_FROM, VALUE_TO, Parsed
from worker.page.elements.vocabulary import MARKED_HIDDEN, hash_of, lean

_SRCDOC: Final = hash_of("srcdoc")


@lean("boolean(int32[:, ::1])", entry=True)
def _has_frames(values: Rows) -> bool:
    """Whether any has a document."""
    found = False
    for row in range(len(values)):
        found |= values[row, ATTRIBUTE] == _SRCDOC
    return found


def with_frames(page: Parsed) -> Parsed:
    """The page with a block in place of each frame that has a document of its own and is not hidden; frames in such
    documents have none. The result is parsed again; it has at most the page's length and some bytes for each frame."""
    if not _has_frames(page.values):
        return page
    rows = (page.values[:, ATTRIBUTE] == _SRCDOC).nonzero()[0].tolist()
    whole = bytes(page.body)
    parts, place = [], 0
    for row in rows:
        of, begin, end = page.values[row, [OF, VALUE_FROM, VALUE_TO]].tolist()
        if page.elements[of, MARK] & MARKED_HIDDEN or begin == end:
            continue
        quote = whole[begin - 1 : begin] if whole[begin - 1 : begin] in (b'"', b"'") else b""
        document = page.value(row).encode("utf-8", "replace")
        # The frame ends before its document, and the text after that in the tag becomes part of another one.
        parts += [whole[place:begin], quote, b"></iframe><div>", document, b"</div><iframe data-rest=", quote]
        place = end
    return parse(b"".join([*parts, whole[place:]]))
