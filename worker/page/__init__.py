"""Bytes → text → tokens → weighted features. Pure: no clock, file, environment or socket."""
