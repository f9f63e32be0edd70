"""Labelled pairs of pages: the values, and their sources."""
