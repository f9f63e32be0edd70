"""An observer cannot end a worker, whatever it raises."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any

import pytest

from crawler_plugin.wire.errors import Unavailable
from tests.stream.script import COMMIT, CRASH, FLUSH, Event, Listener, Page, Stage
from worker.stream.observer import Observer, contained, together

METHODS = [name for name, _ in inspect.getmembers(Observer, inspect.isfunction) if not name.startswith("_")]
SCRIPT = [Page("http://a/", 0b000), Page("http://b/", 0b001), Page("http://dead/", "dead"), Page("http://c/", 0b111)]


class Broken(Listener):
    """Raises at every call."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return found if name not in METHODS else self._broken(found)

    def _broken(self, method: Callable[..., None]) -> Callable[..., None]:
        def told(*what: Any, **named: Any) -> None:
            method(*what, **named)
            raise ZeroDivisionError

        return told


class BrokenStage(Stage):
    """A stage whose observers raise all the time."""

    new_listener = Broken


def test_a_worker_whose_observer_always_raises_does_what_another_does() -> None:
    script: tuple[Page | Event, ...] = (*SCRIPT, COMMIT, FLUSH, CRASH, Page("http://d/", 0b111), COMMIT)
    broken, sound = BrokenStage().play(*script), Stage().play(*script)
    assert broken.verdicts() == sound.verdicts()
    assert broken.observers["w1"].times("committed")


class Raises(Observer):
    """Raises the given error in one method; remembers failures."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.failures: list[str] = []

    def failed(self, method: str) -> None:
        self.failures.append(method)

    def expired(self, shard: int, entries: int) -> None:
        raise self.error

    def heard(self) -> None:
        raise self.error


@pytest.mark.parametrize("error", [ZeroDivisionError(), Unavailable("the broker is away"), MemoryError()])
def test_every_exception_is_told_and_none_comes_out(error: Exception) -> None:
    observer = Raises(error)
    told = contained(observer)
    told.expired(1, entries=2)
    told.answered(1, 2)
    told.heard()
    told.heard()
    assert observer.failures == ["expired", "heard", "heard"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_who_asks_the_process_to_end_is_heard(error: type[BaseException]) -> None:
    with pytest.raises(error):
        contained(Raises(error())).heard()


def test_the_log_has_the_first_of_each_kind_with_where_it_came_from(caplog: pytest.LogCaptureFixture) -> None:
    observer = Raises(ZeroDivisionError())
    told = contained(observer)
    for _ in range(3):
        told.heard()
        told.expired(0, 1)
    observer.error = KeyError()
    told.heard()
    seen = [(line.levelno, line.method, line.exc_info[0]) for line in caplog.records]  # type: ignore[attr-defined,index]
    assert seen == [
        (logging.ERROR, "heard", ZeroDivisionError),
        (logging.ERROR, "expired", ZeroDivisionError),
        (logging.ERROR, "heard", KeyError),
    ]


def test_even_what_counts_the_failures_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    class Worse(Raises):
        def failed(self, method: str) -> None:
            raise LookupError

    contained(Worse(ZeroDivisionError())).heard()
    (line,) = caplog.records
    assert line.exc_info and line.exc_info[0] is LookupError
    assert isinstance(line.exc_info[1].__context__, ZeroDivisionError)


def test_of_several_observers_each_is_told_also_where_one_before_it_raises() -> None:
    first, broken, last = Listener(), Broken(), Listener()
    with pytest.raises(ZeroDivisionError):
        together(first, broken, last).flushed(1, 2, False)
    together(first, last).heard()
    assert first.told == last.told == {"flushed": [(1, 2, False)], "heard": [()]}
