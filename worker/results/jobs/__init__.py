"""The verdicts of one crawl, told from those of all others: whether they are complete, as a table, beside its items."""
