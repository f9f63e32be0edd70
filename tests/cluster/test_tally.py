"""What the nemesis remembers of its runs."""

from __future__ import annotations

from pathlib import Path

from tools.cluster.round import Tally


def test_the_next_run_knows_which_kinds_have_met(tmp_path: Path) -> None:
    met = tmp_path / "met"
    first = Tally.of_earlier(met)
    assert not first.together
    first.together.update([frozenset(("kill", "pause")), frozenset(("join", "kill")), frozenset(("kill", "pause"))])
    first.write(met)
    assert met.read_text(encoding="utf-8") == "join and kill\nkill and pause\n"
    second = Tally.of_earlier(met)
    assert second.together.keys() == first.together.keys()
    assert (second.partners("kill"), second.partners("pause")) == (2, 1)
    assert not Tally.of_earlier(None).together
