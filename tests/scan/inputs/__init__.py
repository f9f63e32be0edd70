"""Tests of reading from archives, whole ones and broken ones."""
