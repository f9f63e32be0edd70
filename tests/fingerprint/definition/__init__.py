"""A text's way to its fingerprint and sketch in readable steps: what the compiled ones are held against."""
