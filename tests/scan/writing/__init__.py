"""Tests of ``worker.scan.writing``."""
