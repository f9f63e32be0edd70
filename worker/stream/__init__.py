"""Where Kafka meets the pure parts: logs, readers, the worker's step."""
