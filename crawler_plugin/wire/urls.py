"""The one spelling of a URL that identity, keys and partitions rely on. A leaf, shared with crawler_plugin.

The rule is our own, so that no upgrade of a library changes which URLs count as one. URLs that browsers take for one
URL are one (the URL standard, url.spec.whatwg.org, for http, https, ws, wss and ftp), and beyond that

- fragments, user names, passwords and the dot behind a host's name are left out;
- in a path, percent-encoding stands only where RFC 3986 wants it, in upper case; an encoded slash stays encoded;
- a query is read as a form, and its parameters are sorted.

A URL of another scheme needs ``//``; its path keeps its dots, since it may be made from a user's name for a page. Names
of hosts are folded by Unicode's NFKC and case folding, which are stable, instead of tables that have a version.
"""

from __future__ import annotations

import re
import unicodedata
from ipaddress import IPv6Address
from typing import Final, NamedTuple
from urllib.parse import quote, quote_plus, unquote, unquote_to_bytes

CANONICALIZATION: Final = "url-1"
"""The name of the rule below. It is a part of the scheme id: change it when the rule changes."""
_LABEL: Final = "[a-z0-9]+(?:-[a-z0-9]+)*"
_LAST_LABEL: Final = "[a-z][a-z0-9]*(?:-[a-z0-9]+)*"  # with a leading digit it may be part of an address
_SEGMENT: Final = "[A-Za-z0-9_-][A-Za-z0-9._-]*"
ALREADY: Final = re.compile(
    rf"https?://(?:{_LABEL}\.)*{_LAST_LABEL}/(?:{_SEGMENT}/)*(?:{_SEGMENT})?(?:\?[A-Za-z0-9_-]+=[A-Za-z0-9._-]*)?"
)
"""URLs that the rule leaves as they are, most URLs of a crawl: this check takes a tenth of the time of the rule."""
OF_AN_ID_ALREADY: Final = re.compile(r"record://id/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%2F)+")
"""The same for the URLs that stand for most ids."""

_DEFAULT_PORTS: Final = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
_AROUND: Final = "".join(map(chr, range(0x21)))
_WITHIN: Final = dict.fromkeys(map(ord, "\t\n\r"))
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*", re.IGNORECASE | re.ASCII)
_IN_NO_HOST: Final = re.compile(r"[\x00-\x20\x7f#%/:<>?@\[\\\]^|]")
_NUMBER: Final = re.compile(r"\d+|0x[0-9a-f]*", re.ASCII)
_RECORD: Final = "record://id/"
_IN_SEGMENTS: Final = "!$&'()*+,;=:@"
"""The characters of a path's segment in addition to letters, digits and ``-._~`` (RFC 3986, section 3.3)."""
_LONGEST_NAME: Final = 255
"""The most characters of a host's name that is not ASCII: no name in DNS has more, and the time to spell it grows with
their square."""
_DOTS: Final = dict.fromkeys(map(ord, "\u3002\uff0e\uff61"), ".")
_KEPT: Final = {"\u1e9e": "ß", "ß": "ß", "ς": "ς"}
"""Letters that case folding would turn into others (UTS #46, deviations)."""
_IGNORED: Final = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0100-\U000e01ef]"
)


class _Parts(NamedTuple):
    """The parts of a URL, without blanks around it and without its fragment. ``path`` begins with a slash or is empty,
    ``query`` has no ``?``."""

    scheme: str
    authority: str
    path: str
    query: str


def canonical_url(url: str) -> str:
    """The spelling by the rule above: ASCII, and its own canonical spelling. The time is proportional to the URL's
    length.

    Raises:
        ValueError: not an absolute URL, or an impossible host. The message shows no password.

    >>> canonical_url("HTTP://Example.com:80/a/../b c?b=2&a=1#top")
    'http://example.com/b%20c?a=1&b=2'
    """
    if ALREADY.fullmatch(url) or OF_AN_ID_ALREADY.fullmatch(url):
        return url
    try:
        return _spelled(_split(url))
    except ValueError:
        shown = without_userinfo(url)[:200]
        raise ValueError(f"not an absolute URL: {shown!r}; give it with its scheme, as https://host/path") from None


def without_userinfo(url: str) -> str:
    """The URL as it is, but without user name and password; of a text that is not a URL, the part behind its last
    ``@``."""
    if "@" not in url:
        return url
    try:
        parts = _split(url)
        _spelled(parts)
    except ValueError:
        return url.rpartition("@")[2]
    _, at, host = parts.authority.rpartition("@")
    if not at:
        return url
    fragment = url.partition("#")
    return f"{parts.scheme}://{host}{parts.path}{'?' * bool(parts.query)}{parts.query}{fragment[1]}{fragment[2]}"


