"""Publishes each page that a Scrapy crawl fetches, without losing one and without slowing the crawl.

``ADDONS = {"crawler_plugin.Addon": 500}``, or ``ITEM_PIPELINES = {"crawler_plugin.Pipeline": 300}``.

``crawler_plugin.wire`` holds the formats on the wire, which workers need too: importing it imports no Scrapy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from crawler_plugin.addon import Addon
    from crawler_plugin.body import PageBody
    from crawler_plugin.components.capture import CaptureMiddleware
    from crawler_plugin.components.feedback import FeedbackMiddleware
    from crawler_plugin.components.pipeline import Pipeline
    from crawler_plugin.waiting_items import DedupVerdict

__all__ = ["Addon", "CaptureMiddleware", "DedupVerdict", "FeedbackMiddleware", "PageBody", "Pipeline"]

_HOMES: Final = {
    "Addon": "addon",
    "PageBody": "body",
    "CaptureMiddleware": "components.capture",
    "DedupVerdict": "waiting_items",
    "FeedbackMiddleware": "components.feedback",
    "Pipeline": "components.pipeline",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
