"""The code that spiders and workers share: records and topics, URLs and types, errors, Kafka's login, a web server."""
