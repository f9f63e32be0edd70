"""The plays, by name; each is played from a seed. Each raises ``Violation`` for the first broken promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from tests.simulation import checks
from tests.simulation.forgetting import Forgetful
from tests.simulation.gap import Gap
from tests.simulation.growth import Growing
from tests.simulation.handover import Handover
from tests.simulation.scale import ACCURATE, HOLDERS, REAL, SMALL, TITLED, Scale
from tests.simulation.schedule import Schedule
from tests.simulation.succession import Succession

FLAGGED: Final = replace(ACCURATE, flagged=True)
REAL_ACCURATE: Final = replace(REAL, accurate=True)
REAL_TITLED: Final = replace(REAL_ACCURATE, titled=True)
REAL_FLAGGED: Final = replace(REAL_TITLED, flagged=True)
Play = Callable[[int], None]


def schedule(scale: Scale, seed: int, kind: type[Schedule] = Schedule) -> None:
    """One generation, from its first page to its last."""
    played = kind(seed, scale).run()
    checks.check(played)
    checks.check_claims(played)
    checks.check_written(played)


def succession(scale: Scale, seed: int, kind: type[Schedule] = Schedule) -> None:
    """Two generations; the second takes over."""
    Succession(seed, scale, kind).run().check()


def gap(seed: int, kind: type[Schedule] = Schedule) -> None:
    """A generation that has lost records that it needs, and is repaired."""
    Gap(seed, kind).run().check()


def handover(scale: Scale, seed: int) -> None:
    """Two generations; the second is copied from the first while both work."""
    Handover(seed, scale).run().check()


PLAYS: Final[dict[str, Play]] = {
    "small": partial(schedule, SMALL),
    "holders": partial(schedule, HOLDERS),
    "growing": partial(schedule, SMALL, kind=Growing),
    "forgetful": partial(schedule, SMALL, kind=Forgetful),
    "forgetful-titled": partial(schedule, TITLED, kind=Forgetful),
    "accurate": partial(schedule, ACCURATE),
    "titled": partial(schedule, TITLED),
    "flagged": partial(schedule, FLAGGED),
    "succession": partial(succession, SMALL),
    "titled-succession": partial(succession, TITLED),
    "flagged-succession": partial(succession, FLAGGED),
    "growing-succession": partial(succession, SMALL, kind=Growing),
    "handover": partial(handover, SMALL),
    "titled-handover": partial(handover, TITLED),
    "forgetful-succession": partial(succession, SMALL, kind=Forgetful),
    "gap": gap,
    "forgetful-gap": partial(gap, kind=Forgetful),
    "growing-gap": partial(gap, kind=Growing),
    "real": partial(schedule, REAL),
    "real-accurate": partial(schedule, REAL_ACCURATE),
    "real-forgetful": partial(schedule, REAL_TITLED, kind=Forgetful),
    "real-titled": partial(schedule, REAL_TITLED),
    "real-flagged": partial(schedule, REAL_FLAGGED),
}
