"""Makes the topics on the broker as ``crawler_plugin.wire.topics`` says, and compares them with it.

The number of partitions is never changed: the order of claims and the shards of the index depend on it.
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
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, INDEX, INDEX_STANDBY, TopicSpec
from worker.stream.kafka.connection import Options, reaching

MISSING: Final = "missing"
PARTITIONS: Final = "partitions"
IN_FORCE_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True)
class Difference:
    """One way in which a topic on the broker is not as wanted.

    ``what`` is ``missing``, ``partitions`` or the name of a topic setting; values are as the broker spells them, and
    ``found`` is None where there is nothing. ``move`` says what to do where ``topics create`` does nothing about it.
    """

    topic: str
    what: str
    wanted: str
    found: str | None
    move: str = field(default="", compare=False)

    def __str__(self) -> str:
        if self.what == MISSING:
            return f"{self.topic}: missing"
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
    """Make the topics that are not there, and return their names; those that are there are left alone.

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


def alter_configs(options: Options, differences: Iterable[Difference]) -> list[Difference]:
    """Give topics the settings that ``differences`` want, and return those that were set; partitions stay.

    Raises:
        Unavailable: the broker is not there.
        UsageError: the broker refuses a setting.
    """
    altered = [difference for difference in differences if difference.what not in (MISSING, PARTITIONS)]
    wanted: dict[str, dict[str, str]] = {}
    for difference in altered:
        wanted.setdefault(difference.topic, {})[difference.what] = difference.wanted
    if not wanted:
        return []
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
    return altered


def delete_topics(options: Options, names: Sequence[str], groups: Sequence[str]) -> list[str]:
    """Delete these topics and consumer groups with all that they hold; returns those that were there.

    Raises:
        Unavailable: the broker is not there, or does not delete something now.
        UsageError: its user may not.
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
    if partitions != spec.partitions:
        move = _other_partitions(spec, partitions)
        yield Difference(spec.name, PARTITIONS, str(spec.partitions), str(partitions), move)
    for key, wanted in spec.config.items():
        if not _mean_the_same(wanted, found.get(key)):
            yield Difference(spec.name, key, wanted, found.get(key))


def _mean_the_same(wanted: str, found: str | None) -> bool:
    """Whether two values of a setting are equal; lists, such as ``compact,delete``, may come in any order."""
    return found is not None and set(wanted.split(",")) == set(found.split(","))


def _was_created(topic: Mapping[str, Any]) -> bool:
    """Whether this topic was made; false if somebody else made it in the meantime."""
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


def _other_partitions(spec: TopicSpec, found: int) -> str:
    """What to do about a number of partitions, which nothing changes in place."""
    if spec.topic in (FINGERPRINTS, ANSWERS):
        return (
            f"{spec.name} must have one partition, whose order all verdicts follow: set topics.prefix to a new name, "
            "or delete the topics and make them anew"
        )
    if spec.topic in (INDEX, INDEX_STANDBY):
        return (
            f"The shards of an index that is there cannot be changed in place: set topics.shards to {found}; or stop "
            f"all workers with SIGTERM, run `python -m worker --set topics.shards={found} index copy --to NAME "
            f"--shards {spec.partitions}` with a new NAME, and start workers with topics.generation=NAME and "
            f"topics.shards={spec.partitions}"
        )
    return (
        f"The partitions of {spec.name} cannot be changed: set topics.partitions to {found}, or topics.prefix to a new "
        "name"
    )
