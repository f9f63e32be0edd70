"""The mishaps of workers, groups, the broker and the topics in a round of the nemesis."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from kafka import KafkaAdminClient, errors
from kafka.admin import MemberToRemove

from crawler_plugin.wire.errors import Refused, Unavailable
from tests.cluster import hostile
from tests.cluster.cluster import PROGRAM, Cluster
from tests.cluster.cluster import running as running_again
from tests.cluster.crawl import invented
from tests.open_transactions import open_transactions
from tests.waiting import wait_for
from tools.cluster.round import Round
from worker.broker.server import LocalBroker
from worker.compose.topology import cluster as cluster_view
from worker.compose.topology import specs
from worker.stream.kafka.topic_admin import PARTITIONS, alter_topics, compare_topics

MOST_WORKERS: Final = 4
MOST_PARTITIONS: Final = 12


def kill(world: Round) -> bool:
    """kill -9 of a worker; another is started."""
    if not world.workers:
        return False
    world.chance.choice(world.workers).kill()
    world.start()
    return True


def both_holders(world: Round) -> bool:
    """kill -9 of two workers at once, both holders of some shards if shards have two holders; two are started."""
    if len(world.workers) < 2:
        return False
    for worker in world.chance.sample(world.workers, 2):
        worker.kill()
    for _ in range(2):
        world.start()
    return True


def kill_in_a_transaction(world: Round) -> bool:
    """kill -9 of a worker whose transaction is open; another is started."""
    admin = KafkaAdminClient(**world.cluster.options)
    try:
        for _ in range(30):
            if not world.awake():
                return False
            worker = world.chance.choice(world.awake())
            worker.pause()
            writer = next((line for line in worker.said().splitlines() if " runs, scheme " in line), "")
            name = f"{world.cluster.settings.kafka.group}-{writer.partition('worker ')[2].partition(' ')[0]}"
            try:
                is_caught = bool(writer and open_transactions(admin, name))
            except errors.RetriableError:  # of a broker that has just come back
                is_caught = False
            if is_caught:
                worker.kill()
                world.start()
                return True
            worker.wake()
            time.sleep(0.05)
    finally:
        admin.close()
    return False


def pause(world: Round) -> bool:
    """SIGSTOP past the session timeout, SIGCONT later."""
    return _stop(world, 8, 20)


def nap(world: Round) -> bool:
    """SIGSTOP for less than the session timeout."""
    return _stop(world, 0.5, 5)


def _stop(world: Round, least: float, most: float) -> bool:
    if not world.awake():
        return False
    worker = world.chance.choice(world.awake())
    worker.pause()
    world.asleep[worker.process.pid] = time.monotonic() + world.chance.uniform(least, most)
    return True


def cut(world: Round) -> bool:
    """The line between a worker and the broker is cut; later the bytes sent on it arrive, or its connections end."""
    lines = [world.line_of.get(worker.process.pid) for worker in world.awake()]
    whole = [line for line in lines if line is not None and not line.is_cut]
    if not whole:
        return False
    line = world.chance.choice(whole)
    line.cut()
    world.broken_lines.add(line)
    world.cut_until[line] = time.monotonic() + world.chance.uniform(0.5, 20)
    return True


def join(world: Round) -> bool:
    """One more worker."""
    if len(world.workers) >= MOST_WORKERS:
        return False
    world.start()
    return True


def leave(world: Round) -> bool:
    """SIGTERM to a worker, which must drain and end with 0, or with 3 if a broker was just away."""
    running = world.running()
    if len(running) < 2:
        return False
    world.end(world.chance.choice(running))
    return True


def leave_for_good(world: Round) -> bool:
    """SIGUSR1 to a worker, which drains, leaves its groups and ends; or kill -9 of one with a name and `leave NAME`."""
    running = world.running()
    if len(running) < 2:
        return False
    worker = world.chance.choice(running)
    name = world.names.get(worker.process.pid)
    if name is None or world.chance.random() < 0.5:
        world.end(worker, signal.SIGUSR1)
        return True
    worker.kill()
    with suppress(Unavailable), cluster_view(world.cluster.settings) as view:
        view.leave(name)
    return True


def one_three_two(world: Round) -> bool:
    """Workers leave for good until one is left, two more come, and one of three leaves."""
    running = world.running()
    if len(running) != len(world.workers) or not running:
        return False
    for worker in running[1:]:
        world.end(worker, signal.SIGUSR1)
    world.start()
    running_again(world.start())
    world.end(world.chance.choice(world.running()), signal.SIGUSR1)
    return True


def more_partitions(world: Round) -> bool:
    """`pages` gets another partition, then the outputs do, and one worker is replaced by one that claims it."""
    number = world.cluster.settings.topics.partitions + 1
    if number > MOST_PARTITIONS:
        return False
    world.behind += world.workers
    world.cluster.change(f"topics.partitions={number}")
    wait_for(lambda: _have_partitions(world.cluster), "more partitions")
    world.start()
    return True


def _have_partitions(cluster: Cluster) -> bool:
    """Give `pages` and the outputs those that they lack, and nothing else; whether that was possible."""
    try:
        lacking = [each for each in compare_topics(cluster.options, specs(cluster.settings)) if each.what == PARTITIONS]
        alter_topics(cluster.options, lacking)
    except (Unavailable, errors.KafkaError):
        return False
    return True


def export(world: Round) -> bool:
    """`index export` of the whole index, while all workers work."""
    folder = world.cluster.folder / f"exported-{len(world.exports)}"
    done = _command(world, "index", "export", "--out", str(folder)) == 0
    world.exports += [folder] * done
    return done


def forget(world: Round) -> bool:
    """`forget --before` a time of some pages' fetches, then kill -9 of a worker: another one restores what is left."""
    before = datetime.now(UTC) - timedelta(days=world.chance.uniform(26, 30))  # a round's first pages are 30 days old
    code = _command(world, "forget", "--before", f"{before:%Y-%m-%dT%H:%M}", "--yes", "--timeout", "10", most=1)
    return code is not None and kill(world)


