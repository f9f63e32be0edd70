"""Child processes that can be killed, so that a page costs only itself. Nothing here knows Kafka."""
