"""How a robot moves in a mode: displacements of its bodies and the lines of its bent links, in base axes.

A point of body b at p is displaced by the mode phi (r,) by

    d = v_b + w_b x (p - p_b),      [v_b; w_b] = J_b phi  (6,), at the body's origin p_b

times a factor; points along a flexible link also by its shape functions. m for mass-normalised shapes times
the factor.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from nacelle.elastic.extended import extended
from nacelle.elastic.frames import ElasticFrames
from nacelle.elastic.linear.frequencies import NaturalFrequencies
from nacelle.elastic.linear.matrices import straight_frames
from nacelle.errors import NacelleError
from nacelle.kinematics.tree.configuration import configuration
from nacelle.spatial.scalar import Array

# Pieces of which a bent link is drawn.
_PIECES = 24


class ModeShape:
    """Displacements of points in a mode at one pose.

    Attributes:
        modes: the modes.
        frames: the frames about which they are.
        phi: the mode (r,), mass-normalised.
        links: for each flexible link, by the name of its body, its place among the beams.
    """

    def __init__(self, modes: NaturalFrequencies, mode: int) -> None:
        """Take a mode, from 0, of modes at one pose.

        Raises:
            NacelleError: if there is no such mode, or the modes are at several poses.
        """
        if modes.flags.ndim:
            raise NacelleError("the shape of a mode belongs to one pose")
        count = modes.frequencies.shape[-1]
        if not 0 <= mode < count:
            raise NacelleError(f"there is no mode {mode}: {modes.robot.name} has modes 0 to {count - 1} here")
        self.modes, self.phi = modes, modes.shapes[:, mode]
        self.frames = _frames(modes)
        self.links = {shapes.beam.name: k for k, shapes in enumerate(self.frames.extended.shapes)}

    def twist(self, body: int) -> Array:
        """Twist [v; w] (6,) of a frame at its origin."""
        return (
            np.asarray(self.frames.jacobian(body, self.frames.motion.poses[body].p), dtype=float) @ self.phi
        )

    def at(self, body: int, point: Array) -> Array:
        """Displacement of points (..., 3) of a body."""
        twist, origin = self.twist(body), self.frames.motion.poses[body].p
        return np.asarray(twist[:3] + np.cross(twist[3:], point - origin))

    def link(self, beam: int, factor: float) -> Array:
        """Points (points, 3) along a link, displaced by a factor."""
        own = self.frames.extended
        shapes, part, pose = own.shapes[beam], own.slices[beam], self.frames.floating(beam)
        e = self.phi[len(own.rigid_rates) + part.start : len(own.rigid_rates) + part.stop]
        q = np.asarray(self.frames.qe[part], dtype=float)
        points = []
        for xi in np.linspace(0.0, 1.0, _PIECES + 1):
            d = shapes.movement(float(xi))[:3]
            place = pose.p + pose.R @ (np.array([xi * shapes.beam.length, 0.0, 0.0]) + d @ q)
            points.append(place + factor * (self.at(shapes.beam.body, place) + pose.R @ (d @ e)))
        return np.array(points)

    def levers(self, beam: int, factor: float) -> list[Array]:
        """Rigid pieces (2, 3) from the ends of a link to its joints beside them, displaced by a factor."""
        own = self.frames.extended
        link, pieces = own.shapes[beam].beam, []
        line = self.link(beam, factor)
        for word, end, joints in (("start", line[0], link.start), ("end", line[-1], link.end)):
            section = own.section_of(link.body, word)
            for index in joints:
                joint = own.tree.joints[own.joint_of[index]]
                frame = joint.frame_predecessor if joint.predecessor == section else joint.frame_successor
                if joint.at_point or section not in (joint.predecessor, joint.successor):
                    continue
                place = (self.frames.motion.poses[section] @ frame).p
                pieces.append(np.array([end, place + factor * self.at(section, place)]))
        return pieces

    @cached_property
    def largest(self) -> float:
        """The largest displacement of a link or of a body's origin, for a factor of 1."""
        reach = [self.link(k, 1.0) - self.link(k, 0.0) for k in self.links.values()]
        bodies = range(1, len(self.modes.robot.bodies))
        origins = [self.at(body, self.frames.motion.poses[body].p) for body in bodies]
        return float(np.max(np.linalg.norm(np.concatenate([*reach, origins]), axis=1)))

    def factor(self, size: float) -> float:
        """The factor that makes the largest displacement so large, m."""
        return size / self.largest if self.largest > 0.0 else 0.0


def _frames(modes: NaturalFrequencies) -> ElasticFrames:
    """The frames about which the modes are."""
    if modes.load is not None:
        return modes.load.balances[()].state.frames()
    own = extended(modes.robot, planar=modes.planar)
    return straight_frames(own, configuration(modes.robot, modes.x, modes.model.y))
