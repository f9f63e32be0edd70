"""What Scrapy makes of the plugin for each crawl: its middlewares and its item pipeline."""
