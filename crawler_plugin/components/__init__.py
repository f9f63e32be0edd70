"""The parts of the plugin that Scrapy makes for each crawl: its middlewares and its item pipeline."""
