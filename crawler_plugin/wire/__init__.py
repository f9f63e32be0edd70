"""What spiders and workers have in common: records and topics, URLs and types, errors, Kafka's login, a web server."""
