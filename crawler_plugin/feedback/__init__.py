"""The crawl learns: requests of URL templates that give only copies wait, or are not made."""
