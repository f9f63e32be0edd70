"""Sends to the topic ``findings`` what the copies of a shard's survivors show about them."""

from __future__ import annotations

from dataclasses import dataclass, field

from crawler_plugin.wire.outcomes import SUSPECT, SurvivorFinding
from crawler_plugin.wire.topics import FINDINGS
from worker.stream.log import Log, Sent, Ticket
from worker.stream.observer import Observer
from worker.stream.shard.live import LiveShard


@dataclass(eq=False)
class Announcer:
    """The announcer of one shard; its holder calls ``step``, the one place where findings leave a worker.

    A finding is sent outside of any transaction, at least once: after a restore, a shard sends the findings that it
    replays again. It forgets all earlier counts then, so a finding may come later than without a restore, or not at
    all.
    """

    log: Log
    shard: LiveShard
    observer: Observer
    in_flight: list[tuple[SurvivorFinding, Ticket]] = field(default_factory=list)

    def step(self) -> None:
        """Send the findings, and resend those that failed."""
        if not self.in_flight and not self.shard.hints.findings:
            return
        failed = [finding for finding, ticket in self.in_flight if ticket.state is Sent.FAILED]
        self.in_flight = [sent for sent in self.in_flight if sent[1].state is Sent.PENDING]
        for finding in failed:
            self._send(finding)
        scheme = self.shard.policy.scheme.hex()
        while self.shard.hints.findings:
            finding = self.shard.hints.findings.popleft()
            self.observer.found(finding.kind)
            if finding.kind == SUSPECT:
                self.observer.suspect(finding)
            self._send(finding.of_scheme(scheme))

    def _send(self, finding: SurvivorFinding) -> None:
        ticket = self.log.append(FINDINGS, 0, finding.url.encode(), finding.encode(), finding.to_headers())
        self.in_flight.append((finding, ticket))
