"""Archives in, verdicts out, without Kafka."""
