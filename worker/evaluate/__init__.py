"""Judges the predicates by labelled pairs of pages, and chooses settings by them."""
