"""The records on each topic, as versioned values. ``page_headers`` has the headers of pages, ``forgetting`` the records
that make workers forget, and ``outcomes`` the results that other programs read.

================  =======================================  ==========================================
topic             key                                      value
================  =======================================  ==========================================
``pages``         canonical URL                            the body's bytes; ``PageMeta`` as headers
``fingerprints``  none                                     ``Batch`` or ``Forget`` in an envelope
``answers``       none                                     ``Answer`` in an envelope
``index``         16 random bytes                          ``Block`` in an envelope, or a tombstone
``deduplicated``  as on ``pages``                          as on ``pages``; verdict headers added
``verdicts``      canonical URL                            ``Verdict`` as JSON; whose page it is as headers
``dead-letters``  as on ``pages``                          as on ``pages``; reason headers added
``jobs``          job, spider and run                      ``JobMark`` as JSON; job and spider as headers
``findings``      the survivor's URL                       ``SurvivorFinding`` as JSON; its kind as a header
================  =======================================  ==========================================

The envelope of the three binary topics is 12 bytes, little endian: two magic bytes that name the topic, one byte
format version, one byte zero, ``uint32`` length of the payload, ``uint32`` CRC-32 of the payload; then the payload,
a MessagePack array. Decoding checks all of them and every column's length, and raises ``UnreadableRecord``.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import Any, Final, TypeVar

import msgspec

from crawler_plugin.wire.errors import Refused, UnreadableRecord
from crawler_plugin.wire.forgetting import Forget, Forgotten

Order = tuple[int, int]
"""Place of a claim among all claims: (offset of its batch in ``fingerprints``, index inside the batch)."""

_ENVELOPE: Final = struct.Struct("<2sBBII")
ORDER: Final = struct.Struct("<qI")
"""An ``Order`` in bytes."""
MOST_STATUS: Final = 1 << 16
"""A claim's status is smaller than this."""
SKETCH_BYTES: Final = 32
"""Bytes of a page's sketch, and of its bands."""
EVIDENCE_BYTES: Final = 56
"""Bytes of a row of ``Block.evidence``."""
NOT_STORED: Final = 1
PARDONED: Final = 2
"""Bits of ``Claim.flags``, for the two headers."""


class OtherVersion(Refused):
    """A whole record of another version of the format: ``earlier`` than this program's, or later."""

    def __init__(self, message: str, *, earlier: bool) -> None:
        super().__init__(message)
        self.earlier = earlier


