"""Reads TREC's web collections (<DOC>, <DOCNO>, <DOCHDR> with the URL on its first line, then the page)."""

import re
from collections.abc import Iterable, Iterator

from worker.local import FetchedPage

DOC = re.compile(rb"\s*<DOC>\s*<DOCNO>(.*?)</DOCNO>.*?<DOCHDR>\s*(\S+)[^<]*</DOCHDR>\s*(.*)</DOC>", re.DOTALL)
END = b"</DOC>\n"


class TrecWeb:
    def begins(self, beginning: bytes) -> bool:
        return beginning.lstrip().startswith(b"<DOC>") and b"<DOCNO>" in beginning

    def pages(self, pieces: Iterable[bytes]) -> Iterator[tuple[bytes, FetchedPage]]:
        held = b""
        for piece in pieces:
            *whole, held = (held + piece).split(END)
            for document in whole:
                yield document + END, page_of(document + END)
        if held.strip():
            yield held, page_of(held)


def page_of(document: bytes) -> FetchedPage:
    found = DOC.match(document)
    if found is None:
        raise ValueError(f"no <DOC> with a URL: {document[:60]!r}")
    number, url, body = found.groups()
    return FetchedPage(url.decode("latin-1"), body, id=number.decode("latin-1").strip())
