"""Springs between two bodies, as wrenches on them.

From the point P_1 of one body to P_2 of the other d = P_2 - P_1, l = |d| and e = d / l. With v_1, v_2 the
velocities of the points the length changes by l' = e . (v_2 - v_1), and the spring and its damper pull with

    F = k (l - l_0) + c l'           +F e acts on the first body at P_1, -F e on the second at P_2

k stiffness, l_0 free length, c damping. It stores k (l - l_0)^2 / 2, and c l'^2 is the power it takes. Base
axes, m, N. Where the points meet (l = 0) its direction is not determined.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import State
from nacelle.dynamics.wrench import Wrench
from nacelle.kinematics.tree.spanning_tree import TreeMotion, point_velocity
from nacelle.model.leg import BASE
from nacelle.model.line_spring import LineSpring
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, norm, pack


class SpringLine(NamedTuple):
    """A spring in a configuration: its points, the direction from the first to the second, its length."""

    points: tuple[Array, Array]
    direction: Array
    length: Scalar


def line_between(first: Array, second: Array) -> SpringLine:
    """The line between two points (3,), m."""
    d = second - first
    length = norm(d)
    return SpringLine((first, second), d * divide(1.0, length), length)


def spring_line(spring: LineSpring, motion: TreeMotion) -> SpringLine:
    """Where a spring is, base axes."""
    poses = [motion.poses[body] for body in spring.bodies]
    first, second = (pose.p + pose.R @ p for pose, p in zip(poses, spring.points, strict=True))
    return line_between(first, second)


def spring_rate(spring: LineSpring, line: SpringLine, state: State) -> Scalar:
    """Rate l' of the length of a spring, m/s."""
    twists = state.moving.velocity.twists
    first, second = (
        point_velocity(twists[body], point) for body, point in zip(spring.bodies, line.points, strict=True)
    )
    return dot(line.direction, second - first)


def spring_energy(spring: LineSpring, line: SpringLine) -> Scalar:
    """Energy (J) that a spring stores."""
    stretch = line.length - spring.length
    return 0.5 * spring.stiffness * stretch * stretch


def tension(spring: LineSpring, length: Scalar, rate: Scalar, *, damper: bool = True) -> Scalar:
    """Tension F (N) of a spring and, if it counts, its damper."""
    pull = spring.pull(length)
    return pull + spring.damping * rate if damper else pull


def with_line_springs(state: State, settings: Settings) -> Settings:
    """The settings with the wrenches of springs between bodies among the external ones.

    Dampers count as friction does.
    """
    robot, motion = state.robot, state.now.motion
    if not robot.springs:
        return settings
    total = dict(settings.external)
    for spring in robot.springs:
        line = spring_line(spring, motion)
        rate = spring_rate(spring, line, state) if settings.friction else 0.0
        F = tension(spring, line.length, rate, damper=settings.friction)
        for body, point, sign in zip(spring.bodies, line.points, (1.0, -1.0), strict=True):
            if body == BASE:
                continue
            f = pack([sign * F * entry for entry in line.direction])
            own = Wrench(f, cross(point - motion.poses[body].p, f))
            total[body] = total[body].plus(own) if body in total else own
    return replace(settings, external=total)