class Claim(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """One page on its way to a verdict, as its worker saw it.

    ``partition`` and ``offset`` are its source in ``pages``. ``clock`` (milliseconds since 1970 UTC) is its fetch time
    bounded by the broker's time stamp. ``fingerprint`` is 64 bits, or None for a page of too few features;
    ``text_hash`` is 64 bits of the text's tokens; of the body's bytes where there are no tokens, and of the URL where
    the body is empty: two empty pages are not alike. ``language`` is a label for metrics. A claim with ``dead`` set is
    a page that cannot be fingerprinted, with the reason. ``sketch`` and ``bands`` are 32 bytes each, for the predicate
    ``accurate``; empty without it, and for pages that have none. ``scope`` is 64 bits that stand for the scope in which
    the page is compared, 0 for all pages. ``worker.fingerprint.scoped`` reads ``site``, ``title``, ``title_words`` and
    ``doubt``: 32 bits each that stand for the registered domain and for the page's title, 64 bits for the title's
    words, 0 for none, and how far the text may belong to a template. No verdict depends on the other fields:
    ``canonical`` is the 64-bit hash of the URL that the page calls its own, 0 where it names none; ``status`` is the
    HTTP status, 0 where it is not known; ``template`` are 32 bits that stand for the template of its URL with its host,
    0 for none. ``flags`` are bits, ``NOT_STORED`` and ``PARDONED``.
    """

    partition: int
    offset: int
    clock: int
    url: str
    fingerprint: int | None = None
    text_hash: int = 0
    tokens: int = 0
    language: str = ""
    dead: str | None = None
    sketch: bytes = b""
    bands: bytes = b""
    scope: int = 0
    canonical: int = 0
    status: int = 0
    template: int = 0
    site: int = 0
    title: int = 0
    title_words: int = 0
    doubt: int = 0
    flags: int = 0

    def __post_init__(self) -> None:
        if len(self.sketch) not in (0, SKETCH_BYTES) or len(self.bands) not in (0, SKETCH_BYTES):
            raise ValueError(
                f"a sketch of {len(self.sketch)} and bands of {len(self.bands)} bytes: each has {SKETCH_BYTES} or none"
            )

    def at(self, offset: int, clock: int) -> Claim:
        """The same claim with another offset and time."""
        return msgspec.structs.replace(self, offset=offset, clock=clock)

    def doubted(self, doubt: int) -> Claim:
        """The same claim with another doubt."""
        return msgspec.structs.replace(self, doubt=doubt)


class Batch(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """A record of ``fingerprints``: claims in order, column by column, little endian, ``count`` entries each.

    ``scheme`` is the 8-byte id of everything that a verdict depends on. ``fingerprint`` and ``text_hash`` are uint64;
    ``scope`` and ``canonical`` uint64, ``bands`` 8 x uint32, ``sketch`` 32 bytes, ``template``, ``site`` and ``title``
    uint32, ``title_words`` uint64 and ``doubt`` uint8 are empty where no claim has any, and zeros for a claim without.
    ``packed`` holds the columns of ``PACKED_WIDTHS``, one after the other: for each column the lowest bytes of all
    entries, then the next higher ones, with zlib over everything, as neighbours differ little. ``language`` there is a
    place in ``languages``; the lowest bit of ``bare`` says that there is no fingerprint, those above it are the
    ``flags`` of a ``FlaggedBatch``, 0 in any other batch. ``dead`` are (place, reason). ``urls`` are the URLs in UTF-8,
    one after the other, under zlib; ``url_bytes`` says where each ends. ``worker.verdict.claims`` reads and writes all
    this.
    """

    scheme: bytes
    writer: bytes
    count: int
    fingerprint: bytes = b""
    text_hash: bytes = b""
    packed: bytes = b""
    languages: tuple[str, ...] = ()
    dead: tuple[tuple[int, str], ...] = ()
    urls: bytes = b""
    scope: bytes = b""
    bands: bytes = b""
    sketch: bytes = b""
    site: bytes = b""
    title: bytes = b""
    title_words: bytes = b""
    doubt: bytes = b""
    canonical: bytes = b""
    template: bytes = b""

    def __post_init__(self) -> None:
        optional = OPTIONAL_WIDTHS | {"canonical": 8, "template": 4}
        for name, width in {"fingerprint": 8, "text_hash": 8, **optional}.items():
            found = len(getattr(self, name))
            if found != self.count * width and (found or name not in optional):
                raise ValueError(f"column {name} has {found} bytes, {self.count} claims of {width} were announced")


class FlaggedBatch(Batch, frozen=True, array_like=True, kw_only=True):
    """A batch with a claim that has ``flags``, in a version of its own: a program that does not know flags would decide
    otherwise."""


PACKED_WIDTHS: Final = {
    "partition": 4,
    "offset": 8,
    "clock": 8,
    "tokens": 4,
    "url_bytes": 4,
    "status": 2,
    "bare": 1,
    "language": 1,
}
"""Bytes per claim of each column in ``Batch.packed``: all whole numbers, signed where they are signed in ``Claim``."""


class Hit(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """The earliest live survivor of one shard that is near to the claim at ``place`` of the batch.

    ``distance`` is the Hamming distance in bits; None where one side has no fingerprint. ``agreement`` is how many of
    the 128 slots of their sketches agree; None where one side has no sketch. ``no_page`` says that the survivor was
    found not to be a page, and ``suspect`` that it was found suspect, as far as was known then.
    """

    place: int
    order: Order
    url: str
    distance: int | None
    reason: str
    agreement: int | None = None
    no_page: bool = False
    suspect: bool = False


class Answer(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """A record of ``answers``: the answer of ``shard`` on the batch at offset ``batch``, column by column, little
    endian.

    ``void`` lists the places, uint32, of claims that are not the first of their page, ascending. Then come columns of
    the hits, which ascend by place: ``place`` uint32; ``original_batch`` int64 and ``original_place`` uint32, the
    survivor's order; ``distance`` uint8 in bits and ``agreement`` uint8 in slots, 255 for none; ``reason`` uint8, a
    place in ``NEAR_REASONS``; ``no_page`` uint8, 1 for a survivor that the shard has found not to be a page
    (``worker.verdict.findings``), a hint that may differ between answers; and the survivors' ``urls``.

    The last columns are of claims whose URL has left an earlier text (``near.track_changes``), ascending by place:
    ``seen_at`` uint32, the claim's place; ``seen_batch`` int64 and ``seen_place`` uint32, the order of the latest live
    survivor of that URL; ``seen_tokens`` uint32, that survivor's number of tokens; and ``seen_agreement`` uint8, as
    ``agreement`` or 254 for equal texts. ``suspect`` is one more column of the hits, uint8, and empty where it would
    hold zeros: 1 for a survivor that the shard has found suspect (``worker.verdict.suspects``), a hint as ``no_page``
    is.
    """

    scheme: bytes
    writer: bytes
    batch: int
    shard: int
    void: bytes = b""
    place: bytes = b""
    original_batch: bytes = b""
    original_place: bytes = b""
    distance: bytes = b""
    agreement: bytes = b""
    reason: bytes = b""
    no_page: bytes = b""
    urls: tuple[str, ...] = ()
    seen_at: bytes = b""
    seen_batch: bytes = b""
    seen_place: bytes = b""
    seen_tokens: bytes = b""
    seen_agreement: bytes = b""
    suspect: bytes = b""

    def __post_init__(self) -> None:
        columns = (len(self.urls), "hits", _HIT_WIDTHS), (len(self.seen_agreement), "earlier texts", _SEEN_WIDTHS)
        for count, what, widths in columns:
            for name, width in widths.items():
                if (found := len(getattr(self, name))) != count * width:
                    raise ValueError(f"column {name} of an answer has {found} bytes for {count} {what}")
        if len(self.suspect) not in (0, len(self.urls)):
            raise ValueError(f"column suspect of an answer has {len(self.suspect)} bytes for {len(self.urls)} hits")
        if len(self.void) % 4 or max(self.reason, default=0) >= len(NEAR_REASONS):
            raise ValueError("an answer with half a place, or with an unknown reason")

    def hit(self, number: int) -> Hit:
        """The hit of that number, counted from 0."""
        distance, agreement = self.distance[number], self.agreement[number]
        return Hit(
            place=_U32.unpack_from(self.place, 4 * number)[0],
            order=(
                _I64.unpack_from(self.original_batch, 8 * number)[0],
                _U32.unpack_from(self.original_place, 4 * number)[0],
            ),
            url=self.urls[number],
            distance=None if distance == NOT_KNOWN else distance,
            reason=NEAR_REASONS[self.reason[number]],
            agreement=None if agreement == NOT_KNOWN else agreement,
            no_page=bool(self.no_page[number]),
            suspect=bool(self.suspect and self.suspect[number]),
        )

    def gist(self) -> bytes:
        """The parts that are equal in two answers with the same meaning: void claims, earliest survivors, latest
        survivors of the same URL. Two such answers may differ in who wrote them and in what they say of survivors."""
        said = self.void, self.place, self.original_batch, self.original_place
        seen = self.seen_at, self.seen_batch, self.seen_place
        return b"%d %d %b" % (len(self.void), len(self.seen_at), b"".join(said + seen))


_U32: Final = struct.Struct("<I")
_I64: Final = struct.Struct("<q")
_HIT_WIDTHS: Final = {"place": 4, "original_batch": 8, "original_place": 4} | dict.fromkeys(
    ("distance", "agreement", "reason", "no_page"), 1
)
_SEEN_WIDTHS: Final = {"seen_at": 4, "seen_batch": 8, "seen_place": 4, "seen_tokens": 4, "seen_agreement": 1}
NOT_KNOWN: Final = 255
"""Stands for no distance and no agreement."""
SAME_TEXT: Final = 254
"""Stands for the agreement of equal texts."""
NEAR_REASONS: Final = ("exact-text", "exact-bytes", "hamming", "sketch")
"""The reasons of ``worker.fingerprint.near`` why a survivor is near to a page."""


class Block(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """A record of ``index``: all unexpired survivors of one shard decided in batches (``after``, ``to``].

    ``answers_offset``, ``watermark`` and ``claimed_up_to`` (source partition, highest claimed offset) are as of just
    after batch ``to``. ``floor`` is a batch up to which everything has expired, -1 for none. Columns have ``count``
    entries, little endian, ascending by order: ``batch`` int64, ``place`` uint32, ``fingerprint`` uint64, ``bare``
    uint8 (1: the entry has no fingerprint), ``text_hash`` uint64, ``tokens`` uint32, ``url_hash`` uint64, ``fetched``
    int64 (milliseconds); and, empty where no entry has any, ``scope`` uint64, ``bands`` 8 x uint32, ``sketch`` 32
    bytes, ``site`` and ``title`` uint32, ``title_words`` uint64 and ``doubt`` uint8, zeros for an entry without.
    ``clocks`` holds (batch, the watermark just after it) of each batch that has an entry. ``urls`` are the entries'
    URLs in groups, 256 a group and fewer only in the last, each group zlib-compressed by itself with a zero byte after
    every URL: a shard keeps the groups as they came and opens one to read one URL. ``suspects`` are the orders of
    survivors, of this block or earlier ones, that were found suspect by its batches: int64 and uint32 each; hints,
    which other blocks of the same batches may lack. ``evidence`` is the evidence that the process took from these
    batches' pages when it claimed them (``worker.verdict.titles_of_texts``), in rows of ``EVIDENCE_BYTES``: only where
    one process claims and judges all pages, as without Kafka.
    """

    scheme: bytes
    writer: bytes
    shard: int
    after: int
    to: int
    answers_offset: int
    watermark: int
    claimed_up_to: tuple[tuple[int, int], ...]
    floor: int
    count: int
    batch: bytes
    place: bytes
    fingerprint: bytes
    bare: bytes
    text_hash: bytes
    tokens: bytes
    url_hash: bytes
    fetched: bytes
    clocks: tuple[tuple[int, int], ...]
    urls: tuple[bytes, ...]
    scope: bytes = b""
    bands: bytes = b""
    sketch: bytes = b""
    site: bytes = b""
    title: bytes = b""
    title_words: bytes = b""
    doubt: bytes = b""
    suspects: bytes = b""
    evidence: bytes = b""

    def __post_init__(self) -> None:
        for name, width in (COLUMN_WIDTHS | OPTIONAL_WIDTHS).items():
            found = len(getattr(self, name))
            if found != self.count * width and (found or name in COLUMN_WIDTHS):
                raise ValueError(f"column {name} has {found} bytes, {self.count} entries of {width} were announced")
        if not -1 <= self.after < self.to:
            raise ValueError(f"a block cannot hold the batches after {self.after} up to {self.to}")
        if len(self.suspects) % ORDER.size:
            raise ValueError(f"column suspects has {len(self.suspects)} bytes, {ORDER.size} an order")
        if len(self.evidence) % EVIDENCE_BYTES:
            raise ValueError(f"column evidence has {len(self.evidence)} bytes, {EVIDENCE_BYTES} a row")

    def with_evidence(self, evidence: bytes) -> Block:
        """The same block with these rows of evidence."""
        return msgspec.structs.replace(self, evidence=evidence)

    def naming(self, forgotten: Iterable[Forgotten]) -> ForgettingBlock:
        """The same block, behind the records that ``forgotten`` names."""
        return ForgettingBlock(**msgspec.structs.asdict(self), forgotten=tuple(forgotten))


class ForgettingBlock(Block, frozen=True, array_like=True, kw_only=True):
    """A block behind records of the kind ``Forget``: these apply to all blocks of its shard up to here.

    Such a block has a format version of its own: a program that does not know it would find the forgotten survivors
    again.
    """

    forgotten: tuple[Forgotten, ...]


def forgotten_of(block: Block) -> tuple[Forgotten, ...]:
    """The records of forgetting applied by the end of the block whose survivors have not expired since."""
    return block.forgotten if isinstance(block, ForgettingBlock) else ()


COLUMN_WIDTHS: Final = {
    "batch": 8,
    "place": 4,
    "fingerprint": 8,
    "bare": 1,
    "text_hash": 8,
    "tokens": 4,
    "url_hash": 8,
    "fetched": 8,
}
"""Bytes per entry of each column of a ``Block``."""
OPTIONAL_WIDTHS: Final = {
    "scope": 8,
    "bands": SKETCH_BYTES,
    "sketch": SKETCH_BYTES,
    "site": 4,
    "title": 4,
    "title_words": 8,
    "doubt": 1,
}
"""Bytes per entry of the columns that may be left out."""


Binary = TypeVar("Binary", Batch, Answer, Block, Forget)
_MAGIC: Final[dict[type[Any], bytes]] = {
    Batch: b"DF", FlaggedBatch: b"DF", Forget: b"DF", Answer: b"DC", Block: b"DI", ForgettingBlock: b"DI",
}  # fmt: skip
VERSIONS: Final[dict[type[Any], int]] = {
    Batch: 3, FlaggedBatch: 4, Forget: 131, Answer: 2, Block: 3, ForgettingBlock: 131,
}  # fmt: skip
"""The format version of each kind. While the version of ``Block`` stays, the next program can copy the index of the one
before."""
LAST_BATCH: Final = _ENVELOPE.pack(_MAGIC[Batch], 255, 0, 0, 0)
"""The value of the record of ``fingerprints`` at which a generation ends; the record's headers say why. No program
reads that version of a batch, so that workers of earlier programs end there too."""
_ALSO: Final[dict[type[Any], tuple[type[Any], ...]]] = {Batch: (FlaggedBatch,), Block: (ForgettingBlock,)}
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODERS: Final[dict[type[Any], msgspec.msgpack.Decoder[Any]]] = {of: msgspec.msgpack.Decoder(of) for of in _MAGIC}


def encode(message: Batch | Forget | Answer | Block) -> bytes:
    """The record's value: envelope and payload."""
    payload = _ENCODER.encode(message)
    kind = type(message)
    return _ENVELOPE.pack(_MAGIC[kind], VERSIONS[kind], 0, len(payload), zlib.crc32(payload)) + payload


def decode_claims(value: bytes | None) -> Batch | Forget:
    """Read a record of ``fingerprints`` of either kind; raises as ``decode`` does."""
    return decode(Forget, value) if _is_of(Forget, value) else decode(Batch, value)


def _is_of(kind: type[Any], value: bytes | None) -> bool:
    return value is not None and value[:3] == _MAGIC[kind] + bytes([VERSIONS[kind]])


def decode(kind: type[Binary], value: bytes | None) -> Binary:
    """Read a record's value; a ``Batch`` may be a ``FlaggedBatch``, and a ``Block`` a ``ForgettingBlock``.

    Raises:
        UnreadableRecord: the record is foreign, torn, or has columns of the wrong length.
        OtherVersion: the record is whole, and of another version of the format. If it were passed over, its pages would
            get a verdict elsewhere and none here.
    """
    written: type[Any] = next((other for other in _ALSO.get(kind, ()) if _is_of(other, value)), kind)
    magic = _MAGIC[kind]
    if value is None or len(value) < _ENVELOPE.size:
        raise UnreadableRecord(f"{len(value or b'')} bytes are too few for a {kind.__name__}")
    found, version, _, length, crc = _ENVELOPE.unpack_from(value)
    payload = memoryview(value)[_ENVELOPE.size :]
    if found != magic:
        raise UnreadableRecord(f"not a {kind.__name__}: it begins with {found!r} instead of {magic!r}")
    if length != len(payload):
        raise UnreadableRecord(f"{kind.__name__}: {len(payload)} bytes of payload, {length} were announced")
    if crc != zlib.crc32(payload):
        raise UnreadableRecord(f"{kind.__name__}: the checksum does not fit the payload")
    if version != (ours := VERSIONS[written]):
        move = "upgrade this worker to the program that wrote it"
        if version < ours:
            way = "let it take over" if kind is Block else "run `python -m worker index copy --to NAME`"
            move = f"run the program that wrote it, or give this one a topics.generation of its own and {way}"
        raise OtherVersion(
            f"{kind.__name__} of format version {version} on the topics, this program reads version {ours}: {move}",
            earlier=version < ours,
        )
    try:
        message: Binary = _DECODERS[written].decode(payload)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise UnreadableRecord(f"{kind.__name__}: {error}") from error
    return message
