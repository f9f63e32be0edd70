"""From fingerprints to candidates: what a shard remembers, and the packed blocks from which it is rebuilt."""
