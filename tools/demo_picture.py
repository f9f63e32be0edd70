"""``python -m tools.demo_picture``: runs the demo and draws its result as docs/images/demo.svg for the README."""

from __future__ import annotations

import html
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

PICTURE: Final = Path(__file__).resolve().parent.parent / "docs" / "images" / "demo.svg"
FIRST: Final = "4. What came out"
AFTER: Final = "5. Two of them side by side"
COLUMNS: Final = 110

LENGTH: Final = re.compile(r'textLength="([\d.]+)"([^>]*)>([^<]+)<')

# rich's own template loads fonts from the network; a README's picture must not.
TEMPLATE: Final = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>What the demo prints at its end</title>
<desc>Pages by verdict, duplicates by section, owners of shards, examples of duplicates, as text in a terminal
</desc>
<style>
.{unique_id}-matrix {{ font-family: "DejaVu Sans Mono", "Noto Sans Mono CJK SC", Menlo, Consolas, monospace;
font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>{lines}</defs>
<rect width="{width}" height="{height}" rx="8" fill="#292929"/>
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""


def main() -> int:
    """0 if the demo's sums were right and the picture is drawn."""
    demo = subprocess.run([sys.executable, "-m", "worker", "demo"], capture_output=True, text=True, check=False)
    if demo.returncode:
        print(demo.stdout, demo.stderr, sep="\n", file=sys.stderr)
        return demo.returncode
    shown = demo.stdout[demo.stdout.index(FIRST) : demo.stdout.index(AFTER)]
    console = Console(record=True, file=io.StringIO(), width=COLUMNS)
    console.print(Text(shown.rstrip(), overflow="fold"))
    drawn = console.export_svg(code_format=TEMPLATE, unique_id="demo")
    PICTURE.write_text(LENGTH.sub(_wide, drawn), encoding="utf-8")
    return 0


def _wide(text: re.Match[str]) -> str:
    """Widen the text: rich gives every character the width of a Latin one, so that Chinese ones would overlap."""
    length, between, shown = text.groups()
    characters = html.unescape(shown)
    return f'textLength="{float(length) * cell_len(characters) / len(characters):.1f}"{between}>{shown}<'


if __name__ == "__main__":
    sys.exit(main())
