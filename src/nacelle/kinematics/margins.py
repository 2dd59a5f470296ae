"""Margins: how far every leg, and the platform on all of them, is from a serial singularity.

A leg's rates follow from its closures, M u + N w = 0. Near a singularity of M they grow beyond all bounds,
and at it they are not determined: the leg is stretched or folded, a loop inside it is flat or at a dead
point. The margin of a leg is, up to a small factor, the squared inverse condition of M with lengths in
units of the robot's size: 1 at best, 0 at a singularity, below 0 out of reach.

- Legs in closed form: the smallest of the squared sines and lever arms of their roots (`legs.serial`).
- Legs solved numerically: the columns of M are made perpendicular one after the other, M = Q R; the smallest
  of the squares that are left over the largest of those before, min_k |q_k|^2 / max_k |m_k|^2. It is
  above the squared inverse condition, and seldom by more than a factor of the number of columns.
- The platform, where coordinates of it are solved numerically (parasitic motion, its own loops): the same
  for the rows that the legs leave over for these coordinates.
"""

from __future__ import annotations

import numpy as np

from nacelle.errors import SingularError, UnreachableError
from nacelle.kinematics.configuration import Configuration, closure_equations_at
from nacelle.kinematics.flags import Flag, fold_columns, has_failed
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, Scalar, minimum, pack
from nacelle.spatial.solve import column_independence
from nacelle.tree.rates import ClosureEquations, platform_constraint_rows

NEAR_MARGIN = 1e-7
"""Below this a singularity is near: the condition of a leg is in the thousands, or above."""
SINGULAR_MARGIN = 1e-12
"""Below this it is met: rounding decides about the leg."""
TRUSTED_MARGIN = 1e-4
"""Margins of any form above this say enough: a leg is far from singular. Below, the dense ones are taken."""


def margin_names(mechanism: Mechanism) -> tuple[str, ...]:
    """To whom the margins belong: the legs in order, and the platform where it has dependent coordinates."""
    legs = tuple(f"leg {leg.name!r}" for leg in mechanism.robot.legs)
    return (*legs, "the platform") if mechanism.dependent else legs


def margins(now: Configuration) -> Array:
    """The margins (legs,), or (legs + 1,) where the platform has dependent coordinates."""
    mechanism = now.mechanism
    values = [closed_form_margin(roots) for roots in now.root_margins]
    if not (mechanism.iterated_legs or mechanism.dependent):
        return pack(values)
    system = closure_equations_at(now)
    scale = mechanism.scales[1]
    for k in mechanism.iterated_legs:
        values[k] = _leg_margin(mechanism, system, k)
    if mechanism.dependent:
        rows = platform_constraint_rows(system, mechanism.selection_matrices[1])
        values.append(column_independence(rows, scale[list(mechanism.dependent)]))
    return pack(values)


def closed_form_margin(roots: tuple[Scalar, ...]) -> Scalar:
    """The margin of a leg in closed form: the smallest of those of its roots; 1 where it has none."""
    smallest: Scalar = 1.0
    for k, value in enumerate(roots):
        smallest = value if k == 0 else minimum(smallest, value)
    return smallest


def _leg_margin(mechanism: Mechanism, system: ClosureEquations, k: int) -> Scalar:
    """The margin of a leg from its own rows and rates."""
    plan, (row_scale, scale) = mechanism.legs[k], mechanism.scales
    if not plan.rates:
        return 1.0
    rows, rates = list(plan.rows), list(plan.rates)
    M = system.closures.jacobian[rows][:, rates] / row_scale[rows].reshape(-1, 1)
    if system.rows[k]:
        M = np.concatenate([M, np.stack(system.rows[k])[:, rates]])
    return column_independence(np.asarray(M), scale[rates])


def leg_condition(margins: Array) -> Array:
    """Condition number (...) of the worst leg from margins (..., margins); infinite out of reach."""
    with np.errstate(all="ignore"):
        worst = fold_columns(np.minimum, margins, 1.0)
        return np.asarray(np.where(worst > 0.0, 1.0 / np.sqrt(np.abs(worst)), np.inf))


def margin_flags(margins: Array, flags: Array) -> Array:
    """What the margins of legs (..., margins) say of samples that have not failed: flags (...)."""
    with np.errstate(invalid="ignore"):
        # An undetermined margin is that of a leg which cannot be solved, and undetermined is the worst then.
        worst = fold_columns(np.minimum, margins, 1.0)
        near = np.where(worst < NEAR_MARGIN, int(Flag.NEAR_SINGULAR), 0)
        result = np.where(worst < SINGULAR_MARGIN, int(Flag.SINGULAR), near)
        result = np.where(worst >= 0.0, result, int(Flag.UNREACHABLE))
    return np.asarray(np.where(has_failed(flags), 0, result))


def failure_error(robot: Robot, x: Array, margins: Array, flags: Array) -> UnreachableError | SingularError:
    """The error for a single pose, with the legs that do not reach or are singular there."""
    names = margin_names(mechanism_of(robot))
    values = ", ".join(f"{value:.6g}" for value in x)
    legs = [leg.name for leg in robot.legs]
    with np.errstate(invalid="ignore"):
        missed = [k for k, margin in enumerate(margins) if not margin >= 0.0]
        singular = [k for k, margin in enumerate(margins) if not margin >= SINGULAR_MARGIN]
    if flags & int(Flag.SINGULAR):
        who = " and ".join(names[k] for k in singular) or "a leg"
        verb = "are" if len(singular) > 1 else "is"
        return SingularError(
            f"{robot.name}: {who} {verb} at a serial singularity at the pose [{values}]: stretched, folded, "
            "or with a flat inner loop, so that the motion of the platform does not determine all joints",
            "serial",
        )
    if not missed or not mechanism_of(robot).has_closed_form:
        return UnreachableError(
            f"{robot.name}: the loops do not close at the pose [{values}] on the branch of the reference pose"
        )
    who = (
        f"leg {legs[missed[0]]!r} does"
        if len(missed) == 1
        else (f"legs {', '.join(repr(legs[k]) for k in missed)} do")
    )
    return UnreachableError(f"{robot.name}: {who} not reach the pose [{values}]", [legs[k] for k in missed])
