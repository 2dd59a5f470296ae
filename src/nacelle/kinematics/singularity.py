"""Singularities of three kinds, distinguished by properly scaled matrices.

With u_l the rates of leg l and w those of the nacelle, the closures say M_l u_l + N_l w = 0; lengths are
counted in the robot's size, so all entries are pure numbers.

- *serial*: M_l loses rank. The leg moves while the nacelle rests; it is stretched or folded.
- *parallel*: with the actuators locked the nacelle moves. The rows of N_l across the passive joints of
  M_l, of all legs together, lose rank: wrenches of the actuators and of the constraints.
- *constraint*: the nacelle gains a motion that its legs should lock. The same with all joints of the legs
  free: wrenches of the constraints alone.

The measure of each is the smallest singular value that should not be zero over the largest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.kinematics import kinematic_model
from nacelle.kinematics.actuation import closing_actuators, locked_in_tree
from nacelle.kinematics.flags import Flag, failed
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.motion import solved
from nacelle.kinematics.native import native
from nacelle.kinematics.underactuated import undriven
from nacelle.model.robot import Robot
from nacelle.pictures import Drawn
from nacelle.spatial.scalar import Array

KINDS = ("serial", "parallel", "constraint")
NEAR = 1e-2
MET = 1e-7


@dataclass(frozen=True, eq=False, repr=False)
class Singularities(Drawn):
    """How far poses are from singularities.

    Attributes:
        robot: the robot.
        serial: measure of each leg (..., legs); NaN out of reach.
        parallel: measure (...).
        constraint: measure (...); 1 where the legs lock nothing.
        flags: for every pose what was found (`Flag`).
    """

    robot: Robot
    serial: Array
    parallel: Array
    constraint: Array
    flags: Array

    def kinds(self) -> Any:
        """Names of the singularities met: for one pose a tuple of them, for a batch an array of tuples."""
        worst = np.min(self.serial, axis=-1) if self.serial.shape[-1] else np.ones(self.parallel.shape)
        result = np.empty(self.parallel.shape, dtype=object)
        for place in np.ndindex(self.parallel.shape):
            values = (worst[place], self.parallel[place], self.constraint[place])
            result[place] = tuple(kind for kind, value in zip(KINDS, values, strict=True) if value < MET)
        return result[()]


def singularities(robot: Robot, x: Any) -> Singularities:
    """Measure the distance of poses from serial, parallel and constraint singularities.

    Distances are inverse condition numbers without units: 1 at best, 0 at a singularity; lengths count in the
    robot's size.

    Args:
        robot: the robot.
        x: reduced poses (..., nx). A pose beyond a serial singularity is out of reach: flagged, with NaN.
    """
    poses, y, flags = solved(robot, x)
    mechanism = mechanism_of(robot)
    closures = native(kinematic_model.closure_equations, robot)(poses, y)
    rows, rates = mechanism.scales
    J = closures["jacobian"] / rows[:, None] * rates
    spins = closures["spins"] * rates
    finite = np.all(np.isfinite(J), axis=(-1, -2))
    flags |= np.where(finite | failed(flags), 0, int(Flag.UNREACHABLE))
    good = ~failed(flags)
    J = np.where(good[..., None, None], J, 0.0)
    spins = np.where(good[..., None, None], spins, 0.0)
    active = closures["actuators"] * rates
    active = np.where(good[..., None, None], active, 0.0)
    serial, constraint, parallel = _measures(mechanism, J, spins, active)
    worst = np.min(np.stack([np.min(serial, axis=-1, initial=1.0), parallel, constraint]), axis=0)
    flags |= np.where(good & (worst < MET), int(Flag.SINGULAR), 0)
    flags |= np.where(good & (worst < NEAR) & (worst >= MET), int(Flag.NEAR_SINGULAR), 0)
    serial[~good] = np.nan
    parallel, constraint = np.where(good, parallel, np.nan), np.where(good, constraint, np.nan)
    return Singularities(robot, serial, parallel, constraint, flags)


@dataclass(frozen=True, eq=False)
class Lowest:
    """The pose of a batch that is nearest to a kind of singularity.

    Attributes:
        measure: there, 1 at best and 0 at a singularity.
        x: the pose (nx,).
        leg: name of the leg, of a serial one; empty otherwise.
    """

    measure: float
    x: Array
    leg: str = ""


def lowest_measures(robot: Robot, x: Any) -> dict[str, Lowest]:
    """For each kind of singularity the pose that comes nearest to it; none where no pose is reached.

    Args:
        robot: the robot.
        x: reduced poses (N, nx).
    """
    poses = np.asarray(x, dtype=float)
    if not len(poses):
        return {}
    measured = singularities(robot, poses)
    result: dict[str, Lowest] = {}
    for kind in KINDS:
        values = getattr(measured, kind)
        if not np.any(np.isfinite(values)):
            continue
        place = np.unravel_index(int(np.nanargmin(values)), values.shape)
        leg = robot.legs[int(place[1])].name if kind == "serial" else ""
        result[kind] = Lowest(float(values[place]), poses[place[0]], leg)
    return result


# A leg that has lost rank takes the other measures down with it: within this factor it is the cause.
_CAUSE = 10.0


def nearest(robot: Robot, x: Array, y: Array) -> tuple[str, tuple[str, ...]]:
    """Which kind of singularity is nearest at one pose, and the legs that are at it if it is a serial one.

    Evaluated without compiling anything: this is for messages.

    Args:
        robot: the robot.
        x: reduced pose (nx,).
        y: what iteration has found there (ny,).
    """
    mechanism = mechanism_of(robot)
    with np.errstate(all="ignore"):
        closures = kinematic_model.closure_equations(
            robot, np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        )
        rows, scale = mechanism.scales
        J, spins, active = (
            np.nan_to_num(np.asarray(closures[name], dtype=float))
            for name in ("jacobian", "spins", "actuators")
        )
        J = J / rows[:, None] * scale
        serial, constraint, parallel = _measures(mechanism, J, spins * scale, active * scale)
    worst = float(np.min(serial, initial=1.0))
    if worst <= _CAUSE * min(float(parallel), float(constraint)):
        legs = zip(robot.legs, serial, strict=True)
        return "serial", tuple(leg.name for leg, measure in legs if measure <= _CAUSE * worst)
    return ("parallel" if parallel <= constraint else "constraint"), ()


def singular_words(kind: str, legs: tuple[str, ...], *, near: bool = False) -> str:
    """A singularity that a pose is at, or near, in words."""
    if not legs:
        return f"a {kind} singularity is near" if near else f"this pose is a {kind} singularity"
    who = f"leg {legs[0]!r} is" if len(legs) == 1 else f"legs {', '.join(map(repr, legs))} are"
    return f"{who} {'almost ' if near else ''}stretched or folded (a {kind} singularity)"


def _measures(mechanism: Mechanism, J: Array, spins: Array, active: Array) -> tuple[Array, Array, Array]:
    """Serial, constraint and parallel measures of scaled closure Jacobians (..., rows, rates)."""
    robot = mechanism.robot
    batch = J.shape[:-2]
    w = list(mechanism.w_rates)
    rows = mechanism.assembly.closures.rows
    locked_rates = locked_in_tree(robot)
    own = [k for c in robot.nacelle.closures for k in _span(rows[c - robot.tree])]
    locked, driven = ([J[..., own, :][..., w]] if own else [] for _ in range(2))
    serial = np.ones((*batch, len(robot.legs)))
    first_spin = 0
    # The spins of the nacelle's own bodies come last.
    for rows_of_nacelle in (locked, driven):
        rows_of_nacelle.append(spins[..., spins.shape[-2] - len(mechanism.nacelle_spins) :, :][..., w])
    for k, (leg, plan) in enumerate(zip(robot.legs, mechanism.legs, strict=True)):
        listed = [row for c in leg.closures for row in _span(rows[c - robot.tree])]
        idle = range(first_spin, first_spin + len(plan.spins))
        first_spin += len(plan.spins)
        A = np.concatenate([J[..., listed, :], spins[..., list(idle), :]], axis=-2)
        M, N = A[..., list(plan.rates)], A[..., w]
        serial[..., k] = _ratio(M, M.shape[-1])
        locked.append(_across(M, N))
        held = closing_actuators(robot, leg.closures)
        if held:
            A = np.concatenate([A, active[..., held, :]], axis=-2)
            N = A[..., w]
        driven.append(_across(A[..., [rate for rate in plan.rates if rate not in locked_rates]], N))
    at_nacelle = [k for k, a in enumerate(robot.actuators) if a.joint in robot.nacelle.joints]
    at_nacelle += closing_actuators(robot, robot.nacelle.closures)
    driven.append(active[..., at_nacelle, :][..., w])
    free = len(w) - robot.motion.n
    constraint = _ratio(np.concatenate(locked, axis=-2), free) if free else np.ones(batch)
    rank = len(w) - len(undriven(robot))
    return serial, constraint, _ratio(np.concatenate(driven, axis=-2), rank) if rank else np.ones(batch)


def _span(place: slice) -> range:
    return range(place.start, place.stop)


def _ratio(A: Array, rank: int) -> Array:
    """The singular value that makes the rank over the largest one; zero if there are too few rows.

    One for rank zero: nothing has to be solved, as in a leg without freedoms of its own.
    """
    if not rank:
        return np.ones(A.shape[:-2])
    if min(A.shape[-2:]) < rank:
        return np.zeros(A.shape[:-2])
    s = np.linalg.svd(A, compute_uv=False)
    with np.errstate(all="ignore"):
        return np.nan_to_num(s[..., rank - 1] / s[..., 0])


def _across(M: Array, N: Array) -> Array:
    """The part of N's rows that no motion of M's columns can follow: Q^T N, Q across the range of M."""
    if not M.shape[-1]:
        return N
    U = np.linalg.svd(M, full_matrices=True)[0]
    return np.asarray(np.swapaxes(U[..., :, M.shape[-1] :], -1, -2) @ N)
