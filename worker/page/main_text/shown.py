"""Which text of a page browsers show (HTML Living Standard, section 15, Rendering), whatever it is about.

Most elements are shown or not by their name alone, as in ``vocabulary``. The others:

- A ``<template>`` is shown if it is a shadow root, and then its host shows its other content only if the root has a
  ``<slot>``. A ``<textarea>`` is text if no user may write in it, but not if it holds markup: that is there to be
  copied, often the markup of the very article around it.
- Of a drawing only the content of ``<text>`` is, and HTML in ``<foreignObject>``.
- A ``<button>`` is something a reader does, not something he reads; but in a heading or the like, or around one, it is
  the heading; and no action takes ``A_SENTENCE`` to say. A button that is never closed takes nothing away.
- Letters without a size are not shown: those directly in an element whose style says so, and in its lines.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.page.elements.markup import KIND, MARK, NAME, PARENT, Rows, is_space
from worker.page.elements.parsed import FROM, OWNER, TO
from worker.page.elements.vocabulary import (
    BUTTON,
    INLINE,
    MARKED_SHOWN,
    MARKED_SIZED,
    MARKED_SIZELESS,
    MARKED_TITLING,
    NOSCRIPT,
    NOT_HTML,
    SCOPE,
    SHOWN_IF_MARKED,
    TITLING,
    compiled,
    hash_of,
    lean,
)
from worker.page.elements.vocabulary import UNSEEN as NOT_SHOWN
from worker.page.main_text.rules import UNSEEN
from worker.page.main_text.tally import GONE, TAKEN, WORDS, words_in

A_SENTENCE: Final = 8
"""Words of a button that are read. Questions that unfold have more, "add to cart" has fewer."""

_SVG, _LETTERS, _SLOT, _TEMPLATE, _AREA = map(hash_of, ("svg", "text", "slot", "template", "textarea"))
# Where an element stands.
_ELSEWHERE, _IN_DRAWING, _IN_LETTERS = range(3)


@lean("int64(int64, int64, int64)")
def _place_in(outer: int, name: int, kind: int) -> int:
    """The place of the content of an element that stands in ``outer``."""
    if not kind & NOT_HTML or kind & SCOPE:
        return _ELSEWHERE
    if name == _SVG:
        return _IN_DRAWING
    return _IN_LETTERS if outer == _IN_DRAWING and name == _LETTERS else outer


@lean("boolean(uint8[::1], int64, int64)")
def _begins_with_tag(body: Any, place: int, end: int) -> bool:
    """Whether the first character there is a ``<``, as it is or written as a reference."""
    while place < end and is_space(int(body[place])):
        place += 1
    if place + 3 < end and body[place] == 38:
        return bool(body[place + 1] == 108 and body[place + 2] == 116 and body[place + 3] == 59)
    return bool(place < end and body[place] == 60)


@compiled("boolean(uint8[::1], int32[:, ::1], int32[:, ::1], boolean, int32[:, ::1], int32[:, ::1])")
def hide(body: Any, elements: Rows, runs: Rows, scripts: bool, known: Rows, said: Rows) -> bool:
    """Mark the elements that are not shown, and count the words of the rest.

    ``scripts``: elements for readers without scripts are not shown. Returns whether there are such.
    """
    places, sizeless, titling, heads, slotted = np.zeros((5, len(elements)), dtype=np.uint8)
    buttons, roots, within = np.zeros((3, len(elements)), dtype=np.int32)
    has_noscript = has_button = has_root = False
    for element in range(1, len(elements)):
        name, kind, mark = elements[element, NAME], elements[element, KIND], elements[element, MARK]
        parent = elements[element, PARENT]
        places[element] = _place_in(places[parent], name, kind)
        lines = kind & INLINE and not mark & MARKED_SIZED
        sizeless[element] = 1 if mark & MARKED_SIZELESS or (lines and sizeless[parent]) else 0
        titling[element] = 1 if titling[parent] or kind & TITLING or mark & MARKED_TITLING else 0
        buttons[element] = element if kind & BUTTON else buttons[parent]
        heads[buttons[element]] |= titling[element]
        within[element] = within[parent]
        slotted[within[element]] |= name == _SLOT
        unseen = False
        if kind & NOSCRIPT:
            has_noscript = True
            unseen = scripts
        elif kind & BUTTON:
            has_button = True
        elif kind & NOT_SHOWN and name != _SVG:
            unseen = not (kind & SHOWN_IF_MARKED and mark & MARKED_SHOWN) or (name == _TEMPLATE and roots[parent] > 0)
            if name == _TEMPLATE and not unseen:
                roots[parent] = within[element] = element
                has_root = True
        known[element, GONE] = UNSEEN if unseen or known[parent, GONE] else 0
    words = np.zeros(len(elements), dtype=np.int32)
    for run in range(len(runs)):
        owner = runs[run, OWNER]
        light = roots[owner] and not slotted[roots[owner]]
        said[run, TAKEN] = UNSEEN if places[owner] == _IN_DRAWING or sizeless[owner] or light else 0
        if elements[owner, NAME] == _AREA and _begins_with_tag(body, runs[run, FROM], runs[run, TO]):
            said[run, TAKEN] = UNSEEN
        said[run, WORDS] = 0
        if not known[owner, GONE] and not said[run, TAKEN]:
            said[run, WORDS] = words_in(body, runs[run, FROM], runs[run, TO])
            words[buttons[owner]] += said[run, WORDS]
    if has_button or has_root:
        for element in range(1, len(elements)):
            parent = elements[element, PARENT]
            closed = elements[element, KIND] & BUTTON and elements[element, KIND] & NOT_SHOWN
            acts = closed and not heads[element] and words[element] < A_SENTENCE
            light = roots[parent] and not slotted[roots[parent]] and element != roots[parent]
            if known[parent, GONE] or acts or light:
                known[element, GONE] = UNSEEN
        for run in range(len(runs)):
            if known[runs[run, OWNER], GONE]:
                said[run, WORDS] = 0
    return has_noscript
