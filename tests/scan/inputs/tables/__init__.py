"""Rows of JSON, CSV and Parquet: what is a page, and what becomes of one that is none."""
