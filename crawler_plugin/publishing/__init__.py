"""Pages on their way to Kafka: one delivery a crawl, its budget, outbox, publisher and connection."""
