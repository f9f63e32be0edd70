"""What a running crawl tells Prometheus: what there is to tell, as text, over HTTP."""