def _command(world: Round, *arguments: str, most: int = 0) -> int | None:
    """The exit code of a command, 0 to ``most``; None if a broker is away."""
    overrides = [argument for pair in world.cluster.overrides for argument in ("--set", pair)]
    done = subprocess.run(
        [*PROGRAM, *arguments, *overrides], capture_output=True, text=True, cwd=world.cluster.folder, check=False
    )
    is_away = done.returncode in (Unavailable.exit_code, Refused.exit_code)
    if not (is_away or 0 <= done.returncode <= most):
        world.problems.append(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr[-1500:]}")
    return None if is_away else done.returncode


def evict(world: Round) -> bool:
    """The broker puts one member, or all, out of one of the groups."""
    admin = KafkaAdminClient(**world.cluster.options)
    try:
        group = f"{world.cluster.settings.kafka.group}-{world.chance.choice(('pages', 'shards'))}"
        found = [member["member_id"] for member in admin.describe_groups([group])[group]["members"]]
        gone = found if world.chance.random() < 0.3 else found[:1]
        if not gone:
            return False
        admin.remove_group_members(group, [MemberToRemove(member_id=member) for member in gone])
    except errors.KafkaError:
        return False  # the group is rebalancing, or has changed in between
    finally:
        admin.close()
    return True


def broker_killed(world: Round) -> bool:
    """kill -9 of a broker; it comes back on the same data."""
    return _kill_brokers(world, 1)


def two_brokers_killed(world: Round) -> bool:
    """kill -9 of two brokers of three at once, so that nothing can be written; they come back on the same data."""
    return _kill_brokers(world, 2)


def _kill_brokers(world: Round, number: int) -> bool:
    killed = world.chance.sample(world.brokers, number)
    for broker in killed:
        broker.kill()
    time.sleep(world.chance.uniform(0, 4))
    with ThreadPoolExecutor(number) as pool:  # each of two may wait for the other
        list(pool.map(LocalBroker.start, killed))
    world.outage = time.monotonic()
    return True


def broker_frozen(world: Round) -> bool:
    """SIGSTOP of one broker of three, past its session, then SIGCONT: it wakes and no longer leads any partition."""
    frozen = world.chance.choice(world.brokers)
    assert frozen.pid is not None
    os.kill(frozen.pid, signal.SIGSTOP)
    try:
        time.sleep(world.chance.uniform(3, 10))
    finally:
        os.kill(frozen.pid, signal.SIGCONT)
    world.outage = time.monotonic()
    return True


def clock_jump(world: Round) -> bool:
    """The clock of one worker, or of all, jumps by up to a month, ahead or back."""
    jumping = world.clocks if world.chance.random() < 0.3 else [world.chance.choice(world.clocks)]
    for clock in jumping:
        clock.shift(world.chance.choice((-1, 1)) * world.chance.choice((2, 600, 5400, 86400, 30 * 86400)))
    return True


def bomb(world: Round) -> bool:
    """64 MiB of one letter in a compressed batch on `pages`, good pages before and behind it."""
    return _publish_among_good_ones(world, lambda partition, number: [hostile.bomb(partition, number)])


