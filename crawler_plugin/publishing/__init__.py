"""Pages on their way to Kafka, and verdicts back: one delivery a crawl, its budget, outbox, publisher, connection."""
