"""``worker.local`` over HTTP, for crawlers in any language."""
