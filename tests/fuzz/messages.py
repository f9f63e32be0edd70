"""Records of all topics: other bytes are ``UnreadableRecord``, records of another version ``Refused``."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

from crawler_plugin.wire.errors import Refused, UnreadableRecord
from crawler_plugin.wire.forgetting import Forget, ForgetCondition, Forgotten
from crawler_plugin.wire.messages import (
    _ENVELOPE,
    _MAGIC,
    EVIDENCE_BYTES,
    NOT_STORED,
    PARDONED,
    VERSIONS,
    Answer,
    Batch,
    Block,
    Claim,
    FlaggedBatch,
    ForgettingBlock,
    Hit,
    decode,
    encode,
)
from crawler_plugin.wire.outcomes import Verdict
from tests.columns import answer_of, batch_of, claims_of
from worker.index.blocks import Header, pack
from worker.index.entries import Entries, Survivor
from worker.verdict.claims import Claims

KINDS: tuple[type[Any], ...] = (Batch, Answer, Block, Forget)
FORMS: dict[type[Any], tuple[type[Any], ...]] = {Batch: (FlaggedBatch,), Block: (ForgettingBlock,)}
"""The versions in which a kind may also come."""
FORGET = Forget(scheme=b"scheme-8", writer=b"w", condition=ForgetCondition(kind="host", text="a.example", site=7))
CLAIM = Claim(partition=1, offset=7, clock=5, url="http://a/", fingerprint=2**64 - 1, text_hash=3, sketch=b"s" * 32)
DOUBTED = Claim(partition=1, offset=8, clock=5, url="http://b/", bands=b"b" * 32, site=7, title=2**32 - 1, doubt=2)
FLAGGED = Claim(partition=1, offset=9, clock=5, url="http://c/", flags=NOT_STORED | PARDONED)
HIT = Hit(place=1, order=(2, 3), url="http://b/", distance=None, reason="hamming")
ANSWER = answer_of([HIT], void=(0, 2), batch=4, shard=1)
VERDICT = Verdict(
    url="http://a/",
    verdict="duplicate",
    duplicate_of="http://b/",
    distance=3,
    reason="hamming",
    fingerprint="0" * 16,
    order=(1, 2),
    source=(0, 9),
    fetched=5,
    scheme="0" * 16,
)
HEADER = Header(
    scheme=b"scheme-8",
    writer=b"w",
    shard=0,
    after=-1,
    to=4,
    answers_offset=5,
    watermark=5,
    claimed_up_to={0: 9},
    floor=-1,
    clocks=((4, 5),),
    suspects=((4, 0),),
)
SURVIVOR = Survivor((4, 0), "http://a/", 2**64 - 1, 3, 60, 5, site=7, title=2**32 - 1, doubt=2)
BLOCK = pack(Entries.from_rows([SURVIVOR]), HEADER).with_evidence(bytes(range(2 * EVIDENCE_BYTES)))
DEPTH = 5000


def enveloped(kind: type, payload: bytes) -> bytes:
    """The payload in a correct envelope."""
    return _ENVELOPE.pack(_MAGIC[kind], VERSIONS[kind], 0, len(payload), zlib.crc32(payload)) + payload


def attack(data: bytes) -> None:
    """Read the data as a record's value, and as the payload of a good envelope."""
    for kind in KINDS:
        for value in (data, *(enveloped(form, data) for form in (kind, *FORMS.get(kind, ())))):
            try:
                message = decode(kind, value)
                claims = list(Claims.of_batch(message)) if kind is Batch else []
            except (UnreadableRecord, Refused):
                continue
            assert decode(kind, encode(message)) == message
            assert not claims or claims_of(batch_of(claims)) == claims
    try:
        verdict = Verdict.decode(data)
    except UnreadableRecord:
        return
    assert Verdict.decode(verdict.encode()) == verdict
    verdict.to_headers()


def seeds() -> Iterator[bytes]:
    """One record of each kind, and records with more fields than they should have, at depth."""
    batches = (encode(batch_of(claims)) for claims in ([CLAIM], [CLAIM, DOUBTED], [CLAIM, FLAGGED]))
    for whole in (*batches, encode(ANSWER), encode(BLOCK)):
        payload = whole[_ENVELOPE.size :]
        fields = int.from_bytes(payload[1:3], "big")  # behind the byte for more than 15 fields
        yield whole
        yield payload
        yield payload[:1] + (fields + 1).to_bytes(2, "big") + payload[3:] + b"\x91" * DEPTH
    for whole in (encode(FORGET), encode(BLOCK.naming([Forgotten(FORGET.condition, 9, 5)]))):
        yield whole
        yield whole[_ENVELOPE.size :]
    verdict = VERDICT.encode()
    yield verdict
    yield verdict[:-1] + b',"more":' + b"[" * DEPTH
