"""Reads pages out of archives: WARC, ARC, WACZ, JSON lines, CSV, Parquet, and folders of files."""
