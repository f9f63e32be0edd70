"""Benchmarks that compare this project with its peers, and measure its parts one by one; no part of the product."""
