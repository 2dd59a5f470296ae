"""Idle motions: those that leave the nacelle at rest, and the bodies that spin in them.

With u (rates of the leg,) the joint rates of a leg and J (rows, rates) their columns in the Jacobian of the
closures, its idle motions are the null space J u = 0. One that moves a body (or several as one) by a twist
[v; w] (6,) at the base's origin with v . w = 0 is a pure rotation: the points r with v + w x r = 0 are the
line along w through w x v / |w|^2, the axis of the spin. Rods between two spherical joints have one, in a leg
or among the bodies of the nacelle's own mechanism. It does not act on anything else, so the models set it to
zero:

    (R axis)^T w = 0         R (3, 3) the body's orientation, axis (3,) in its frame, w its angular velocity
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from nacelle.errors import number_of
from nacelle.kinematics.mechanism.assembly import rate_scale
from nacelle.kinematics.mechanism.rank import null_space, rank_of
from nacelle.kinematics.tree.spanning_tree import TreeMotion, rates_of
from nacelle.model.joint import JointKind
from nacelle.model.leg import BASE, PLATFORM, Leg
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, norm, product

# Entries of a spin's axis below this are rounding of the null space that it is read from.
_AXIS = 1e-12


@dataclass(frozen=True)
class Spin:
    """A body that spins idly: the axis and a point of it in the frame of the body."""

    body: int
    axis: tuple[float, ...]
    point: tuple[float, ...]


def idle_count(J: Array, top: Array) -> int:
    """Number of motions with the nacelle at rest: dim ker of J (rows, rates) without the columns `top`."""
    joints = np.delete(np.arange(J.shape[1]), top)
    return int(null_space(J[:, joints]).shape[1]) if joints.size else 0


def spin_row(motion: TreeMotion, spin: Spin) -> Array:
    """The spin of a body about its own axis as a row (rates,) over the rates of the tree: (R axis)^T J_w."""
    axis = motion.poses[spin.body].R @ np.array(spin.axis)
    return np.asarray(axis @ motion.jacobian(spin.body)[3:])


def held_spins(M: Array, spins: Iterable[tuple[Spin, Array]]) -> tuple[list[Spin], Array]:
    """Of some spins with their rows (rates,) those that hold what equations M (rows, rates) leave free.

    Bodies that spin together are held by one of them. The rows beside M are given with them.
    """
    chosen: list[Spin] = []
    rank = rank_of(M)
    for spin, row in spins:
        more = np.vstack([M, row])
        if rank < M.shape[1] and rank_of(more) > rank:
            M, rank = more, rank + 1
            chosen.append(spin)
    return chosen, M


def idle_motions(robot: Robot, J: Array, motion: TreeMotion) -> tuple[tuple[str, ...], tuple[Spin, ...]]:
    """Name the idle motions leg by leg: bodies that spin alone or together, then what is left.

    Those of the nacelle's own mechanism are bodies that spin between spherical joints.
    """
    words: list[str] = []
    spinning: list[Spin] = []
    for leg in robot.legs:
        columns = list(rates_of(robot, leg.joints))
        idle = null_space(J[:, columns]).shape[1] if columns else 0
        for group in _spin_groups(robot, leg) if idle else ():
            spins = _spins(robot, J, motion, group)
            if spins:
                words.append(_spin_words(robot, spins))
                spinning += spins
                idle -= 1
        if idle > 0:
            words.append(f"{number_of(idle, 'motion')} inside leg {leg.name}")
    for group in _between_spherical(robot, robot.nacelle.bodies):
        spins = _spins(robot, J, motion, group)
        words += [_spin_words(robot, spins)] if spins else []
        spinning += spins
    return tuple(words), tuple(spinning)


def _spin_words(robot: Robot, spins: list[Spin]) -> str:
    names = ", ".join(robot.bodies[spin.body].name for spin in spins)
    return f"{names} {'spins about its own axis' if len(spins) == 1 else 'spin together about their axis'}"


def _spin_groups(robot: Robot, leg: Leg) -> list[list[int]]:
    """Bodies that may spin: single ones without others on them, or the whole of an unbranched leg."""
    carriers = {robot.joints[j].predecessor for j in leg.joints}
    single = [[body] for body in leg.bodies if body not in carriers]
    chain = len(single) == 1 and len(leg.bodies) > 1
    return [list(leg.bodies)] if chain else single


def _between_spherical(robot: Robot, bodies: tuple[int, ...]) -> list[list[int]]:
    """Groups of bodies that two or more spherical joints, and nothing else, join to all others."""
    group = {body: body for body in range(len(robot.bodies))}

    def find(body: int) -> int:
        while group[body] != body:
            body = group[body]
        return body

    joints = [joint for joint in robot.joints if not joint.is_coupling]
    for joint in joints:
        if joint.kind is not JointKind.SPHERICAL:
            group[find(joint.successor)] = find(joint.predecessor)
    fixed = {
        find(body) for body in range(len(robot.bodies)) if body in (BASE, PLATFORM) or body not in bodies
    }
    ends = [
        find(body)
        for joint in joints
        if joint.kind is JointKind.SPHERICAL
        for body in (joint.predecessor, joint.successor)
    ]
    found: dict[int, list[int]] = {}
    for body in bodies:
        if find(body) not in fixed and ends.count(find(body)) > 1:
            found.setdefault(find(body), []).append(body)
    return list(found.values())


def _spins(robot: Robot, J: Array, motion: TreeMotion, bodies: list[int]) -> list[Spin]:
    """Spins of bodies while all others stand still; empty if the motion is not one spin about one line."""
    placed = {j: joint.successor for j, joint in enumerate(robot.tree_joints)}
    hanging = [
        j for j, body in placed.items() if robot.joints[j].predecessor in bodies and body not in bodies
    ]
    own = list(rates_of(robot, [*(j for j, body in placed.items() if body in bodies), *hanging]))
    scale = rate_scale(robot)
    # What hangs on them stays where it is.
    rest = [np.where(motion.movers[placed[j]], motion.columns, 0.0) * scale for j in hanging]
    alone = null_space(np.vstack([J, *rest])[:, own]) if own else np.zeros((0, 0))
    if alone.shape[1] != 1:
        return []
    rates = np.zeros(motion.columns.shape[1])
    rates[own] = alone[:, 0] * scale[own]
    twists = {b: motion.columns @ np.where(motion.movers[b], rates, 0.0) for b in bodies}
    moving = [b for b in bodies if np.linalg.norm(twists[b][3:]) > 1e-9]
    if not moving:
        return []
    v0, w = twists[moving[0]][:3], twists[moving[0]][3:]
    size = float(np.linalg.norm(w))
    same = all(np.linalg.norm(twists[b] - twists[moving[0]]) < 1e-7 * size for b in moving)
    still = all(np.linalg.norm(twists[b]) < 1e-7 * size for b in bodies if b not in moving)
    if not same or not still or abs(float(v0 @ w)) > 1e-7 * size * size * robot.size:
        return []
    point = np.cross(w, v0) / size**2
    spins = []
    for b in moving:
        pose = motion.poses[b]
        # An entry that is zero but for the rounding of the null space is zero.
        axis, place = product(pose.R.T, w / size), product(pose.R.T, point - pose.p)
        axis = np.where(np.abs(axis) < _AXIS, 0.0, axis)
        axis = axis / norm(axis)
        spins.append(Spin(b, tuple(float(c) for c in axis), tuple(float(c) for c in place)))
    return spins
