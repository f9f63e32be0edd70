"""What to say when a log was written with other settings than this worker's."""

from __future__ import annotations

from typing import Final

from worker.errors import Refused, UnreadableRecord
from worker.fingerprint.scheme import Scheme
from worker.messages import Headers
from worker.stream.policy import SCHEME_HEADER, Policy

COPIED: Final = b"-copied-"
"""Stands for the scheme in the records that ``worker.operations.copy_index`` puts before a generation's first batch."""


def other_scheme(policy: Policy, found: bytes, headers: Headers, where: str) -> Refused:
    """The refusal that says which settings differ; ``headers`` are those of the record of scheme ``found``."""
    if found == COPIED:
        return Refused(
            "the index is being copied into this topics.generation, or a copy broke off: wait for it, or delete what "
            "it has left with `python -m worker topics delete`, and copy again. Where workers have run in this "
            "generation before, it has lost blocks: run `python -m worker repair`"
        )
    text = dict(headers).get(SCHEME_HEADER) or b""
    try:
        ours, theirs = Scheme.decode(policy.scheme_text), Scheme.decode(text)
        differs = "; ".join(f"{name} is {a} here and {b} there" for name, a, b in ours.differences(theirs))
    except UnreadableRecord:
        differs = f"scheme {found.hex()} instead of {policy.scheme.hex()}"
    return Refused(
        f"the topic {where} was written with other settings: {differs}. Start this worker with the settings of the "
        "others, or give the new settings a topics.generation of their own"
    )
