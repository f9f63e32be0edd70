"""What workers and the Scrapy plugin both need of kafka-python. It imports nothing of this project but ``errors``."""
