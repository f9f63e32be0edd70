"""Rows of JSON, CSV and Parquet: which rows are pages, and how other rows are handled."""
