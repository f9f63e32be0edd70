"""A folder of documents to measure with."""

from __future__ import annotations

import json
import lzma
from pathlib import Path


def write_documents(folder: Path, pages: int) -> Path:
    """``pages`` pages, and one document without HTML."""
    with lzma.open(folder / "docs.jsonl.xz", "wt", encoding="utf-8") as lines:
        for number in range(pages):
            words = " ".join(f"word{number * 1000 + place}" for place in range(200))
            html = f"<html><body><p>预热 {words}</p></body></html>"
            lines.write(json.dumps({"id": number, "url": f"http://a.example/{number}", "html": html}) + "\n")
        lines.write(json.dumps({"id": pages, "url": f"http://a.example/{pages}", "html": None}) + "\n")
    return folder
