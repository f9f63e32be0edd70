"""Sends this worker's claims in batches, one at a time."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from crawler_plugin.wire.messages import Claim, encode
from crawler_plugin.wire.topics import FINGERPRINTS
from worker.stream.log import Log, Sent, Ticket
from worker.stream.log_follower import DecidedBatch, LogSubscriber
from worker.stream.observer import Observer
from worker.stream.partition.owned import OwnedPartition
from worker.stream.policy import SCHEME_HEADER, Policy
from worker.verdict.claims import Claims
from worker.verdict.titles_of_texts import TitlesOfTexts


@dataclass(eq=False)
class Claimer(LogSubscriber):
    """At most one batch of this worker is in flight; the next one gathers in that time, so batches grow with the load.

    A batch is in flight until it is decided. After a send error the same claims are sent again before any other:
    otherwise claims of a partition would stand out of order in the log.

    Each claim says whether the page's text is a template's, by the titles of all pages that this process has claimed
    before. These titles are not stored: after a restart up to two pages of a site are not recognised. A claim that is
    sent again says the same as before, and a page that is claimed again, because its partition was lost in between,
    brings no title that was not counted.
    """

    log: Log
    policy: Policy
    observer: Observer
    claims: tuple[Claim, ...] = ()
    ticket: Ticket | None = None

    def __post_init__(self) -> None:
        self._titles = TitlesOfTexts(secret=secrets.token_bytes(16))

    @property
    def idle(self) -> bool:
        """Whether no batch is in flight."""
        return self.ticket is None

    def step(self, partitions: Sequence[OwnedPartition]) -> None:
        """Send the claims that are ready in partitions that claim, or resend those whose send failed."""
        if self.ticket is None:
            gathered: list[Claim] = []
            for partition in partitions:
                gathered.extend(partition.ready_claims(self.policy.claims_a_batch - len(gathered)))
            if gathered:
                claims = Claims.of(gathered)
                claims = claims.doubted(self._titles.mark(claims))
                self._titles.keep()
                self._send(claims, again=False)
        elif self.ticket.state is Sent.FAILED:
            self._send(Claims.of(self.claims), again=True)

    def drop(self, partition: int) -> None:
        """The partition was lost: its claims are neither sent again nor waited for."""
        self.claims = tuple(claim for claim in self.claims if claim.partition != partition)
        if not self.claims:
            self.ticket = None

    def on_decided(self, decided: DecidedBatch) -> None:
        """Recognise the batch in flight by its claims; if it was sent twice, the first to be decided counts."""
        if self.ticket is None or decided.writer != self.policy.writer:
            return
        sent = set(zip(decided.claims.partition.tolist(), decided.claims.offset.tolist(), strict=True))
        if all((claim.partition, claim.offset) in sent for claim in self.claims):
            self.claims = ()
            self.ticket = None

    def _send(self, claims: Claims, *, again: bool) -> None:
        batch = claims.to_batch(self.policy.scheme, self.policy.writer)
        headers = [(SCHEME_HEADER, self.policy.scheme_text)]
        self.claims = tuple(claims)
        self.ticket = self.log.append(FINGERPRINTS, 0, None, encode(batch), headers)
        self.observer.claimed(self.claims, again)
