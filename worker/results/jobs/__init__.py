"""The verdicts of one crawl among those of all others: whether they are complete, as a table, next to its items."""
