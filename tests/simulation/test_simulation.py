"""Schedules by their seeds: whatever happens in one, every promise is kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from crawler_plugin.wire.forgetting import ForgetCondition
from crawler_plugin.wire.messages import Block, Claim, decode, forgotten_of
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.topics import ANSWERS, DAY_MS, DEAD_LETTERS, FINGERPRINTS, INDEX, PAGES, VERDICTS
from tests.columns import answer_of, claims_of, void_of
from tests.oracle import is_forgotten
from tests.simulation.checks import check, everything, recorded
from tests.simulation.crawl import TEXTS, Shown
from tests.simulation.forgetting import Forgetful
from tests.simulation.gap import Gap
from tests.simulation.growth import Growing
from tests.simulation.handover import Handover
from tests.simulation.mishaps import OTHER, surviving
from tests.simulation.mutations.mutation import replaced
from tests.simulation.mutations.table import all_mutations, first_seeds
from tests.simulation.options import SCHEDULES
from tests.simulation.plays import FLAGGED
from tests.simulation.scale import ACCURATE, HOLDERS, SMALL, TITLED
from tests.simulation.schedule import Schedule
from tests.simulation.succession import Succession
from tools.simulation import main, violation
from worker.fingerprint.near import AccurateNear
from worker.fingerprint.scoped import TEMPLATE, ScopedNear
from worker.index.blocks import unpack
from worker.stream import log_follower as follower_module
from worker.stream.log import Role
from worker.stream.observer import Observer
from worker.stream.shard.live import LiveShard
from worker.stream.shard.owned import OwnedShard
from worker.stream.shard.snapshots import SnapshotFolder
from worker.verdict.decide import decide

SHOWN = 3


def broken(schedules: int, scale: str) -> list[str]:
    """The first violations and how to replay them, in this many schedules and in all schedules that were the first to
    notice a mutation."""
    firsts = first_seeds()
    telling = {firsts.get(mutation.__name__, 0) for play, mutation in all_mutations() if play == scale}
    found: list[str] = []
    for seed in sorted({*range(schedules), *telling}):
        if what := violation(seed, scale):
            found.append(f"seed {seed}: {what}")
            if len(found) == SHOWN:
                break
    return found


@pytest.mark.timeout(0)
def test_no_schedule_of_a_small_world_breaks_a_promise(request: pytest.FixtureRequest) -> None:
    found = broken(request.config.getoption("--schedules", SCHEDULES), "small")
    assert not found, "\n".join(found)


def test_no_schedule_of_a_small_world_with_sketches_and_scopes_breaks_a_promise() -> None:
    found = broken(30, "accurate")
    assert not found, "\n".join(found)


def test_in_a_world_with_sketches_every_rule_is_the_reason_of_some_verdict() -> None:
    seen: Counter[str] = Counter()
    for seed in range(40):
        world = Schedule(seed, ACCURATE).run().world
        seen.update(Verdict.decode(record.value).reason for record in everything(world, VERDICTS))
    rules = ("first", "exact-text", "exact-bytes", "hamming", "sketch", "same-url", "no-features")
    assert all(seen[reason] > 3 for reason in rules), seen


def test_no_schedule_of_a_small_world_with_sites_and_titles_breaks_a_promise() -> None:
    found = broken(40, "titled")
    assert not found, "\n".join(found)


def test_no_schedule_of_a_world_of_real_sizes_with_sites_and_titles_breaks_a_promise() -> None:
    found = broken(3, "real-titled")
    assert not found, "\n".join(found)


def test_in_a_few_titled_schedules_everything_occurs_that_the_rule_is_about() -> None:
    seen: Counter[str] = Counter()
    for seed in range(40):
        schedule = Schedule(seed, TITLED).run()
        log = recorded(schedule.world)
        claims = {(offset, place): claim for offset, batch in log for place, claim in enumerate(claims_of(batch))}
        seen.update(f"doubt {claim.doubt}" for claim in claims.values())
        for record in everything(schedule.world, VERDICTS):
            verdict = Verdict.decode(record.value)
            page = claims[verdict.order]
            before = [claim for order, claim in claims.items() if order < verdict.order and claim.scope == page.scope]
            alike = [claim for claim in before if schedule.near.near(claim, page)]
            if verdict.verdict == "unique":
                sites = {claim.site == page.site for claim in alike}
                marked = [claim for claim in alike if TEMPLATE in (claim.doubt, page.doubt)]
                seen["unique for its title"] += True in sites
                seen["unique for a mark"] += any(claim.site != page.site for claim in marked)
            elif page.doubt:
                seen["copy of a doubted text"] += 1
    wanted = ("doubt 0", "doubt 1", "doubt 2", "unique for its title", "unique for a mark", "copy of a doubted text")
    assert all(seen[what] > 10 for what in wanted), seen


def test_no_schedule_with_pages_that_are_pardoned_or_not_stored_breaks_a_promise() -> None:
    found = [*broken(24, "flagged"), *broken(6, "flagged-succession"), *broken(1, "real-flagged")]
    assert not found, "\n".join(found)


def test_in_a_few_flagged_schedules_everything_occurs_that_the_rule_is_about() -> None:
    seen: Counter[str] = Counter()
    for seed in range(20):
        schedule = Schedule(seed, FLAGGED).run()
        log = recorded(schedule.world)
        claims = {(offset, place): claim for offset, batch in log for place, claim in enumerate(claims_of(batch))}
        verdicts = [Verdict.decode(record.value) for record in everything(schedule.world, VERDICTS)]
        pardoned = {verdict.url for verdict in verdicts if verdict.reason == "pardoned"}
        for verdict in verdicts:
            page = claims[verdict.order]
            seen[f"{verdict.verdict} {verdict.reason} {page.flags}"] += 1
            if verdict.verdict == "duplicate":
                seen["copy of a pardoned one"] += verdict.duplicate_of in pardoned
                seen["pardoned, and a copy later"] += verdict.url in pardoned
    wanted = (
        *(f"unique {reason} {flags}" for reason, flags in (("not-stored", 1), ("pardoned", 2), ("not-stored", 3))),
        *(f"refetch same-url {flags}" for flags in range(4)),
        "copy of a pardoned one",
        "pardoned, and a copy later",
    )
    assert all(seen[what] > 5 for what in wanted), seen


@pytest.mark.parametrize("hedge", [0.0, 1e9])
def test_no_verdict_depends_on_when_a_standby_answers(hedge: float) -> None:
    for seed in range(20):
        schedule = Schedule(seed, HOLDERS)
        schedule.policy = replace(schedule.policy, hedge=hedge)
        check(schedule.run())


def test_no_schedule_in_which_partitions_come_while_workers_run_breaks_a_promise() -> None:
    found = [what for play in ("growing", "growing-gap", "growing-succession") for what in broken(12, play)]
    assert not found, "\n".join(found)


def test_in_a_few_growing_schedules_workers_of_several_settings_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Counter[str] = Counter()
    honest = LiveShard.on_decided

    def on_decided(self: LiveShard, decided: Any) -> None:
        seen["claims beyond the setting decided"] += max(decided.claims.highest) >= self.policy.partitions
        honest(self, decided)

    monkeypatch.setattr(LiveShard, "on_decided", on_decided)
    monkeypatch.setattr(
        Observer, "partition_state", lambda self, number, state: seen.update([f"{state.value} {number > 0}"])
    )
    for seed in range(15):
        played = Growing(seed)
        before = played.world.partitions
        played.run()
        seen["partitions that came"] += played.world.partitions - before
        seen["pages there"] += sum(played.world.topics[PAGES, n].end for n in range(before, played.world.partitions))
    wanted = ("claims beyond the setting decided", "unclaimed True", "pages there", "partitions that came")
    assert all(seen[what] > 5 for what in wanted), seen


def test_no_schedule_in_which_pages_are_forgotten_breaks_a_promise() -> None:
    plays = ("forgetful", "forgetful-titled", "forgetful-succession", "forgetful-gap")
    found = [what for play in plays for what in broken(8, play)] + broken(1, "real-forgetful")
    assert not found, "\n".join(found)


def test_in_a_few_forgetful_schedules_all_is_forgotten_that_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Counter[str] = Counter()

    def forgotten(self: Observer, shard: int, condition: ForgetCondition, offset: int, entries: int | None) -> None:
        seen[condition.kind] += bool(entries)
        seen["nothing to forget"] += not entries

    monkeypatch.setattr(Observer, "forgotten", forgotten)
    for seed in range(20):
        played = Forgetful(seed)
        played.run()
        seen["said"] += len(played.said)
        seen["said again"] += len(played.said) - len(set(played.said))
        numbers = range(played.world.shards)
        blocks = [decode(Block, r.value) for n in numbers for r in surviving(played.world.topics[INDEX, n].records)]
        seen["blocks that name it"] += sum(bool(forgotten_of(block)) for block in blocks)
        seen["blocks that hold it"] += sum(
            is_forgotten(known.condition, entry) and entry.order[0] < known.at
            for block in blocks
            for known in forgotten_of(max(blocks, key=lambda one: one.to))
            for entry in unpack(block)
        )
    wanted = ("site", "host", "url-prefix", "before", "scope", "nothing to forget", "said again")
    assert all(seen[what] > 1 for what in (*wanted, "blocks that name it", "blocks that hold it")), seen


def test_in_a_few_schedules_roles_are_given_taken_and_swapped_and_both_holders_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: Counter[str] = Counter()
    honest_hold, honest_let_go = OwnedShard.hold, LiveShard.let_go

    def hold(self: OwnedShard, role: Role | None) -> None:
        seen[f"{self.role} to {role}" if self.live is not None else "while restoring"] += 1
        honest_hold(self, role)

    def let_go(self: LiveShard, up_to: int) -> None:
        seen["lets go"] += bool(self.sealed or self.unflushed) and up_to >= 0
        seen["is behind the blocks"] += up_to > self.standing.to
        honest_let_go(self, up_to)

    monkeypatch.setattr(OwnedShard, "hold", hold)
    monkeypatch.setattr(LiveShard, "let_go", let_go)
    monkeypatch.setattr(Observer, "stood_in", lambda self, shard: seen.update(["stands in"]))
    for seed in range(30):
        Schedule(seed, HOLDERS).run()
    changes = [change for role in Role for change in (f"{role} to None", f"None to {role}")]
    wanted = [*changes, "while restoring", "lets go", "is behind the blocks", "stands in"]
    assert all(seen[what] > 5 for what in wanted), seen


def test_in_that_world_to_be_near_is_not_transitive() -> None:
    near = ScopedNear(AccurateNear(0))
    pages = [
        Claim(partition=0, offset=0, clock=0, url="", fingerprint=1 << 2 * number, text_hash=number, **text._asdict())
        for number, text in enumerate(TEXTS[15:20])
    ]
    assert all(near(one, other) for one, other in pairwise(pages))
    assert not near(pages[0], pages[-1])


def test_over_two_generations_no_schedule_breaks_a_promise() -> None:
    found = broken(40, "succession")
    assert not found, "\n".join(found)


def test_over_two_generations_no_schedule_with_sites_and_titles_breaks_a_promise() -> None:
    found = broken(15, "titled-succession")
    assert not found, "\n".join(found)


def test_no_schedule_in_which_an_index_is_copied_while_its_workers_work_breaks_a_promise() -> None:
    found = [what for play in ("handover", "titled-handover") for what in broken(12, play)]
    assert not found, "\n".join(found)


def test_in_a_few_handovers_copies_are_killed_on_both_sides_of_the_end_and_wait_for_the_old_workers() -> None:
    seen: Counter[str] = Counter()
    for seed in range(25):
        played = Handover(seed).run()
        seen.update(played.told)
        seen["judged by the new one"] += len(everything(played.new.world, VERDICTS))
    wanted = ["broken off", "broken off behind the end", "stood by", "not yet", "copied survivors"]
    assert all(seen[what] > 2 for what in (*wanted, "judged by the new one")), seen


def test_whatever_was_lost_a_repair_loses_what_it_lists_and_nothing_else() -> None:
    found = broken(50, "gap")
    assert not found, "\n".join(found)


def test_no_schedule_of_a_world_of_real_sizes_breaks_a_promise() -> None:
    found = broken(4, "real")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("seed", [0, 7, 99])
def test_a_schedule_is_a_function_of_its_seed(seed: int) -> None:
    def left_behind() -> list[object]:
        world = Schedule(seed, SMALL).run().world
        return [(key, partition.records, partition.history) for key, partition in sorted(world.topics.items())]

    assert left_behind() == left_behind()


def test_in_a_few_schedules_everything_occurs_that_the_checks_are_about(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Counter[str] = Counter()
    honest = SnapshotFolder.find

    def find(self: SnapshotFolder, shard: int, *rest: Any) -> Any:
        found = honest(self, shard, *rest)
        seen["snapshot used" if found else "snapshot refused" if self.file(shard).exists() else "no snapshot"] += 1
        return found

    monkeypatch.setattr(SnapshotFolder, "find", find)
    for seed in range(60):
        schedule = Schedule(seed).run()
        world = schedule.world
        batches, answers = world.topics[FINGERPRINTS, 0], world.topics[ANSWERS, 0]
        seen.update(Verdict.decode(record.value).verdict for record in everything(world, VERDICTS))
        seen["dead letters"] += len(everything(world, DEAD_LETTERS))
        seen["blocks"] += sum(world.topics[INDEX, number].end for number in range(world.shards))
        seen["forgotten batches"] += len(batches.history)
        seen["answers given twice"] += max(0, answers.end - batches.end * world.shards)
        seen["crashed workers"] += len(schedule.retired)
        seen["expiry"] += schedule.ttl is not None
        seen["batches of another scheme"] += sum(batch.scheme == OTHER for _, batch in recorded(world))
        seen["pages that are too large"] += sum(record.value is None for record in everything(world, DEAD_LETTERS))
        seen["times beyond the cap"] += sum(
            (Shown.of(record).fetched or 0) > record.timestamp + DAY_MS for record in everything(world, PAGES)
        )
        seen["snapshots"] += sum(len(machine.files()) for machine in schedule.machines)
        seen["several workers at the end"] += len(schedule.workers) > 1
    wanted = ["unique", "duplicate", "refetch", "dead letters", "blocks", "forgotten batches", "answers given twice"]
    wanted += ["crashed workers", "expiry", "several workers at the end", "batches of another scheme", "snapshots"]
    wanted += ["pages that are too large", "times beyond the cap"]
    assert all(seen[what] > 10 for what in wanted), seen
    assert all(seen[what] > 5 for what in ("snapshot used", "snapshot refused", "no snapshot")), seen


def test_in_a_few_successions_commands_break_off_and_are_refused_and_both_kinds_come_to_their_end() -> None:
    seen: Counter[str] = Counter()
    for seed in range(60):
        played = Succession(seed).run()
        seen.update(played.told)
        written = everything(played.new.world, VERDICTS)
        seen["judged by the new one"] += len(written)
        seen["copied survivors"] += len(played.new.share.known.survivors)
        seen["only counted"] += sum(played.new.share.counts((r.partition, 0)) for r in written)
    wanted = ["copied", "switched", "broken off", "refused", "forged", "judged by the new one", "copied survivors"]
    assert all(seen[what] > 2 for what in (*wanted, "only counted")), seen


def test_in_a_few_gaps_everything_is_given_up_that_a_repair_can_give_up() -> None:
    seen: Counter[str] = Counter()
    for seed in range(80):
        for planned in Gap(seed).run().plans:
            seen["bridges"] += len(planned.bridges)
            seen["moves"] += len(planned.moves)
            seen["pages left out"] += sum(len(move.skipped) for move in planned.moves)
            seen["annulled batches"] += len(planned.annulled)
    assert all(seen[what] > 5 for what in ("bridges", "moves", "pages left out", "annulled batches")), seen


# the command that replays


def test_a_violation_says_how_to_replay_it(capsys: pytest.CaptureFixture[str]) -> None:
    honest = decide

    def forgetful(batch: int, claims: Any, answers: Any, near: Any, **settings: Any) -> Any:
        return honest(batch, claims, [answer_of(void=void_of(answer)) for answer in answers], near, **settings)

    with replaced(follower_module, "decide", forgetful):
        assert main(["--schedules", "20"]) == 1
        shown = capsys.readouterr().out
        line = next(line for line in shown.splitlines() if "replay: " in line)
        arguments = line.partition("python -m tools.simulation ")[2].split()
        assert main(arguments) == 1
    assert main(arguments) == 0
    assert "1 schedules, 0 with a violation" in capsys.readouterr().out
