"""Reads pages out of archives: WARC, JSON lines, CSV, Parquet, and folders of files."""
