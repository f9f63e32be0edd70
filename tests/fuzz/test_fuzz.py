"""All targets for two seconds. Longer by hand: ``python -m tests.fuzz --seconds 600``."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.worst_pages import Run
from tests.conftest import IN_CI
from tests.fuzz import TARGETS, costs
from tests.fuzz.__main__ import AT_ONCE, main, run, run_all

SECONDS = 2.0
HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def atheris_is_here() -> None:
    if importlib.util.find_spec("atheris") is None:
        assert not IN_CI, "atheris is not installed: the extra test brings it"
        pytest.skip("atheris is not installed: pip install -e '.[fuzz]', on Linux and x86-64")


def test_nothing_that_reads_what_others_wrote_raises_what_it_does_not_say(tmp_path: Path) -> None:
    ended = run_all(list(TARGETS), SECONDS, tmp_path, seed=1)
    assert [each.target for each in ended] == list(TARGETS)
    for each in ended:
        assert not each.code, f"{each.target} on {each.found!r}:\n{each.said}"
        assert "number_of_executed_units" in each.said


def test_every_target_is_in_the_list() -> None:
    modules = {file.stem for file in HERE.glob("*.py")} - {"__init__", "__main__", "one", "test_fuzz"}
    assert modules - {"planted"} == set(TARGETS)


def test_what_a_target_raises_is_found_with_its_input(tmp_path: Path) -> None:
    ended = run("planted", 60, tmp_path, seed=1)
    assert ended.code
    assert "the planted defect" in ended.said
    assert ended.found is not None
    assert ended.found.startswith(b"cra")


def test_a_target_that_is_none_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert TARGETS[0] in capsys.readouterr().err
    assert AT_ONCE == 2


def test_a_time_that_grows_with_the_square_is_a_find_and_one_that_grows_in_line_is_none() -> None:
    def a_page_in(seconds: float, power: int) -> Callable[[Callable[[bytes], None], bytes], float]:
        return lambda read, body: seconds * (len(body) / costs.PAGE_BYTES) ** power

    for seconds in (1, 100, 10_000):
        costs.grows_in_line(costs.WAYS[0], [Run(b"x")], a_page_in(seconds, 1))
    costs.grows_in_line(costs.WAYS[0], [Run(b"x")], a_page_in(4, 2))
    with pytest.raises(AssertionError, match="4194304 bytes took"):
        costs.grows_in_line(costs.WAYS[0], [Run(b"x")], a_page_in(25, 2))
