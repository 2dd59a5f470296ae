"""The element state at a pose: directions, lengths and angles with their derivatives, by the equivalent tree.

A direction x fixed to a body with angular velocity w has

    x' = w x x,      x'' = w' x x + w x x'

and lengths and angles are coordinates of joints: d = flip q + d_0. Base axes; m, rad.
"""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.elements.geometry import ElementGeometry
from nacelle.kinematics.elements.layout import ElementLayout, StateVariable, bar_direction
from nacelle.kinematics.elements.placement import element_layout
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.shapes import of_pose, of_twist, of_unknowns
from nacelle.kinematics.tree.configuration import configuration
from nacelle.kinematics.tree.rates import moving
from nacelle.kinematics.tree.spanning_tree import point_acceleration, point_velocity
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, cross, dot, pack


@physics(x=of_pose, y=of_unknowns, v=of_twist, a=of_twist)
def element_arrays(robot: Robot, x: Array, y: Array, v: Array, a: Array) -> dict[str, Array]:
    """All variables of the element state by name, (3, components) or (3,), with two derivatives."""
    layout = element_layout(mechanism_of(robot.numeric))
    now = configuration(robot, x, y)
    state = moving(now, v)
    u_dot = state.U @ a + state.bias
    at = ElementGeometry(robot, now.motion.poses)

    def turning(body: int) -> tuple[Array, Array, Array, Array]:
        """Spatial twist [v0; w] of a body and its derivative, as parts."""
        movers = now.motion.movers[body]
        twist = state.velocity.twists[body]
        rate = state.velocity.biases[body] + now.motion.columns[:, movers] @ u_dot[movers]
        return twist, rate, twist[3:], rate[3:]

    def variable(v: StateVariable) -> Array:
        twist, rate, w, w_dot = turning(v.body)
        if v.kind == "direction":
            e = (
                at.poses[v.body].R[:, v.number]
                if v.leg < 0
                else bar_direction(at, layout.legs[v.leg], v.number)
            )
            e_dot = cross(w, e)
            rows = [e, e_dot, cross(w_dot, e) + cross(w, e_dot)]
            return pack([[row[k] for k in layout.axes] for row in rows])
        if v.kind == "point":
            p = at.poses[v.body].p
            return np.stack([p, point_velocity(twist, p), point_acceleration(twist, rate, p)])
        place = robot.platform_nv + robot.v_slices[v.number].start
        motion = pack([state.u[place], u_dot[place]])
        if v.kind == "coordinate":
            return pack([now.q[robot.q_slices[v.number]][0], *motion])
        leg = layout.legs[v.leg]
        A, B = at.ends(leg, leg.rods[0])
        return pack([dot(at.direction(leg, leg.rods[0]), B - A), *(leg.flip * motion)])

    return {v.name: variable(v) for v in layout.variables}


def element_shapes(robot: Robot) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the variables of a robot's element state."""
    return element_layout(mechanism_of(robot.numeric)).shapes


__all__ = ["ElementLayout", "element_arrays", "element_shapes"]
