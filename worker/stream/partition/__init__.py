"""A partition of ``pages`` in the hands of a worker: pages are fingerprinted, claimed and committed."""
