"""How large: measures this program where it stands, and reckons what a crawl needs."""