def wide_headers(world: Round) -> bool:
    """A page with 2 MiB of headers that fits `pages` compressed and no output, good pages before and behind it."""
    return _publish_among_good_ones(world, lambda partition, number: [hostile.wide(partition, number)])


def hostile_strings(world: Round) -> bool:
    """Pages with URLs, marks, entities and titles that once took very long, good pages before and behind them."""
    return _publish_among_good_ones(world, hostile.strings)


def _publish_among_good_ones(world: Round, make: Callable[[int, int], list[hostile.Sent]]) -> bool:
    number = world.tally.happened.total()
    partition = world.chance.randrange(world.cluster.settings.topics.partitions)
    good = [hostile.page(partition, page) for page in islice(invented(10_000 + number), 4)]
    codec = world.chance.choice(hostile.CODECS)
    records = [*good[:2], *make(partition, number), *good[2:]]
    hostile.send(world.cluster.bootstrap, world.cluster.prefix, records, codec)
    return True


def foreign_records(world: Round) -> bool:
    """Garbage, torn and flipped records, and whole ones of another scheme, on all three of the workers' own topics."""
    hostile.send(world.cluster.bootstrap, world.cluster.prefix, hostile.foreign(world.chance))
    return True


Fault = Callable[[Round], bool]
FAULTS: Final[list[tuple[float, Fault]]] = [
    (4, kill),
    (2, both_holders),
    (3, kill_in_a_transaction),
    (3, pause),
    (2, nap),
    (3, cut),
    (4, join),
    (3, leave),
    (3, leave_for_good),
    (1, one_three_two),
    (1, more_partitions),
    (2, export),
    (2, forget),
    (3, evict),
    (2, broker_killed),
    (1, two_brokers_killed),
    (2, broker_frozen),
    (3, clock_jump),
    (2, bomb),
    (2, wide_headers),
    (3, hostile_strings),
    (2, foreign_records),
]
_OF_THREE_BROKERS: Final = (two_brokers_killed, broker_frozen)
"""Faults that are useless with one broker."""
_OF_ONE_BROKER: Final = (cut,)
"""Faults of the lines, which lead only to one broker."""
_OF_UNDATED_PAGES: Final = (bomb, wide_headers, hostile_strings)
"""Faults that cannot be while survivors expire: unreadable pages have no fetch time, and the broker's time would expire
the pages of weeks ago."""
PAIRS_WORKERS: Final = 3
"""With fewer workers some faults cannot happen at once."""
TOGETHER: Final = 0.3
"""How often another fault happens at the same time."""


def faults(brokers: int) -> list[tuple[float, Fault]]:
    """The faults that make sense with this many brokers, each with its weight."""
    useless = _OF_ONE_BROKER if brokers > 1 else _OF_THREE_BROKERS
    return [(weight, act) for weight, act in FAULTS if act not in useless]


def strike(world: Round, *, pairs: bool = False) -> None:
    """Let one of the faults happen, or two at once, and count those that could.

    Half of the time the first is one of those that have happened least. With ``pairs`` there are always two: one that
    has met the fewest others, and one that it has met least.
    """
    chance, tally = world.chance, world.tally
    expires = world.cluster.settings.near.ttl_days is not None
    every = [one for one in faults(len(world.brokers)) if not (expires and one[1] in _OF_UNDATED_PAGES)]
    possible = every
    if pairs:
        for _ in range(PAIRS_WORKERS - len(world.workers)):
            world.start()
        possible = _least(possible, lambda act: tally.partners(act.__name__))
    elif chance.random() < 0.5:
        possible = _least(possible, lambda act: tally.happened[act.__name__])
    acts = [_one_of(possible, chance)]
    if pairs or chance.random() < TOGETHER:
        others = [(weight, act) for weight, act in every if act not in acts]
        acts.append(_one_of(_least(others, lambda act: tally.together[_pair(acts[0], act)]), chance))
    chance.shuffle(acts)
    done = [act for act in acts if act(world)]
    tally.happened.update(act.__name__ for act in done)
    if len(done) > 1:
        tally.together[_pair(*done)] += 1


def _pair(one: Fault, other: Fault) -> frozenset[str]:
    return frozenset((one.__name__, other.__name__))


def _least(possible: list[tuple[float, Fault]], times: Callable[[Fault], int]) -> list[tuple[float, Fault]]:
    least = min(times(act) for _, act in possible)
    return [(weight, act) for weight, act in possible if times(act) == least]


def _one_of(possible: list[tuple[float, Fault]], chance: random.Random) -> Fault:
    ((_, act),) = chance.choices(possible, [weight for weight, _ in possible])
    return act
