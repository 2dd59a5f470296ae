"""Inertias that other engines accept: moments that count for nothing completed, the others hardly changed.

A body whose angular velocities span W (3, r), in its own axes, moves alike with I and with I + D where D W
= 0: a planar link may have any moments about axes in its plane, a carriage any at all. Descriptions leave
them out; engines refuse a body without them, or with moments that no mass has (a + b < c). So they are
chosen such that the body could be built. What is left (a point mass that turns, a massless body at the end
of a branch) has to be changed, by the smallest part that an engine takes, and is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nacelle.exchange.graph import ExchangeReport, Graph, Solid
from nacelle.kinematics.mechanism.assembly import Assembly, generic_poses, rate_scale, scaled_closures
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.tree.closure import ClosureState
from nacelle.tree.spanning_tree import TreeKinematics

# Moments below this part of the largest are taken as zero, and a + b may miss c by as much.
_NONE = 1e-12
# Angular velocities below this (rad/s, at rates of 1) are rounding.
_STILL = 1e-7
# What is added to bodies that an engine refuses: parts of the robot's mass, and of m l^2.
_LEAST_MASS = 1e-10
_LEAST_INERTIA = 1e-12
_SMALLEST = 1e-14
# Radius of gyration of a body that never turns, over the robot's size.
_GYRATION = 0.05


def is_physical(solid: Solid) -> bool:
    """Whether a body could be built: positive mass and moments, none larger than the sum of the others."""
    a, b, c = np.linalg.eigvalsh(solid.inertia)
    return bool(solid.mass > 0.0 and a > _NONE * c and a + b >= (1.0 - _NONE) * c)


def complete_inertias(
    robot: Robot, assembly: Assembly, solids: Sequence[Solid], report: ExchangeReport
) -> list[Solid]:
    """The bodies of a robot with the moments chosen that its dynamics do not depend on.

    Args:
        robot: the robot.
        assembly: the assembly.
        solids: its bodies.
        report: of what is done.
    """
    result = list(solids)
    lacking = [k for k, solid in enumerate(solids) if k and solid.mass > 0.0 and not is_physical(solid)]
    if not lacking:
        return result
    states = [(assembly.motion, assembly.closures), *generic_poses(robot, assembly)]
    names = []
    for k in lacking:
        W = _angular_directions(robot, states, k)
        sound = _with_free_moments(solids[k], W, _GYRATION * robot.size)
        if sound is not None and is_physical(sound):
            result[k] = sound
            names.append(robot.bodies[k].name)
    if names:
        report.add_step(
            f"moments of inertia about axes about which a body never turns are chosen: {', '.join(names)}"
        )
    return result


def _angular_directions(
    robot: Robot, states: Sequence[tuple[TreeKinematics, ClosureState]], body: int
) -> Array:
    """Directions (3, r), orthonormal, of all angular velocities of a body, in its axes."""
    unit = rate_scale(robot)
    velocities: list[Array] = [np.zeros((3, 0))]
    for motion, state in states:
        J = scaled_closures(robot, state)
        _, s, Vt = np.linalg.svd(J)
        N = Vt[int(np.sum(s > 1e-9 * np.max(s, initial=1.0))) :].T
        velocities.append(motion.poses[body].R.T @ motion.jacobian(body)[3:] @ (unit[:, None] * N))
    U, s, _ = np.linalg.svd(np.concatenate(velocities, axis=1))
    return np.array(U[:, : int(np.sum(s > _STILL))])


def _with_free_moments(solid: Solid, W: Array, radius: float) -> Solid | None:
    """The body with free moments chosen; None where none are free."""
    I, rank = solid.inertia, W.shape[1]
    if rank == 0:
        return replace(solid, inertia=solid.mass * radius**2 * np.eye(3))
    if rank == 1:
        u = W[:, 0]
        about = float(u @ I @ u)
        # A ring's: two equal moments, of which half that about its axis would be the least.
        return replace(solid, inertia=about * np.outer(u, u) + 0.75 * about * (np.eye(3) - np.outer(u, u)))
    if rank == 2:
        x = np.cross(W[:, 0], W[:, 1])
        across = W.T @ I @ W
        return replace(solid, inertia=W @ across @ W.T + np.max(np.linalg.eigvalsh(across)) * np.outer(x, x))
    return None


def with_minimal_inertia(graph: Graph, moving: Sequence[str], engine: str) -> Graph:
    """The graph with the least mass and inertia that an engine takes in every moving body.

    Args:
        graph: the graph.
        moving: names of the bodies that the engine's format will have.
        engine: its name.
    """
    total = sum(solid.mass for solid in graph.bodies.values()) or 1.0
    size = (
        max((float(np.linalg.norm(end.p)) for j in graph.joints for end in (j.at, j.child_at)), default=1.0)
        or 1.0
    )
    bodies = dict(graph.bodies)
    for name in moving:
        solid = bodies[name]
        if is_physical(solid) and np.linalg.eigvalsh(solid.inertia)[0] > _SMALLEST:
            continue
        mass = max(solid.mass, _LEAST_MASS * total)
        if solid.mass < mass:
            graph.report.add_loss(f"{engine} refuses bodies without mass: {name!r} has {mass:.1e} kg")
        moments, axes = np.linalg.eigh(solid.inertia)
        least = max(_LEAST_INERTIA * mass * size**2, _SMALLEST)
        raised = np.maximum(moments, least)
        raised[:2] += max(0.0, 0.5 * (raised[2] - raised[0] - raised[1]))
        if np.max(raised - moments) > 2.0 * least or solid.mass == mass:
            by = f"{np.max(raised - moments):.1e} kg m^2"
            graph.report.add_loss(f"{engine} refuses the inertia of {name!r}: moments raised by {by}")
        bodies[name] = replace(solid, mass=mass, inertia=(axes * raised) @ axes.T)
    return replace(graph, bodies=bodies)
