"""Ways to break the program, each of which looks harmless, and each of which the simulation or a test must notice.

A mutation replaces a rule for the time of a ``with`` block with the simpler rule that one would write first; the
docstring says what the simpler rule loses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

Mutation = Callable[[ExitStack], None]


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """``owner.name`` is ``value`` for a while."""
    before = owner.__dict__[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def in_place_of(owner: Any, name: str) -> Callable[[Callable[..., Any]], Mutation]:
    """Replace ``owner.name`` with the decorated function, which gets the original before all other arguments."""

    def of_rule(rule: Callable[..., Any]) -> Mutation:
        @wraps(rule)
        def mutation(stack: ExitStack) -> None:
            honest = owner.__dict__[name]
            stack.enter_context(replaced(owner, name, lambda *given, **named: rule(honest, *given, **named)))

        return mutation

    return of_rule
