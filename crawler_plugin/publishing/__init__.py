"""Pages on their way to Kafka, and verdicts back: one delivery per crawl, its budget, outbox, publisher, connection."""
