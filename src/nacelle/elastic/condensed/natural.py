"""Positions and motion of a robot without its two-point links, over any scalar.

    p = [platform; joints of the stumps; elastic coordinates of the stumps; for each link t (and n_1)]
    y = [rates of the actuators; other rates of the stumps; for each link t']

All entries are independent: there is no closure. In space the direction n_1 (3,) across a link is carried
along, n_1' = -w_1 e, and n_2 = e x n_1: the frame of a link that does not spin. In a plane n follows from its
normal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.state import State
from nacelle.elastic.condensed.link import (
    Driven,
    LinkConstants,
    LinkRates,
    constants_of,
    link_at,
    link_in_motion,
)
from nacelle.elastic.condensed.structure import CondensedStructure, LinkEnd, structure_of
from nacelle.elastic.dynamics import positions
from nacelle.elastic.frames import ElasticFrames
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.tree.configuration import Configuration
from nacelle.kinematics.tree.rates import MovingConfiguration
from nacelle.kinematics.tree.spanning_tree import (
    axis_coordinates,
    motion_of_steps,
    point_acceleration,
    point_velocity,
    steps_from_coordinates,
    tree_velocity,
)
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_from_rotation
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, norm, pack, product


@dataclass(frozen=True, eq=False)
class Natural:
    """Where everything is in p and y.

    Attributes:
        structure: the robot with its links taken out.
        links: constants of each link.
        order: rates of the stumps in y: the actuators', then the others, as places in the stumps' rates.
    """

    structure: CondensedStructure
    links: tuple[LinkConstants, ...]
    order: tuple[int, ...]

    @property
    def na(self) -> int:
        """Number of actuators."""
        return len(self.structure.robot.actuators)

    @cached_property
    def zeros(self) -> tuple[int, ...]:
        """Places in p of the platform's quaternion that are zero throughout: those of a turn in a plane."""
        structure = self.structure
        if structure.normal is None or positions.platform_size(structure.stumps) == 3:
            return ()
        reference = quat_from_rotation(mechanism_of(structure.robot).assembly.platform.R)
        axis = int(np.argmax(np.abs(structure.normal)))
        others = [k for k in range(3) if k != axis]
        return () if np.max(np.abs(reference[others])) > 1e-12 else tuple(3 + k for k in others)

    @property
    def stumps_size(self) -> int:
        """Numbers in p that place the stumps."""
        return positions.size(self.structure.stumps)

    @cached_property
    def link_places(self) -> tuple[slice, ...]:
        """Where each link's numbers are in p."""
        extra = 0 if self.structure.normal is not None else 3
        ends = np.cumsum([self.stumps_size, *(own.n + extra for own in self.links)]).tolist()
        return tuple(map(slice, ends, ends[1:]))

    @cached_property
    def link_rates(self) -> tuple[slice, ...]:
        """Where each link's rates are in y."""
        ends = np.cumsum([len(self.order), *(own.n for own in self.links)]).tolist()
        return tuple(map(slice, ends, ends[1:]))

    @property
    def size(self) -> int:
        """Length of p."""
        return int(self.link_places[-1].stop)

    @property
    def n(self) -> int:
        """Length of y."""
        return int(self.link_rates[-1].stop)


def natural_of(robot: Robot) -> Natural:
    """Positions and rates of a robot whose loops are cut by two-point links.

    Raises:
        KinematicsError: if they are not.
    """
    own = robot.numeric
    return _natural(own, own.all_names)


@lru_cache(maxsize=64)
def _natural(robot: Robot, names: tuple[str, ...]) -> Natural:
    del names  # only tells robots apart that differ in them alone
    structure = structure_of(robot)
    if isinstance(structure, str):
        raise KinematicsError(f"the small form does not support {robot.name}: {structure}")
    stumps = structure.stumps
    driven_rates = [
        stumps.robot.platform_nv + stumps.robot.v_slices[a.joint].start for a in stumps.robot.actuators
    ]
    others = [k for k in structure.free if k not in driven_rates]
    return Natural(
        structure, tuple(constants_of(link.shapes) for link in structure.links), (*driven_rates, *others)
    )


class Tip(NamedTuple):
    """An end of a link: where it is, its Jacobian (3, rates), velocity and bias acceleration less gravity."""

    p: Array
    J: Array
    v: Array
    bias: Array


@dataclass(frozen=True)
class Now:
    """A robot without its links, in motion.

    Attributes:
        natural: where everything is in p and y.
        frames: the stumps.
        state: the stumps, for rigid bodies and joints.
        r: rates of the stumps.
        tips: of each link its two ends.
        links: the links in motion.
    """

    natural: Natural
    frames: ElasticFrames
    state: State
    r: Array
    tips: tuple[tuple[Tip, Tip], ...]
    links: tuple[Driven, ...]

    @property
    def J(self) -> Array:
        """Rates of the stumps (r, order) from those in y."""
        return selection(self.natural)


