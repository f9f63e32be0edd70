"""A browser shows the report: on a phone and on a screen, by day and by night, without an error message."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import matplotlib.image
import pytest

from tests.results.report.reports import hostile_rows, real_rows, report, texts_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not on PATH (Debian's package chromium)"),
]
SCHEMES: Final = {"dark": 0, "light": 1}
WIDTHS: Final = (390, 1280)

MEASURING: Final = """<!DOCTYPE html><body><script>
const measured = {};
const measure = (frame) => {
  const page = frame.contentDocument, root = page.documentElement;
  for (const part of page.querySelectorAll("details")) part.open = true;
  const host = page.querySelector("#where table");
  const names = () => Array.from(host.tBodies[0].rows, (row) => parseInt(row.cells[1].textContent.replace(/,/g, "")));
  const button = host.querySelectorAll("thead button")[1];
  button.click(); const falling = names(); button.click(); const rising = names();
  const first = page.querySelector("a");
  first.focus();
  measured[frame.name] = {
    width: frame.clientWidth, scrolls: root.scrollWidth,
    wide: Array.from(page.querySelectorAll("body *")).filter((e) =>
      e.getBoundingClientRect().right > frame.clientWidth + 1 && getComputedStyle(e).position !== "absolute")
      .map((e) => e.outerHTML.slice(0, 200)),
    falling, rising, sorted: button.parentElement.getAttribute("aria-sort"),
    skip: first.getBoundingClientRect().left >= 0,
  };
  document.body.dataset.measured = JSON.stringify(measured);
};
</script>FRAMES</body>"""


class Asked(ThreadingHTTPServer):
    """Serves a folder and remembers the requests."""

    paths: list[str]


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *ignored: Any) -> None:
        assert isinstance(self.server, Asked)
        self.server.paths.append(self.path)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Asked]:
    with Asked(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path))) as server:
        server.paths = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def browser(folder: Path, *arguments: str) -> tuple[str, list[str]]:
    """The output of chromium, and the error messages of pages and their scripts."""
    ended = subprocess.run(
        [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            f"--user-data-dir={folder / 'profile'}",
            *arguments,
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return ended.stdout, [line for line in ended.stderr.splitlines() if "CONSOLE" in line]


def test_nothing_is_cut_off_complained_of_or_asked_for(served: Asked, tmp_path: Path) -> None:
    real, hostile = tmp_path / "real", tmp_path / "hostile"
    for folder in (real, hostile):
        folder.mkdir()
    report(real_rows(), real, texts_of)
    report(hostile_rows(), hostile, lambda asked: {(row.file, row.offset): row.url + " x" * 9 for row in asked})
    frames = "".join(
        f'<iframe name="{folder.name} {width}" src="{folder.name}/report.html" onload="measure(this)" '
        f'style="width:{width}px; height:900px; border:0"></iframe>'
        for folder in (real, hostile)
        for width in WIDTHS
    )
    (tmp_path / "outer.html").write_text(MEASURING.replace("FRAMES", frames))
    address = f"http://127.0.0.1:{served.server_port}/outer.html"
    shown, complaints = browser(tmp_path, "--virtual-time-budget=5000", "--dump-dom", address)
    assert complaints == []
    assert set(served.paths) <= {"/outer.html", "/real/report.html", "/hostile/report.html", "/favicon.ico"}
    found = re.search(r'data-measured="([^"]*)"', shown)
    assert found is not None, shown[-2000:]
    measured = json.loads(found[1].replace("&quot;", '"'))
    assert len(measured) == 4
    for name, one in measured.items():
        assert one["width"] == int(name.split()[1])
        assert one["wide"] == []
        assert one["scrolls"] <= one["width"], "there is nothing to scroll sideways"
        assert one["skip"], "the first link is seen where it has the focus"
        assert one["falling"] == sorted(one["falling"], reverse=True)
        assert one["rising"] == sorted(one["rising"])
        assert one["sorted"] == "ascending"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_is_drawn_by_day_and_by_night(scheme: str, tmp_path: Path) -> None:
    report(real_rows(), tmp_path, texts_of)
    picture = tmp_path / "report.png"
    _, complaints = browser(
        tmp_path,
        f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
        "--window-size=390,2000",
        f"--screenshot={picture}",
        (tmp_path / "report.html").as_uri(),
    )
    assert complaints == []
    drawn = matplotlib.image.imread(picture)[:, :, :3]
    assert drawn.shape[1] == 390
    paper = drawn[0, 0]
    assert (paper.mean() > 0.9) == (scheme == "light")
    assert 0.02 < (abs(drawn - paper).sum(axis=2) > 0.3).mean() < 0.6, "there is much to be seen, and paper around it"
