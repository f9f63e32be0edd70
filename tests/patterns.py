"""Finds regular expressions whose time can grow faster than the text they read, by their syntax trees.

A pattern becomes an automaton with a state for each character that it reads (Glushkov). Its time is *exponential* where
a state comes back to itself on two ways that read the same string, and *quadratic* where two states can both loop over
a string that also leads from one to the other, and the rest may still fail (Weber and Seidl, 1991, the criteria EDA and
IDA). A search begins with a loop over all characters, since it tries each place.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any, Final

LOOP: Final = 64
"""In the search for quadratic time, up to this many repetitions do not count as a loop: they only cost a factor."""
FEW: Final = 8
"""The same in the search for exponential time: 2 to the power of more would be noticed."""
_SAMPLES: Final = "\t\n\r\x1c !0AZ_az~\x80\xa0ßéſʼΩЖ١\u2028\u3000あ中가\ud800\uffff\U0001f600"
_ATOMS: Final = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN)
_REPEATS: Final = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)


@dataclass
class _Part:
    """A part of a pattern: the states at its beginning and end, and the ways through it that read nothing, each with
    the set of characters, as bits, that may stand there or come next."""

    first: list[tuple[int, int]] = field(default_factory=list)
    last: list[tuple[int, int]] = field(default_factory=list)
    empty: list[int] = field(default_factory=list)


class Automaton:
    """``searches``: the pattern is tried at each place; ``to_the_end``: it must match the whole rest."""

    def __init__(self, pattern: re.Pattern[Any], *, searches: bool, to_the_end: bool, loop: int) -> None:
        self._loop: Final = loop
        self._flags = pattern.flags
        tree = _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
        self._state: Final = tree.state
        self._classes: Final = self._partition(tree, isinstance(pattern.pattern, bytes))
        self._done: Final = 1 << max(self._classes.values()).bit_length()  # stands for the end of the pattern
        self._all: Final = self._done - 1
        self.labels: Final[list[int]] = []
        self.edges: Final[dict[int, Counter[tuple[int, int]]]] = defaultdict(Counter)
        prefix = self._new(self._all)
        self.finals: Final[set[int]] = set()
        for branch in tree[0][1][1] if len(tree) == 1 and tree[0][0] is _constants.BRANCH else [tree]:
            whole = self._sequence(branch)
            if not to_the_end:
                self.finals.update(state for state, mask in whole.last if mask & self._done)
            if searches and not self._is_anchored(branch):
                self.edges[prefix][prefix, self._all] = 1
                self._enter(prefix, branch, whole)

    def _enter(self, prefix: int, branch: Any, whole: _Part) -> None:
        before = self._before(branch)
        entry = prefix
        if before is not None:
            entry = self._new(before)
            self._connect(prefix, entry, before)
        for state, mask in whole.first:
            self._connect(entry, state, mask)

    def exponential(self) -> bool:
        """Whether a state comes back to itself on two ways that read the same string."""
        steps = self._steps()
        for group in self._loops(steps):
            inside = {state: [edge for edge in steps[state] if edge[0] in group] for state in group}
            if any(count > 1 for state in group for _, _, count in inside[state]):
                return True
            for state in group:
                pairs = {(state, state)}
                waiting = list(pairs)
                while waiting:
                    one, other = waiting.pop()
                    for a, mask, _ in inside[one]:
                        for b, also, _ in inside[other]:
                            if mask & also and (a, b) not in pairs:
                                pairs.add((a, b))
                                waiting.append((a, b))
                apart = {pair for pair in pairs if pair[0] != pair[1]}
                if apart and self._meet_again(inside, apart, state):
                    return True
        return False

    def quadratic(self) -> bool:
        """Whether two states can divide one string between them in as many ways as it has characters, and then fail:
        the second state loops where the pattern cannot end."""
        steps = self._steps()
        unfinished = {
            state: [edge for edge in edges if edge[0] not in self.finals]
            for state, edges in steps.items()
            if state not in self.finals
        }
        groups = self._loops(steps)
        for second in self._loops(unfinished):
            for first in groups:
                if not second <= first and any(self._shared(steps, first, second, p, q) for p in first for q in second):
                    return True
        return False

    def _shared(
        self, steps: dict[int, list[tuple[int, int, int]]], first: set[int], second: set[int], p: int, q: int
    ) -> bool:
        seen = {(p, p, q)}
        waiting = list(seen)
        while waiting:
            a, b, c = waiting.pop()
            for to_a, mask_a, _ in steps[a]:
                if to_a not in first:
                    continue
                for to_c, mask_c, _ in steps[c]:
                    if to_c not in second or not mask_a & mask_c:
                        continue
                    for to_b, mask_b, _ in steps[b]:
                        at = to_a, to_b, to_c
                        if mask_a & mask_b & mask_c and at not in seen:
                            if at == (p, q, q):
                                return True
                            seen.add(at)
                            waiting.append(at)
        return False

    def _steps(self) -> dict[int, list[tuple[int, int, int]]]:
        return {
            state: [(to, mask, count) for (to, mask), count in self.edges[state].items()]
            for state in range(len(self.labels))
        }

    @staticmethod
    def _loops(steps: dict[int, list[tuple[int, int, int]]]) -> list[set[int]]:
        """Groups of states that all lead to each other, and to themselves."""
        reached = {}
        for state in steps:
            found: set[int] = set()
            waiting = [state]
            while waiting:
                for to, _, _ in steps[waiting.pop()]:
                    if to not in found:
                        found.add(to)
                        waiting.append(to)
            reached[state] = found
        groups: dict[int, set[int]] = {}
        for state in steps:
            if state in reached[state]:
                group = {other for other in reached[state] if state in reached[other]}
                groups.setdefault(min(group), group)
        return list(groups.values())

    @staticmethod
    def _meet_again(inside: dict[int, list[tuple[int, int, int]]], apart: set[tuple[int, int]], state: int) -> bool:
        seen = set(apart)
        waiting = list(apart)
        while waiting:
            one, other = waiting.pop()
            for a, mask, _ in inside[one]:
                for b, also, _ in inside[other]:
                    if not mask & also:
                        continue
                    if a == b == state:
                        return True
                    if (a, b) not in seen:
                        seen.add((a, b))
                        waiting.append((a, b))
        return False

    def _new(self, label: int) -> int:
        self.labels.append(label)
        return len(self.labels) - 1

    def _connect(self, begin: int, end: int, mask: int) -> None:
        mask &= self.labels[end]
        if mask:
            self.edges[begin][end, mask] += 1

    def _join(self, part: _Part, other: _Part) -> None:
        for begin, mask in part.last:
            for end, also in other.first:
                self._connect(begin, end, mask & also)

    def _joined(self, part: _Part, other: _Part) -> _Part:
        self._join(part, other)
        return _Part(
            part.first + [(state, mask & also) for also in part.empty for state, mask in other.first],
            other.last + [(state, mask & also) for also in other.empty for state, mask in part.last],
            _ways(mask & also for mask in part.empty for also in other.empty),
        )

    def _sequence(self, tree: Iterable[tuple[Any, Any]]) -> _Part:
        whole = _Part(empty=[self._all | self._done])
        for operation, value in tree:
            whole = self._joined(whole, self._part(operation, value))
        return whole

    def _part(self, operation: Any, value: Any) -> _Part:
        anything = self._all | self._done
        if operation in _ATOMS:
            label = self._label(operation, value)
            state = self._new(label)
            return _Part([(state, label)], [(state, anything)])
        if operation is _constants.SUBPATTERN:
            _, more, fewer, inner = value
            around, self._flags = self._flags, self._flags & ~fewer | more
            part = self._sequence(inner)
            self._flags = around
            return part
        if operation is _constants.ATOMIC_GROUP:
            return self._sequence(value)
        if operation is _constants.BRANCH:
            parts = [self._sequence(branch) for branch in value[1]]
            return _Part(
                [one for part in parts for one in part.first],
                [one for part in parts for one in part.last],
                _ways(mask for part in parts for mask in part.empty),
            )
        if operation in _REPEATS:
            return self._repeated(operation, *value)
        if operation is _constants.AT:
            return _Part(empty=[self._all])
        if operation in (_constants.ASSERT, _constants.ASSERT_NOT):
            direction, tree = value
            ahead = self._sequence(tree).first if direction > 0 else []
            return _Part(ahead, [], [self._all])
        raise NotImplementedError(f"{operation} is not understood here: write the pattern without it")

    def _repeated(self, operation: Any, least: int, most: int, tree: Any) -> _Part:
        if operation is _constants.POSSESSIVE_REPEAT and tree.getwidth() == (1, 1) and len(list(_atoms(tree, 0))) > 1:
            # Characters follow each other and none is given back: it makes no difference how each was read.
            state = self._new(self._union(tree))
            self._connect(state, state, self._all)
            anything = self._all | self._done
            ends = [(state, anything)]
            return _Part([(state, self.labels[state])], ends, [anything] if least == 0 else [])
        whole = _Part(empty=[self._all | self._done])
        for _ in range(min(least, 2)):
            whole = self._joined(whole, self._sequence(tree))
        if most <= self._loop:
            for _ in range(min(most - least, 2)):
                maybe = self._sequence(tree)
                whole = self._joined(whole, _Part(maybe.first, maybe.last, [self._all | self._done]))
            return whole
        loop = self._sequence(tree)
        for _ in range(2 if loop.empty and most is not _constants.MAXREPEAT else 1):  # each round may read nothing
            self._join(loop, loop)
        loop = _Part(loop.first, loop.last, [self._all | self._done])
        whole = self._joined(whole, loop)
        if operation is _constants.POSSESSIVE_REPEAT and len(tree) == 1 and tree[0][0] in _ATOMS:
            others = ~self._label(*tree[0])
            whole.last = [(state, mask & others) for state, mask in whole.last]
            whole.empty = [mask & others for mask in whole.empty]
        return whole

    def _label(self, operation: Any, value: Any) -> int:
        mask = 0
        for character in self._matched(self._flags, (operation, value), self._classes):
            mask |= self._classes[character]
        return mask

    def _matched(self, flags: int, atom: tuple[Any, Any], samples: Iterable[Any]) -> Iterator[Any]:
        one = _compiler.compile(_parser.SubPattern(self._state, [atom]), flags)
        return (sample for sample in samples if one.fullmatch(sample))

    def _union(self, tree: Any) -> int:
        return reduce(or_, (self._label(*atom) for _, atom in _atoms(tree, self._flags)))

    def _partition(self, tree: Any, is_bytes: bool) -> dict[Any, int]:
        """A character of each kind that the pattern tells apart, with the bit that stands for it."""
        atoms = list({repr(atom): atom for atom in _atoms(tree, self._flags)}.values())
        ends = {code + by for _, atom in atoms for code in _codes(atom) for by in (-1, 0, 1)}
        if is_bytes:
            samples: list[Any] = [bytes([code]) for code in range(256)]
        else:
            samples = sorted({*_SAMPLES, *(chr(code) for code in ends if 0 <= code <= 0x10FFFF)})
            samples = sorted({*samples, *"".join(sample.swapcase() for sample in samples)})
        members: dict[Any, list[int]] = {sample: [] for sample in samples}
        for number, (flags, atom) in enumerate(atoms):
            for sample in self._matched(flags, atom, samples):
                members[sample].append(number)
        kinds = {tuple(numbers): sample for sample, numbers in members.items()}
        return {sample: 1 << number for number, sample in enumerate(kinds.values())}

    def _is_anchored(self, tree: Any) -> bool:
        if not len(tree) or tree[0][0] is not _constants.AT:
            return False
        at = tree[0][1]
        return at is _constants.AT_BEGINNING_STRING or (
            at is _constants.AT_BEGINNING and not self._flags & re.MULTILINE
        )

    def _before(self, tree: Any) -> int | None:
        """The characters that may stand before the pattern, where it begins with a look-behind for one character."""
        if not len(tree):
            return None
        operation, value = tree[0]
        if operation is _constants.AT and value is _constants.AT_BEGINNING:
            return self._label(_constants.LITERAL, ord("\n"))
        if operation in (_constants.ASSERT, _constants.ASSERT_NOT) and value[0] < 0 and len(value[1]) == 1:
            label = self._label(*value[1][0]) if value[1][0][0] in _ATOMS else None
            return label if label is None or operation is _constants.ASSERT else self._all & ~label
        return None


def fault(pattern: re.Pattern[Any], *, searches: bool = True, to_the_end: bool = True) -> str | None:
    """``exponential``, ``quadratic``, or None for a pattern whose time is proportional to the text it reads."""
    if Automaton(pattern, searches=searches, to_the_end=to_the_end, loop=FEW).exponential():
        return "exponential"
    if Automaton(pattern, searches=searches, to_the_end=to_the_end, loop=LOOP).quadratic():
        return "quadratic"
    return None


def _ways(masks: Iterable[int]) -> list[int]:
    """Ways that read nothing, at most two of a kind: two are as bad as more."""
    return [mask for mask, count in Counter(masks).items() for _ in range(min(count, 2))]


def _atoms(tree: Any, flags: int) -> Iterator[tuple[int, tuple[Any, Any]]]:
    """All parts that read one character, with the flags that apply there."""
    for operation, value in tree:
        if operation in _ATOMS:
            yield flags, (operation, value)
        elif operation is _constants.BRANCH:
            for branch in value[1]:
                yield from _atoms(branch, flags)
        elif operation is _constants.ATOMIC_GROUP:
            yield from _atoms(value, flags)
        elif operation in (_constants.ASSERT, _constants.ASSERT_NOT):
            yield from _atoms(value[1], flags)
        elif operation is _constants.SUBPATTERN:
            yield from _atoms(value[3], flags & ~value[2] | value[1])
        elif operation in _REPEATS:
            yield from _atoms(value[2], flags)


def _codes(atom: tuple[Any, Any]) -> Iterator[int]:
    operation, value = atom
    if operation in (_constants.LITERAL, _constants.NOT_LITERAL):
        yield value
    elif operation is _constants.IN:
        for kind, part in value:
            if kind is _constants.LITERAL:
                yield part
            elif kind is _constants.RANGE:
                yield from part
