"""Robots that differ from their model: parameters moved within physics.

All ten parameters of a body times one positive factor are those of a body of another density: mass, first
moments and inertia stay consistent, whatever the factor. Friction, rotors and springs have a factor each.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nacelle.dynamics.base_parameters.sharing import drop_broken_sharing
from nacelle.errors import IdentificationError
from nacelle.model.linear_parameters import linear_parameters, with_linear_parameters
from nacelle.model.robot import Robot

_BODY_PARAMETERS = 10


def perturb_parameters(robot: Robot, percent: float = 10.0, *, seed: int = 0, alike: bool = False) -> Robot:
    """The same robot with other linear parameters, as a machine differs from its model.

    Args:
        robot: the model.
        percent: how far parameters move at most, each by a factor within 1 +- percent / 100.
        seed: of the factors.
        alike: whether bodies, friction, rotors and springs that have equal numbers keep equal ones, as those
            of identical legs.

    Raises:
        IdentificationError: if a factor could be zero or negative.
    """
    if not 0.0 <= percent < 100.0:
        raise IdentificationError(f"parameters move by 0 to less than 100 per cent, got {percent:g}")
    parameters = linear_parameters(robot)
    rng = np.random.default_rng(seed)
    factors = 1.0 + 0.01 * percent * rng.uniform(-1.0, 1.0, len(parameters))
    first: dict[tuple[str, bytes], int] = {}
    for members in _parameter_groups(robot, parameters.names):
        key = (parameters.names[members[0]].rsplit(".")[-1], parameters.values[members].tobytes())
        factors[members] = factors[first.setdefault(key, members[0]) if alike else members[0]]
    return drop_broken_sharing(with_linear_parameters(robot, parameters.values * factors))


def _parameter_groups(robot: Robot, names: tuple[str, ...]) -> Iterator[list[int]]:
    """Parameters that have one factor: the ten of a body or payload, which come first; both of a spring."""
    inertial = len(robot.parameter_names("inertia", "payload"))
    yield from (list(range(k, k + _BODY_PARAMETERS)) for k in range(0, inertial, _BODY_PARAMETERS))
    for k in range(inertial, len(names)):
        if "*" not in names[k]:
            # The product of a stiffness and a length follows it.
            paired = k + 1 < len(names) and names[k + 1].startswith(f"{names[k]}*")
            yield [k, k + 1] if paired else [k]
