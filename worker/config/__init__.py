"""Settings: defaults < config file < environment < command line, as one frozen value; errors say what and where."""

from __future__ import annotations

from worker.config.generations import in_generation
from worker.config.load import Loaded, find_config_file, load, load_settings
from worker.config.model import (
    CommitSettings,
    FeatureSettings,
    FingerprintSettings,
    IndexSettings,
    KafkaSettings,
    LogSettings,
    MetricsSettings,
    NearSettings,
    OutputSettings,
    PageSettings,
    SegmentSettings,
    Settings,
    ShutdownSettings,
    TopicSettings,
)

__all__ = [
    "CommitSettings",
    "FeatureSettings",
    "FingerprintSettings",
    "IndexSettings",
    "KafkaSettings",
    "Loaded",
    "LogSettings",
    "MetricsSettings",
    "NearSettings",
    "OutputSettings",
    "PageSettings",
    "SegmentSettings",
    "Settings",
    "ShutdownSettings",
    "TopicSettings",
    "find_config_file",
    "in_generation",
    "load",
    "load_settings",
]
