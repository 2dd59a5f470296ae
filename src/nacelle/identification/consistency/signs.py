"""Signs and bounds of parameters, and the size in which friction, rotors and springs are counted.

Friction takes energy from the motion: c v, c sign(v), ... have c >= 0 ([AGH2005] (24)). The coefficient of
Stribeck's term may be negative as long as that of Coulomb's beside it outweighs it at low speed:

    c_coulomb + c_stribeck exp(-(v/s)^2) >= 0 for all v,  with c_coulomb >= 0 and c_coulomb + c_stribeck >= 0

A constant is an offset of either sign. Rotor inertias and stiffnesses are not negative, and keep a part of
what they are described with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.errors import IdentificationError, did_you_mean
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.numbers.parameters import INERTIA_NAMES
from nacelle.spatial.scalar import Array

Bounds = Mapping[str, tuple[float | None, float | None]]
Limits = dict[int, tuple[float, float]]

_UNSIGNED = ("constant", "stribeck", "stiffness*rest")
_KEPT = ("rotor_inertia", "stiffness")
# A parameter that is described as zero is counted in this many of the standard deviations that it has alone.
_UNDESCRIBED = 1e3


@dataclass(frozen=True, eq=False)
class Signs:
    """Rows that are not negative: rows @ z - least >= 0, without units.

    Attributes:
        names: of the parameters.
        rows: (k, chosen).
        least: (k,).
    """

    names: tuple[str, ...]
    rows: Array
    least: Array


def first_names(base: BaseParameters) -> list[str]:
    """For every chosen parameter the name of the first parameter of the robot that it stands for."""
    names = linear_parameters(base.robot).names
    return [names[group[0]] for group in base.choice.groups()]


def is_inertial(name: str) -> bool:
    """Whether a linear parameter is one of the ten of a body or a payload."""
    return name.rpartition(".")[2] in INERTIA_NAMES


def is_nonnegative(name: str) -> bool:
    """Whether a linear parameter that is no inertia cannot be negative."""
    return not is_inertial(name) and name.rpartition(".")[2] not in _UNSIGNED


def sign_scales(base: BaseParameters, root: Array, centre: Array) -> Array:
    """The size in which each chosen parameter that is no inertia is counted; zero for inertia.

    Its described size; where that is zero, a thousand of the standard deviations that it would have if it
    were the only unknown; one where it has no effect.
    """
    alone = np.linalg.norm(root @ base.K, axis=0)
    sizes = np.where(centre != 0.0, np.abs(centre), _UNDESCRIBED / np.where(alone > 0.0, alone, _UNDESCRIBED))
    return np.where([is_inertial(name) for name in first_names(base)], 0.0, sizes)


def signs_of(base: BaseParameters, centre: Array, scale: Array, *, margin: float, limits: Limits) -> Signs:
    """What is not negative of the chosen parameters.

    Args:
        base: the base parameters.
        centre: z as described (chosen,).
        scale: from `sign_scales`.
        margin: the part of a rotor's inertia and of a stiffness that stays at least.
        limits: lower and upper bounds by place; infinite for none.
    """
    names = first_names(base)
    unit = np.eye(len(names))
    half_lines: list[tuple[str, Array, float]] = []
    for k, name in enumerate(names):
        axis, _, kind = name.rpartition(".")
        if is_nonnegative(name):
            least = margin * max(float(centre[k]), 0.0) if kind in _KEPT else 0.0
            half_lines.append((base.choice.names[k], unit[k] / scale[k], least / scale[k]))
        elif kind == "stribeck":
            coulomb = names.index(f"{axis}.coulomb") if f"{axis}.coulomb" in names else k
            row = np.maximum(unit[k], unit[coulomb]) / max(scale[k], scale[coulomb])
            half_lines.append((base.choice.names[k], row, 0.0))
    for k, (low, high) in limits.items():
        size = max(abs(end) for end in (low, high, float(centre[k])) if np.isfinite(end)) or 1.0
        if np.isfinite(low):
            half_lines.append((base.choice.names[k], unit[k] / size, low / size))
        if np.isfinite(high):
            half_lines.append((base.choice.names[k], -unit[k] / size, -high / size))
    rows = np.reshape([row for _, row, _ in half_lines], (-1, len(names)))
    return Signs(tuple(name for name, *_ in half_lines), rows, np.array([least for *_, least in half_lines]))


def bounds_of(base: BaseParameters, bounds: Bounds) -> Limits:
    """Bounds by place among the chosen parameters.

    Raises:
        IdentificationError: if a name or pattern meets no parameter, or a lower bound is above the upper one.
    """
    all_names = linear_parameters(base.robot).names
    groups = base.choice.groups()
    limits: Limits = {}
    for pattern, (low, high) in bounds.items():
        met = [
            k
            for k, name in enumerate(base.choice.names)
            if any(fnmatchcase(own, pattern) for own in (name, *(all_names[j] for j in groups[k])))
        ]
        if not met:
            raise IdentificationError(
                f"bounds: {base.robot.name} has no parameter {pattern!r} that is estimated; "
                f"{did_you_mean(pattern, base.choice.names)}"
            )
        ends = (-np.inf if low is None else float(low), np.inf if high is None else float(high))
        if not ends[0] <= ends[1]:
            raise IdentificationError(
                f"bounds of {pattern!r}: the lower one, {ends[0]:g}, is above the upper one, {ends[1]:g}"
            )
        for k in met:
            old = limits.get(k, (-np.inf, np.inf))
            limits[k] = (max(old[0], ends[0]), min(old[1], ends[1]))
    return limits
