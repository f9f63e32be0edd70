"""Settings: defaults < config file < environment < command line, as one frozen value; errors say what and where."""

from __future__ import annotations

from worker.config.kafka_settings import KafkaSettings
from worker.config.load import Loaded, load, load_settings
from worker.config.model import PageSettings, Settings, TopicSettings

__all__ = ["KafkaSettings", "Loaded", "PageSettings", "Settings", "TopicSettings", "load", "load_settings"]
