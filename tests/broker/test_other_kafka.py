"""Other versions of Kafka: those that are tried each night are those that the handbook names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import yaml

from worker.broker.jars import KAFKA

ROOT: Final = Path(__file__).resolve().parent.parent.parent
VERSION: Final = re.compile(r"^\| (\d+\.\d+\.\d+)", re.MULTILINE)


def test_the_table_of_brokers_has_the_pinned_version_and_those_of_each_night() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "nightly.yml").read_text())
    nightly = workflow["jobs"]["other-kafka"]["strategy"]["matrix"]["kafka"]
    told = VERSION.findall((ROOT / "docs" / "reference" / "brokers.md").read_text())
    assert sorted(told) == sorted([*nightly, KAFKA])
