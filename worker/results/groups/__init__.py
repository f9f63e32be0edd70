"""Groups of pages that are near to one another, out of the verdicts on them."""
