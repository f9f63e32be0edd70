"""SimHash as the literature has it: of any width, by other weights and hashes, with each step to be seen, and the
measures between two of them. No verdict rests on it."""
