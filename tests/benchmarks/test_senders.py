"""``python -m benchmarks senders``: claims of several workers over a real broker, decided by three processes."""

from __future__ import annotations

import json

import pytest

from benchmarks import senders
from benchmarks.__main__ import main


@pytest.mark.long
def test_waits_of_several_senders_are_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(senders, "WARM_UP_SECONDS", 0.5)
    assert main(["senders", "--senders", "2", "--seconds", "1", "--pages-a-second", "50", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert measured["senders"] == 2
    assert measured["pages_a_second"] > 0
    assert 0 < measured["median_ms"] <= measured["ninety_ninth_ms"]


@pytest.mark.parametrize("words", [["--senders", "many"], ["--senders", "0"], ["--seconds", "0"]])
def test_numbers_that_are_none_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["senders", *words]) == 2
    assert "give" in capsys.readouterr().err
