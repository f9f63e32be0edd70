"""The headers of records: those of a page, on ``pages`` and on copies of its record, and those of any record as
text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.moments import since_1970

Headers = Sequence[tuple[str, bytes]]
SCOPE_HEADER: Final = "dedup-scope"
"""The header of a record on ``pages`` that names the scope in which its page is compared, inside ``near.scope``."""
STORE_HEADER: Final = "dedup-store"
PARDON_HEADER: Final = "dedup-pardon"
"""On ``pages``: ``no`` for a page that no later page is compared with, ``yes`` for one that survives next to pages like
it."""

Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""A number in text, which any program may have written: larger numbers could not be passed on."""


class PageMeta(msgspec.Struct, frozen=True, kw_only=True):
    """The crawler's data on a page: the headers of a record on ``pages``.

    ``fetched`` is in milliseconds since 1970 UTC. ``form`` says what the value holds: ``bytes`` as fetched, or ``text``
    that the spider already extracted from the page (then UTF-8). Absent values have no header.
    """

    url: str
    status: Int64 | None = None
    content_type: str | None = None
    encoding: str | None = None
    fetched: Int64 | None = None
    spider: str | None = None
    job: str | None = None
    form: Literal["bytes", "text"] = "bytes"

    def at(self, url: str) -> PageMeta:
        """The same headers with another URL."""
        return msgspec.structs.replace(self, url=url)

    def to_headers(self) -> list[tuple[str, bytes]]:
        """Kafka headers, in the order of the fields; values are UTF-8."""
        pairs = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return [(name, str(value).encode()) for name, value in pairs if value is not None]

    @classmethod
    def from_headers(cls, headers: Headers) -> PageMeta:
        """Read headers; names that are not ours are ignored, of a repeated name the last one counts.

        An optional header that cannot be read is left out: see ``read``.

        Raises:
            UnreadableRecord: no ``url``, or one that is not UTF-8.
        """
        return cls.read(headers)[0]

    @classmethod
    def read(cls, headers: Headers) -> tuple[PageMeta, tuple[str, ...]]:
        """``from_headers``, and the names of the headers that were left out: bad numbers, an unknown form, text that is
        not UTF-8. ``fetched`` may also be ISO 8601 text, in UTC where it names no zone.

        Raises:
            UnreadableRecord: as ``from_headers``.
        """
        known = {name: value for name, value in headers if name in cls.__struct_fields__ and value is not None}
        try:
            return msgspec.convert({name: value.decode() for name, value in known.items()}, cls, strict=False), ()
        except (UnicodeDecodeError, msgspec.ValidationError):
            return cls._read_each(known)

    @classmethod
    def _read_each(cls, known: Mapping[str, bytes]) -> tuple[PageMeta, tuple[str, ...]]:
        try:
            url = known["url"].decode()
        except (KeyError, UnicodeDecodeError) as error:
            raise UnreadableRecord(f"headers of a page: url: {error}; give it in UTF-8") from error
        found, unread = cls(url=url), []
        for name, value in known.items():
            try:
                text = value.decode()
                try:
                    one = msgspec.convert({"url": url, name: text}, cls, strict=False)
                except msgspec.ValidationError:
                    if name != "fetched":
                        raise
                    one = cls(url=url, fetched=since_1970(text))
            except ValueError:  # also UnicodeDecodeError and ValidationError
                unread.append(name)
            else:
                found = msgspec.structs.replace(found, **{name: getattr(one, name)})
        return found, tuple(unread)


def text_headers(headers: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    """Headers as text, for readers and tests; bytes that are not UTF-8 are replaced."""
    return {name: value.decode(errors="replace") for name, value in headers if value is not None}
