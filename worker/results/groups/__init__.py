"""Groups of pages that are near to one another, from the verdicts on them."""
