"""Labelled pairs of pages: the values, and where they come from."""
