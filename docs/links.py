"""A hook of mkdocs: links from the handbook to files of the repository that are no pages of it.

In a checkout such a link leads to the file, and so it does where the repository is shown in a browser. On the built
site there is no such file: the link leads to the repository if ``repo_url`` in mkdocs.yml names one, else its text is
all that stays.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
DOCS: Final = "docs"

_LINK: Final = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>\.\./[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """The page's text with each link out of the handbook led to the repository, or left out."""
    folder = posixpath.join(DOCS, posixpath.dirname(page.file.src_uri))

    def led(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link["target"]))
        if path.startswith(f"{DOCS}/"):
            return link[0]
        if not (ROOT / path).exists():
            raise ValueError(f"{page.file.src_uri}: there is no {path}; correct the link")
        if not config["repo_url"]:
            text = link["text"]
            return f"`{text}`" if re.fullmatch(r"[\w@./-]*[./][\w@./-]*", text) else text
        return f"[{link['text']}]({config['repo_url'].rstrip('/')}/blob/main/{path}{link['anchor'] or ''})"

    return _LINK.sub(led, markdown)
