"""The physics function of a control law, with the checks before a force leaves.

Every law runs through here: in the native loop, sample by sample, and in exported packages.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from nacelle.control.kind import ControllerKind, desired_of_row, row_size
from nacelle.control.pieces.admissible import released
from nacelle.control.samples import law_samples, law_states
from nacelle.kinematics.iteration.branch import WRONG
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.shapes import of_actuators
from nacelle.model.robot import Robot
from nacelle.spatial.physics import checked_at, differs_by_form, physics, sampled
from nacelle.spatial.scalar import Array


@lru_cache(maxsize=128)
def law_of(kind: ControllerKind, wrong: float = WRONG) -> Callable[..., dict[str, Array]]:
    """The physics function (robot, z, q, r, gains) of a kind of controller.

    Args:
        kind: the kind.
        wrong: how far relations of a branch's unknowns may be off, rad or robot's sizes: more in single
            precision.
    """

    # Laws begin with a step of the iteration that finds y: its rounding, over the square of the period, is in
    # what they remember.
    @differs_by_form(lambda robot: bool(mechanism_of(robot).ny))
    @checked_at(law_states(kind.memory, kind.start, kind.plausible_gains))
    @sampled(law_samples(kind.memory, kind.start, kind.plausible_gains))
    @physics(
        z=lambda robot: (kind.memory(robot).size,),
        q=of_actuators,
        r=row_size,
        gains=lambda robot: (kind.gains(robot).size,),
    )
    def law(robot: Robot, z: Array, q: Array, r: Array, gains: Array) -> dict[str, Array]:
        memory, motion, k = kind.memory(robot), desired_of_row(robot, r), kind.gains(robot).split(gains)
        before = memory.split(z)
        step = released(robot, before, kind.step(robot, before, q, motion, k), motion, k, q=q, wrong=wrong)
        return {"force": np.asarray(step.force), "memory": memory.join(step.memory)}

    law.__name__ = kind.name
    # All that shapes the program is in the class and in its fields.
    vars(law)["made_from"] = (type(kind).__module__, repr(kind), wrong)
    return law
