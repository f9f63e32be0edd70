"""A shard in the hands of a worker: restored, live, written to its topic, kept in snapshots."""
