"""Verdicts that come back to the crawl, and the crawl that makes them itself."""
