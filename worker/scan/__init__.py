"""Verdicts on the pages of archives, without Kafka: files in, a verdict a page and the survivors out."""
