"""The outcomes of pages: read as rows and tables, by crawl, in groups, as a report, and why two are near."""
