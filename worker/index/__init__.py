"""From fingerprints to candidates: the survivors that a shard remembers, and the packed blocks that rebuild it."""
