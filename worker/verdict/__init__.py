"""Candidates → verdicts: a pure function."""
