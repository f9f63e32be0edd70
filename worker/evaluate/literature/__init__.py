"""SimHash as in the literature: of any width, by other weights and hashes, with each step visible, and the measures
between two of them. No verdict rests on it."""
