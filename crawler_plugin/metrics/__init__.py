"""The metrics of a running crawl for Prometheus: their names, their text format, and their HTTP server."""
