"""The parts of kafka-python that workers and the Scrapy plugin both need. Of this project it imports only
``errors``."""
