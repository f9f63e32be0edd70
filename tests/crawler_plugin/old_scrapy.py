"""``python -m tests.crawler_plugin.old_scrapy [pytest's arguments]``: crawls with the oldest Scrapy that is allowed.

In an environment of its own in a temporary folder, which sees all that is installed here but has its own Scrapy.
"""

from __future__ import annotations

import os
import site
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

ROOT: Final = Path(__file__).resolve().parents[2]
CRAWLS: Final = [
    "tests/crawler_plugin/test_crawl.py",
    "tests/crawler_plugin/test_addon.py",
    "tests/crawler_plugin/test_capture.py",
    "tests/crawler_plugin/test_component.py::test_capture_without_the_addon_is_refused",
    "tests/crawler_plugin/test_delivery.py",
    "tests/crawler_plugin/test_pipeline.py",
    "tests/crawler_plugin/test_refusal.py",
    "tests/crawler_plugin/test_spooling.py",
    # Of the faults and spools those that meet Scrapy's inside; the others are between the publisher and Kafka.
    "-k=not (test_delivery.py or test_spooling.py) or closed_while_it_waits or interrupted_while_it_waits "
    "or ends_as_a_failure or cannot_share_a_spool",
    # It needs what the oldest Scrapy does not have.
    "--deselect=tests/crawler_plugin/test_crawl.py::test_a_crawl_without_a_twisted_reactor_publishes_too",
]


def oldest_scrapy() -> str:
    """The lower bound in pyproject.toml, for example ``2.14``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = [Requirement(line) for line in project["dependencies"]]
    scrapy = next(requirement for requirement in requirements if requirement.name == "scrapy")
    return next(bound.version for bound in scrapy.specifier if bound.operator == ">=")


def make_environment(folder: Path, version: str) -> Path:
    """The interpreter of an environment where this version of Scrapy hides the one that is installed here."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    packages = next((folder / "lib").glob("python*/site-packages"))
    # Not a plain path: what is installed editable here is found by the .pth files of these folders.
    lines = [f"import site; site.addsitedir({here!r})\n" for here in site.getsitepackages()]
    (packages / "installed_here.pth").write_text("".join(lines), encoding="utf-8")
    wanted = f"scrapy=={version}.*"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, wanted], check=True)
    found = subprocess.run(
        [python, "-c", "import scrapy; print(scrapy.__version__)"], check=True, capture_output=True, text=True
    ).stdout.strip()
    if not found.startswith(f"{version}."):
        raise RuntimeError(f"Scrapy {found} is imported where {wanted} was installed; look at {packages}")
    print(f"Scrapy {found}", flush=True)
    return python


def main(arguments: list[str]) -> int:
    """pytest's exit code."""
    with tempfile.TemporaryDirectory(prefix="old-scrapy-") as folder:
        python = make_environment(Path(folder), oldest_scrapy())
        command = [str(python), "-m", "pytest", "-q", *(arguments or CRAWLS)]
        return subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
