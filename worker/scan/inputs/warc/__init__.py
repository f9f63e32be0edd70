"""Reads WARC and ARC files: records, the HTTP responses in them, and the pages that these are."""
