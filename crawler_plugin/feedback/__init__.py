"""The crawl learns: requests whose URL templates give only copies wait, or are not made."""
