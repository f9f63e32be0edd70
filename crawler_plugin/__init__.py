"""Publishes each page that a Scrapy crawl fetches, without losing one and without slowing the crawl.

``ADDONS = {"crawler_plugin.Addon": 500}``, or ``ITEM_PIPELINES = {"crawler_plugin.Pipeline": 300}``.
"""

from __future__ import annotations

from crawler_plugin.addon import Addon
from crawler_plugin.body import PageBody
from crawler_plugin.capture import CaptureMiddleware
from crawler_plugin.feedback.middleware import FeedbackMiddleware
from crawler_plugin.pipeline import Pipeline

__all__ = ["Addon", "CaptureMiddleware", "FeedbackMiddleware", "PageBody", "Pipeline"]
