"""Features → fingerprint, and the measures between fingerprints. Pure."""
