"""The crawl that judges its pages itself."""