def selection(natural: Natural) -> Array:
    """Rates of the stumps (r, order) from those in y."""
    S = np.zeros((natural.structure.stumps.embedding.shape[1], len(natural.order)))
    S[list(natural.order), range(len(natural.order))] = 1.0
    return S


def unit_positions(natural: Natural, p: Array) -> Array:
    """Positions p (size,) with unit quaternions; entries that a planar robot's platform lacks are zero."""
    entries = list(p)
    for k in natural.zeros:
        entries[k] = 0.0
    stumps = positions.normalised(natural.structure.stumps, pack(entries[: natural.stumps_size]))
    return pack([*stumps, *entries[natural.stumps_size :]])


class Lengths(NamedTuple):
    """Lengths of all links and their rates, where they are given."""

    length: Array
    rate: Array


def now_at(natural: Natural, p: Array, y: Array, lengths: Lengths | None = None) -> Now:
    """The robot at positions p and rates y.

    Lengths of the links and their rates follow if they are not given.
    """
    stumps = natural.structure.stumps
    platform, q, qe = positions.split_positions(stumps, unit_positions(natural, p)[: natural.stumps_size])
    coordinates = stumps.coordinates(q, qe)
    steps = steps_from_coordinates(stumps.tree, coordinates)
    motion = motion_of_steps(stumps.tree, platform, steps)
    frames = ElasticFrames(stumps, qe, motion)
    S = selection(natural)
    r = product(S, y[: len(natural.order)])
    u = product(stumps.embedding, r)
    velocity = tree_velocity(stumps.tree, motion, u)
    state = State(
        Configuration(
            stumps.tree,
            tuple(steps),
            motion,
            (),
            coordinates=axis_coordinates(stumps.tree, coordinates),
        ),
        MovingConfiguration(np.zeros((0, 0)), u, np.zeros(0), velocity),
    )
    gravity = np.asarray(stumps.robot.gravity)
    columns = product(stumps.embedding, S)
    tips, links = [], []
    for k, link in enumerate(natural.structure.links):
        ends = []
        for end in (link.start, link.end):
            pose = motion.poses[end.body]
            point = pose.p + product(pose.R, end.place) if np.any(end.place) else pose.p
            twist, bias = velocity.twists[end.body], velocity.biases[end.body]
            ends.append(
                Tip(
                    point,
                    product(motion.point_jacobian(end.body, point)[:3], columns),
                    point_velocity(twist, point),
                    point_acceleration(twist, bias, point) - gravity,
                )
            )
        part, rate = p[natural.link_places[k]], y[natural.link_rates[k]]
        own = natural.links[k]
        span = ends[1].p - ends[0].p
        across = None if natural.structure.normal is not None else _across(span, part[own.n :])
        at = link_at(span, norm(span) if lengths is None else lengths.length[k], across, link.normal)
        velocity_between = ends[1].v - ends[0].v
        stretch = dot(at.e, velocity_between) if lengths is None else lengths.rate[k]
        w = pack([dot(n, velocity_between) * at.reciprocal for n in at.n])
        links.append(link_in_motion(own, at, LinkRates(stretch, w, part[: own.n], rate)))
        tips.append((ends[0], ends[1]))
    return Now(natural, frames, state, r, tuple(tips), tuple(links))


def tip_points(natural: Natural, p: Array) -> list[tuple[Array, Array]]:
    """Both ends (3,) of every link."""
    stumps = natural.structure.stumps
    platform, q, qe = positions.split_positions(stumps, unit_positions(natural, p)[: natural.stumps_size])
    steps = steps_from_coordinates(stumps.tree, stumps.coordinates(q, qe))
    poses = motion_of_steps(stumps.tree, platform, steps).poses

    def point(end: LinkEnd) -> Array:
        pose = poses[end.body]
        return np.asarray(pose.p + product(pose.R, end.place) if np.any(end.place) else pose.p)

    return [(point(link.start), point(link.end)) for link in natural.structure.links]


def _across(span: Array, first: Array) -> tuple[Array, Array]:
    """Unit vectors across a link: the first made perpendicular to it, and the second."""
    square = dot(span, span)
    first = first - span * (dot(span, first) * divide(1.0, square))
    first = first * divide(1.0, norm(first))
    return first, cross(span, first) * divide(1.0, norm(span))


def position_rates(now: Now, p: Array, y: Array) -> Array:
    """dp/dt (size,): of the stumps by their rates, t' of the links' bending, and n_1' = -w_1 e."""
    natural = now.natural
    result: list[Scalar] = list(positions.rates(natural.structure.stumps, p[: natural.stumps_size], now.r))
    for k, link in enumerate(now.links):
        result += list(y[natural.link_rates[k]])
        if natural.structure.normal is None:
            result += list(-link.now.w[0] * link.at.e)
    return pack(result)
