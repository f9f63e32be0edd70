"""The command line: one file for each command, and ``main``, which finds it."""