def _split(url: str) -> _Parts:
    scheme, colon, rest = url.strip(_AROUND).translate(_WITHIN).partition(":")
    scheme = scheme.lower()
    if not (colon and _SCHEME.fullmatch(scheme)):
        raise ValueError("no scheme")
    rest, _, query = rest.partition("#")[0].partition("?")
    if scheme in _DEFAULT_PORTS:
        rest = rest.replace("\\", "/").lstrip("/")
    elif rest.startswith("//"):
        rest = rest[2:]
    else:
        raise ValueError("no host")
    authority, slash, path = rest.partition("/")
    return _Parts(scheme, authority, slash + path, query)


def _spelled(parts: _Parts) -> str:
    host = parts.authority.rpartition("@")[2]
    segments = [unquote_to_bytes(segment) for segment in parts.path.split("/")[1:]]
    if parts.scheme in _DEFAULT_PORTS:
        host = _host_and_port(host, _DEFAULT_PORTS[parts.scheme])
        segments = _without_dots(segments) or [b""]
    else:
        host = quote(unquote_to_bytes(host).lower(), safe=_IN_SEGMENTS.replace("@", "[]"))
        if not (host or parts.path):
            raise ValueError("nothing behind the scheme")
    path = "".join("/" + quote(segment, safe=_IN_SEGMENTS) for segment in segments)
    query = _sorted(parts.query)
    return f"{parts.scheme}://{host}{path}{'?' * bool(query)}{query}"


def _without_dots(segments: list[bytes]) -> list[bytes]:
    kept: list[bytes] = []
    for segment in segments:
        if segment == b"..":
            del kept[-1:]
        elif segment != b".":
            kept.append(segment)
    return [*kept, b""] if segments and segments[-1] in (b".", b"..") else kept


def _sorted(query: str) -> str:
    pairs = (piece.partition("=") for piece in query.replace("+", " ").split("&") if piece)
    decoded = sorted((unquote_to_bytes(name), unquote_to_bytes(value)) for name, _, value in pairs)
    return "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in decoded)


def _host_and_port(authority: str, default: str) -> str:
    if authority.startswith("["):
        name, bracket, port = authority[1:].partition("]")
        host = f"[{_ipv6(name)}]"
        if not bracket or (port and port[0] != ":"):
            raise ValueError("an address in half a bracket")
        port = port[1:]
    else:
        name, _, port = authority.partition(":")
        host = _name(name)
    number = port.lstrip("0") or "0" * bool(port)
    if number and not (number.isascii() and number.isdigit() and len(number) <= 5 and int(number) < 1 << 16):
        raise ValueError("no port")
    return host if number in ("", default) else f"{host}:{number}"


def _name(given: str) -> str:
    """A host's name in ASCII, or its IPv4 address in four numbers."""
    name = unquote_to_bytes(given).decode()
    name = name.lower() if name.isascii() else _folded(name)
    if name.endswith(".") and not name.endswith(".."):
        name = name[:-1] or name
    if not name or _IN_NO_HOST.search(name):
        raise ValueError("no host")
    return _ipv4(name) if _NUMBER.fullmatch(name.rpartition(".")[2]) else name


def _folded(name: str) -> str:
    if len(name) > _LONGEST_NAME:
        raise ValueError("no host has such a long name")
    for _ in range(2):  # the parts into which NFKC takes a letter may be in upper case
        name = unicodedata.normalize("NFKC", "".join(_KEPT.get(letter, letter.casefold()) for letter in name))
    labels = _IGNORED.sub("", name.translate(_DOTS)).split(".")
    return ".".join(label if label.isascii() else "xn--" + label.encode("punycode").decode() for label in labels)


def _ipv4(name: str) -> str:
    *first, last = [_whole_number(part) for part in name.split(".")]
    if len(first) > 3 or max(first, default=0) > 255 or last >= 256 ** (4 - len(first)):
        raise ValueError("no address")
    return ".".join(map(str, [*first, *last.to_bytes(4 - len(first), "big")]))


def _whole_number(part: str) -> int:
    if not _NUMBER.fullmatch(part):
        raise ValueError("no number")
    base = 16 if part.startswith("0x") else 8 if part.startswith("0") else 10
    digits = part.removeprefix("0x").lstrip("0") or "0"
    if len(digits) > 11:
        raise ValueError("too large for an address")
    return int(digits, base)


def _ipv6(given: str) -> str:
    if "%" in given:
        raise ValueError("an address of one machine's interface")
    address = IPv6Address(given)
    if address.ipv4_mapped is None:
        return address.compressed
    mapped = int(address.ipv4_mapped)  # Python has spelled this in two ways
    return f"::ffff:{mapped >> 16:x}:{mapped & 0xFFFF:x}"


def url_of_id(id_: str) -> str:
    """A stand-in URL for a page that has only an id, such as a text: the same only for the same id."""
    return _RECORD + quote(id_, safe=_IN_SEGMENTS, errors="replace")


def id_of_url(url: str) -> str | None:
    """The id for which ``url_of_id`` made this; None where it is a real URL."""
    return unquote(url[len(_RECORD) :]) if url.startswith(_RECORD) else None


def id_or_url(url: str) -> str:
    """The page's name for a reader: its id where the URL stands for one."""
    return id_of_url(url) or url
