"""Keeps pages that Kafka has not confirmed in a file until it does: the next crawl sends them, or the command here.

``python -m crawler_plugin.spool FILE`` sends them without a crawl.
"""
