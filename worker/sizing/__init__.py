"""Sizes: measures this program on this machine, and computes the needs of a crawl."""
