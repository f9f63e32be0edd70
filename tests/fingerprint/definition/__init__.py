"""A text's way to its fingerprint and sketch in readable steps, with which tests compare the compiled ones."""
