"""Makes the topics on the broker as ``crawler_plugin.wire.topics`` says, and compares them with it.

The two logs have one partition each, and the index one for each shard: the order of claims and the place of each
survivor depend on these numbers, so nothing changes them. All other topics may have more partitions than is wanted, and
get those that they lack.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from kafka import KafkaAdminClient, errors
from kafka.admin import ConfigResource, ConfigResourceType

from crawler_plugin.wire.errors import Unavailable, UsageError
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, INDEX, INDEX_STANDBY, PAGES, TopicSpec
from worker.stream.kafka.connection import Options, reaching

MISSING: Final = "missing"
PARTITIONS: Final = "partitions"
MORE_PARTITIONS: Final = "more partitions"
"""``pages`` has partitions that the setting leaves out: their pages wait."""
EXACT: Final = (FINGERPRINTS, ANSWERS, INDEX, INDEX_STANDBY)
IN_FORCE_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True)
class Difference:
    """One way in which a topic on the broker is not as wanted.

    ``what`` is ``missing``, ``partitions``, ``more partitions`` or the name of a topic setting; values are as the
    broker spells them, and ``found`` is None where there is nothing. ``move`` says what to do where ``topics create``
    does not remove the difference.
    """

    topic: str
    what: str
    wanted: str
    found: str | None
    move: str = field(default="", compare=False)

    def __str__(self) -> str:
        if self.what == MISSING:
            return f"{self.topic}: missing"
        if self.what == MORE_PARTITIONS:
            return f"{self.topic}: has {self.found} partitions, and topics.partitions is {self.wanted}"
        return f"{self.topic}: {self.what} should be {self.wanted}, is {self.found}"


def compare_topics(options: Options, specs: Iterable[TopicSpec]) -> list[Difference]:
    """All differences, in the order of ``specs``. Topic settings that a spec does not name are the operator's.

    Raises:
        Unavailable: the broker is not there.
        UsageError: its user may not look at the topics.
    """
    specs = tuple(specs)
    with _admin(options) as admin:
        partitions = _partitions(admin, specs)
        settings = _settings(admin, {spec.name: spec.config for spec in specs if spec.name in partitions})
    return [
        difference
        for spec in specs
        for difference in _differences(spec, partitions.get(spec.name), settings.get(spec.name, {}))
    ]


def create_topics(options: Options, specs: Iterable[TopicSpec], replication_factor: int) -> list[str]:
    """Make the topics that do not exist, and return their names; leaves existing topics alone.

    Returns when the new ones have leaders, so that they can be used at once.

    Raises:
        Unavailable: the broker is not there, or the topics did not become usable.
        UsageError: the broker refuses a topic (copies, a setting, rights).
    """
    specs = tuple(specs)
    with _admin(options) as admin:
        existing = _partitions(admin, specs)
        absent = [spec for spec in specs if spec.name not in existing]
        if not absent:
            return []
        wanted = {
            spec.name: {
                "num_partitions": spec.partitions,
                "replication_factor": replication_factor,
                "configs": dict(spec.config),
            }
            for spec in absent
        }
        answer = admin.create_topics(wanted, raise_errors=False)
        created = [topic["name"] for topic in answer["topics"] if _was_created(topic)]
        try:
            admin.wait_for_topics(list(wanted))
        except errors.KafkaTimeoutError as error:
            raise Unavailable(
                f"topics were made but got no leaders ({error}): look at the brokers, try again"
            ) from error
        return created


def alter_topics(options: Options, differences: Iterable[Difference]) -> list[Difference]:
    """Give topics the settings and the partitions that ``differences`` want, and return those that were set.

    Raises:
        Unavailable: the broker is not there.
        UsageError: the broker refuses a setting, or more partitions.
    """
    altered = [difference for difference in differences if difference.what != MISSING and not difference.move]
    wanted: dict[str, dict[str, str]] = {}
    more: dict[str, int] = {}
    for difference in altered:
        if difference.what == PARTITIONS:
            more[difference.topic] = int(difference.wanted)
        else:
            wanted.setdefault(difference.topic, {})[difference.what] = difference.wanted
    if wanted:
        _alter_configs(options, wanted)
    if more:
        _grow(options, more)
    return altered


def _alter_configs(options: Options, wanted: Mapping[str, Mapping[str, str]]) -> None:
    with _admin(options) as admin:
        answer = admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, name, config) for name, config in wanted.items()]
        )
        for name, outcome in answer["topic"].items():
            if outcome != "OK":
                raise UsageError(
                    f"the broker does not set {wanted[name]} on {name}: {outcome}; correct topics.* or the user's "
                    "rights"
                )
        _wait_until_in_force(admin, wanted)


def _grow(options: Options, wanted: Mapping[str, int]) -> None:
    """Make the partitions that topics lack, those of the first topic last: ``pages`` stands before its outputs."""
    with _admin(options) as admin:
        for name in reversed(list(wanted)):
            try:
                admin.create_partitions({name: wanted[name]})
            except (errors.InvalidPartitionsError, errors.PolicyViolationError) as error:
                raise UsageError(f"the broker does not give {name} {wanted[name]} partitions: {error}") from error
        deadline = time.monotonic() + IN_FORCE_TIMEOUT_S
        while late := [name for name, count in wanted.items() if _led_partitions(admin, name) < count]:
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"the broker took but does not show the new partitions of {', '.join(late)}; check again later"
                )
            time.sleep(0.05)


def _led_partitions(admin: Any, name: str) -> int:
    (topic,) = admin.describe_topics([name])
    return sum(partition["leader_id"] >= 0 for partition in topic["partitions"])


def delete_topics(options: Options, names: Sequence[str], groups: Sequence[str]) -> list[str]:
    """Delete these topics and consumer groups with all that they hold; returns those that existed.

    Raises:
        Unavailable: the broker is not there, or cannot delete something now.
        UsageError: its user may not delete them.
    """
    with _admin(options) as admin:
        known = {group["group_id"] for group in admin.list_groups()}
        doomed = [group for group in groups if group in known]
        topics = [topic["name"] for topic in admin.describe_topics(list(names)) if not topic["error_code"]]
        outcomes = list(admin.delete_groups(doomed).items()) if doomed else []
        if topics:
            admin.delete_topics(topics)
    if failed := [f"{group} ({outcome})" for group, outcome in outcomes if outcome != "OK"]:
        raise Unavailable(f"the broker did not delete {', '.join(failed)}: run the same command again")
    return [*doomed, *topics]


@contextmanager
def _admin(options: Options) -> Iterator[Any]:
    with reaching(options):
        admin = KafkaAdminClient(**options)
        try:
            yield admin
        finally:
            admin.close()


def _wait_until_in_force(admin: Any, wanted: Mapping[str, Mapping[str, str]]) -> None:
    """Wait until brokers show these settings: the controller acknowledges them before the brokers have read them."""
    deadline = time.monotonic() + IN_FORCE_TIMEOUT_S
    while True:
        found = _settings(admin, wanted)
        late = [
            f"{name}: {key}"
            for name, config in wanted.items()
            for key, value in config.items()
            if not _mean_the_same(value, found[name].get(key))
        ]
        if not late:
            return
        if time.monotonic() > deadline:
            raise Unavailable(f"the broker took but does not show these settings: {', '.join(late)}; check again later")
        time.sleep(0.05)


def _partitions(admin: Any, specs: Sequence[TopicSpec]) -> dict[str, int]:
    """Number of partitions of those topics that exist."""
    counts = {}
    for topic in admin.describe_topics([spec.name for spec in specs]):
        error = errors.for_code(topic["error_code"])
        if error is errors.NoError or error is errors.LeaderNotAvailableError:
            counts[topic["name"]] = len(topic["partitions"])
        elif error is not errors.UnknownTopicOrPartitionError:
            raise error(topic["name"])
    return counts


def _settings(admin: Any, keys: Mapping[str, Iterable[str]]) -> dict[str, dict[str, str | None]]:
    """Values in force of the settings ``keys`` of each topic, its own or inherited from the broker."""
    if not keys:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, name, list(names)) for name, names in keys.items()]
    described = admin.describe_configs(resources, config_filter="all")["topic"]
    return {name: {key: row["value"] for key, row in rows.items()} for name, rows in described.items()}


def _differences(spec: TopicSpec, partitions: int | None, found: Mapping[str, str | None]) -> Iterator[Difference]:
    if partitions is None:
        yield Difference(spec.name, MISSING, f"{spec.partitions} partitions", None)
        return
    if partitions != spec.partitions and spec.topic in EXACT:
        move = _other_partitions(spec, partitions)
        yield Difference(spec.name, PARTITIONS, str(spec.partitions), str(partitions), move)
    elif partitions < spec.partitions:
        yield Difference(spec.name, PARTITIONS, str(spec.partitions), str(partitions))
    elif partitions > spec.partitions and spec.topic == PAGES:
        move = _unclaimed(spec, partitions)
        yield Difference(spec.name, MORE_PARTITIONS, str(spec.partitions), str(partitions), move)
    for key, wanted in spec.config.items():
        if not _mean_the_same(wanted, found.get(key)):
            yield Difference(spec.name, key, wanted, found.get(key))


def _mean_the_same(wanted: str, found: str | None) -> bool:
    """Whether two values of a setting are equal; lists, such as ``compact,delete``, may come in any order."""
    return found is not None and set(wanted.split(",")) == set(found.split(","))


def _was_created(topic: Mapping[str, Any]) -> bool:
    """Whether this topic was made; false if someone else made it in the meantime."""
    error = errors.for_code(topic["error_code"])
    if error is errors.NoError:
        return True
    if error is errors.TopicAlreadyExistsError:
        return False
    detail = topic.get("error_message") or error.__name__
    if error is errors.InvalidReplicationFactorError:
        raise UsageError(f"cannot make {topic['name']}: {detail}; lower topics.replication_factor or add brokers")
    if issubclass(error, errors.RetriableError):
        raise Unavailable(f"cannot make {topic['name']} now: {detail}; try again")
    raise UsageError(f"the broker refuses to make {topic['name']}: {detail}; correct topics.* or the user's rights")


def _unclaimed(spec: TopicSpec, found: int) -> str:
    """What to do about partitions of ``pages`` that the setting leaves out, and what happens to their pages until then.

    Kafka cannot remove a partition.
    """
    return (
        f"Pages of partitions {spec.partitions} to {found - 1} wait, and are lost when topics.retention_days are over: "
        f"set topics.partitions to {found}, run `python -m worker topics create --alter-config`, which gives the "
        "outputs as many partitions, and restart the workers with it, one after the other"
    )


def _other_partitions(spec: TopicSpec, found: int) -> str:
    """What to do about a number of partitions that cannot be changed in place."""
    if spec.topic in (FINGERPRINTS, ANSWERS):
        return (
            f"{spec.name} must have one partition, whose order all verdicts follow. The first partition still holds "
            "everything: if the workers were stopped with SIGTERM, run `python -m worker index copy --to NAME` with a "
            "new NAME, and start workers with topics.generation=NAME, which go on where they ended"
        )
    move = (
        f"The number of shards of an existing index cannot be changed in place: set topics.shards to {found}; or stop "
        f"all workers with SIGTERM, run `python -m worker --set topics.shards={found} index copy --to NAME --shards "
        f"{spec.partitions}` with a new NAME, and start workers with topics.generation=NAME and "
        f"topics.shards={spec.partitions}"
    )
    if found < spec.partitions:
        return move
    return (
        f"{move}. If they were added by hand, the index still has {spec.partitions}: then `python -m worker index copy "
        "--to NAME` is enough"
    )
