"""A worker's shard: restored, live, written to its topic, kept in snapshots."""
