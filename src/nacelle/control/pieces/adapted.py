"""The parameters that adaptive control has: which, how far from the model's, how strongly each is felt.

The parameters are base parameters beta = K z (`nacelle.dynamics.base_parameters`): no column of the linear
form depends on others. Bodies of the nacelle take part even if they have no mass, so that a payload does.
Legs that are described alike share their parameters.

What a parameter may be wrong by is counted in its *scale*. Of a body with the mass m and the radius of
gyration r about its origin the scales are m, m r and m r^2, of friction, rotors and springs the values
themselves, and that of a base parameter is the sum over what is in it. A payload adds its own.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters, base_parameters
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.loaded import body_parameters
from nacelle.model.numbers.parameters import INERTIA_NAMES
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# Powers of the length in the units of a body's ten parameters.
_LENGTHS = (0, 1, 1, 1, 2, 2, 2, 2, 2, 2)
# Radius of gyration over the robot's size where a description gives a mass alone.
_RADIUS = 0.1
# The least part of the model's value that a sum of positive quantities keeps.
_LEAST = 0.05


@lru_cache(maxsize=32)
def adapted_parameters(robot: Robot, shared: Any = None) -> BaseParameters:
    """The base parameters that are adapted.

    Args:
        robot: the model.
        shared: as in `base_parameters`; if None as the description says, or legs that are described alike.
    """
    names = linear_parameters(robot).names
    nacelle = {robot.bodies[body].name for body in robot.nacelle.bodies}
    massless = {body.name for body in robot.bodies if body.massless} - nacelle
    without = [name for name in names if name.rpartition(".")[0] in massless]
    values = linear_parameters(robot).values
    without += [n for n, v in zip(names, values, strict=True) if n.endswith(".rotor_inertia") and v == 0.0]
    if shared is None and robot.shared is None:
        shared = "legs"
    return base_parameters(robot, assume=["nothing", *without], shared=shared)


def parameter_scales(robot: Robot, base: BaseParameters, payload: float) -> Array:
    """The scale of every base parameter (base parameters,), SI units."""
    own = np.abs(linear_parameters(robot).values)
    place = {name: k for k, name in enumerate(linear_parameters(robot).names)}
    for index, body in enumerate(robot.bodies):
        if f"{body.name}.m" in place:
            ten = body_parameters(robot, index)
            extra = payload if index in robot.nacelle.bodies else 0.0
            sizes = _body_scales(ten, extra, robot.size)
            for part, size in zip(INERTIA_NAMES, sizes, strict=True):
                own[place[f"{body.name}.{part}"]] = size
    # A chosen parameter of several legs has one scale.
    chosen = np.array([own[group].max() for group in base.choice.groups()])
    return np.asarray(np.abs(base.K) @ chosen)


def _body_scales(ten: Array, payload: float, size: float) -> Array:
    """Scales of the ten parameters of a body."""
    mass = float(ten[0])
    radius = math.sqrt(max(0.0, 0.5 * float(ten[4] + ten[6] + ten[9])) / mass) if mass > 0.0 else 0.0
    radius = radius if radius > 0.0 else _RADIUS * size
    return np.array([(mass + payload) * radius**power for power in _LENGTHS])


def default_payload(robot: Robot) -> float:
    """The mass of a payload that is thought of if nothing is said, kg.

    That of the nacelle; if it has none the heaviest of the bodies.
    """
    masses = [float(body_parameters(robot, k)[0]) for k in range(1, len(robot.bodies))]
    nacelle = sum(float(body_parameters(robot, k)[0]) for k in robot.nacelle.bodies)
    return nacelle if nacelle > 0.0 else max(masses, default=0.0)


class Bounds(NamedTuple):
    """Lower and upper bounds of base parameters (base parameters,)."""

    lower: Array
    upper: Array


def bounds(base: BaseParameters, scale: Array, margin: float) -> Bounds:
    """Bounds: the model's values, and `margin` scales to both sides.

    Sums of positive quantities (masses, moments of inertia about axes, friction, rotors, springs) stay above
    a small part of the model's value.
    """
    values = base.values
    lower, upper = values - margin * scale, values + margin * scale
    positive = np.array([_is_positive(name) for name in base.choice.names])
    for i, row in enumerate(base.K):
        acting = np.flatnonzero(row)
        if positive[acting].all() and (row[acting] > 0.0).all():
            lower[i] = max(lower[i], _LEAST * values[i])
    return Bounds(lower, upper)


def _is_positive(name: str) -> bool:
    """Whether a linear parameter cannot be negative."""
    part = name.rpartition(".")[2]
    if part in INERTIA_NAMES:
        return part in ("m", "Ixx", "Iyy", "Izz")
    return part != "stiffness*rest"
