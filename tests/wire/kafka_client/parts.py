"""Every part of kafka-python that workers or the plugin touch although it has no public name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import kafka
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.cluster import ClusterMetadata
from kafka.consumer.fetcher import Fetcher
from kafka.coordinator.base import BaseCoordinator
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.net.compat import KafkaNetClient
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport
from kafka.producer.producer_batch import ProducerBatch
from kafka.producer.record_accumulator import RecordAccumulator
from kafka.producer.sender import Sender
from kafka.producer.transaction_manager import TransactionManager
from kafka.protocol.frame import KafkaBytes
from kafka.protocol.parser import KafkaProtocol
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder


class Part(NamedTuple):
    """An attribute of a class, or an attribute that its constructor gives to every object."""

    owner: type
    name: str

    @property
    def is_there(self) -> bool:
        """Whether the installed kafka-python has it."""
        return hasattr(self.owner, self.name) or self.name in self.owner.__init__.__code__.co_names  # type: ignore[misc]


OF_EVERYBODY: Final = (
    Part(KafkaAdminClient, "_net"),
    Part(KafkaBytes, "read"),
    Part(KafkaBytes, "seek"),
    Part(KafkaBytes, "tell"),
    Part(KafkaConnection, "parser"),
    Part(KafkaConnectionManager, "_auth_failures"),
    Part(KafkaConnectionManager, "_build_transport"),
    Part(KafkaConnectionManager, "call_soon"),
    Part(KafkaNetClient, "_manager"),
    Part(KafkaProducer, "_sender"),
    Part(KafkaProducer, "_unregister_cleanup"),
    Part(KafkaProtocol, "_rbuffer"),
    Part(KafkaProtocol, "_receiving"),
    Part(KafkaSSLTransport, "_sock_recv"),
    Part(KafkaTCPTransport, "_sock"),
    Part(KafkaTCPTransport, "_sock_recv"),
    Part(KafkaTCPTransport, "get_protocol"),
    Part(NetworkSelector, "stop"),
    Part(Sender, "force_close"),
    Part(Sender, "wakeup"),
)
"""The parts that ``crawler_plugin.wire.kafka_client.private`` touches."""

OF_WORKERS: Final = (
    Part(ClusterMetadata, "request_update"),
    Part(KafkaConnectionManager, "wait_for"),
    Part(KafkaConsumer, "_cluster"),
    Part(KafkaConsumer, "_coordinator"),
    Part(KafkaConsumer, "_fetcher"),
    Part(KafkaConsumer, "_manager"),
    Part(KafkaConsumer, "_net"),
    Part(BaseCoordinator, "_client"),
    Part(BaseCoordinator, "coordinator_id"),
    Part(BaseCoordinator, "is_dynamic_member"),
    Part(BaseCoordinator, "need_rejoin"),
    Part(BaseCoordinator, "request_rejoin"),
    Part(BaseCoordinator, "reset_generation"),
    Part(ConsumerCoordinator, "ensure_coordinator_ready"),
    Part(Fetcher, "PartitionRecords"),
    Part(Fetcher, "_append"),
    Part(Fetcher, "_completed_fetches"),
    Part(Fetcher, "_fetch_futures"),
    Part(Fetcher, "_manager"),
    Part(Fetcher, "_next_partition_records"),
    Part(Fetcher, "_send_fetches_async"),
    Part(Fetcher, "fetch_records"),
    Part(Fetcher, "fetched_records"),
    Part(KafkaProducer, "_accumulator"),
    Part(KafkaProducer, "_sender"),
    Part(KafkaProducer, "_transaction_manager"),
    Part(MemoryRecords, "MAGIC_OFFSET"),
    Part(MemoryRecords, "_buffer"),
    Part(MemoryRecords, "_cache_next"),
    Part(MemoryRecords, "_next_slice"),
    Part(MemoryRecords, "next_batch"),
    Part(MemoryRecordsBuilder, "_builder"),
    Part(MemoryRecordsBuilder, "_next_offset"),
    Part(ProducerBatch, "_record_futures"),
    Part(RecordAccumulator, "_appends_in_progress"),
    Part(RecordAccumulator, "_batches"),
    Part(RecordAccumulator, "_incomplete"),
    Part(RecordAccumulator, "_tp_lock"),
    Part(Sender, "wakeup"),
    Part(TransactionManager, "begin_commit"),
    Part(TransactionManager, "maybe_add_partition_to_transaction"),
    Part(TransactionManager, "send_offsets_to_transaction"),
    Part(DefaultRecordBatch, "HEADER_STRUCT"),
    Part(DefaultRecordBatch, "_buffer"),
    Part(DefaultRecordBatchBuilder, "_buffer"),
    Part(DefaultRecordBatchBuilder, "_compression_type"),
    Part(DefaultRecordBatchBuilder, "_first_timestamp"),
    Part(DefaultRecordBatchBuilder, "_last_offset"),
    Part(DefaultRecordBatchBuilder, "_max_timestamp"),
    Part(DefaultRecordBatchBuilder, "_maybe_compress"),
    Part(DefaultRecordBatchBuilder, "_num_records"),
)
"""The parts that ``worker.stream.kafka.private`` touches, and that ``BoundedFetcher`` overrides."""


def lacking(parts: Iterable[Part]) -> list[str]:
    """A sentence for each part that the installed kafka-python does not have."""
    return [
        f"kafka-python {kafka.__version__} has no {part.owner.__module__}.{part.owner.__qualname__}.{part.name}: bound "
        "kafka-python to earlier versions in pyproject.toml, or find out what took its place"
        for part in parts
        if not part.is_there
    ]
