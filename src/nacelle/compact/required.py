"""What a motion requires of a robot, gathered: wrenches on nodes, forces along rates, and on the platform.

A node (link) has a force f (3,), N, at its origin and a moment n (3,), N m, about it, in its own axes. From
the ends of the legs to the base (the inward recursion of Newton and Euler), with e the axis of its joint, E
(3, 3) the rotation from its axes to its parent's and o its origin in the parent's axes,

    Gamma = e . n  (revolute)  or  e . f  (prismatic)
    f_parent += E f,      n_parent += E n + o x (E f)

which leaves a force Gamma along every rate of the legs. The constraints are then solved, M^T lambda = Gamma
(`legs`), and their multipliers lambda put forces and moments on the platform, added to its own along its
rates.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nacelle.compact.configured import ConfiguredRobot
from nacelle.compact.constraints import Constraint, ConstraintKey
from nacelle.compact.legs import ClosureRate, Legs, Rates, add_forces
from nacelle.compact.sides import PlatformSides
from nacelle.compact.vectors import ZERO, add, all_zero, cross_nonzero
from nacelle.spatial.scalar import Array, Scalar, dot
from nacelle.spatial.screw import Wrench

_NO_WRENCH = Wrench(ZERO, ZERO)


@dataclass(eq=False)
class ForceAccumulator:
    """What the motion requires, gathered.

    Attributes:
        configured: where the robot is.
        force: for every node a force at its origin, its axes.
        moment: for every node a moment about its origin.
        gamma: forces along rates of legs.
        constraint_wrenches: for every constraint the wrench at the platform's point, in its axes.
        platform: forces along the moving rates of the platform.
    """

    configured: ConfiguredRobot
    force: dict[int, Array] = field(default_factory=dict)
    moment: dict[int, Array] = field(default_factory=dict)
    gamma: Rates = field(default_factory=dict)
    constraint_wrenches: dict[ConstraintKey, Wrench] = field(default_factory=dict)
    platform: Rates = field(default_factory=dict)

    def add_to_node(self, node: int, force: Array = ZERO, moment: Array = ZERO, point: Array = ZERO) -> None:
        """Add a force (3,), N, at a point (3,), m, of a node, and a moment (3,), N m, its axes."""
        if node:
            self.force[node] = add(self.force.get(node, ZERO), force)
            self.moment[node] = add(self.moment.get(node, ZERO), add(moment, cross_nonzero(point, force)))

    def add_to_constraint(self, key: ConstraintKey, force: Array = ZERO, moment: Array = ZERO) -> None:
        """Add a force (3,), N, at the platform's point of a constraint and a moment (3,), N m, its axes."""
        f, n = self.constraint_wrenches.get(key, _NO_WRENCH)
        self.constraint_wrenches[key] = Wrench(add(f, force), add(n, moment))

    def along(self, rate: int, value: Scalar) -> None:
        """Add a force along a rate of a leg or of a joint of the platform, N or N m."""
        platform_joint_rates = self.configured.platform.mechanism.platform_joint_rates
        add_forces(self.platform if rate in platform_joint_rates else self.gamma, {rate: value})

    def add_along_closure(self, legs: Legs, rate: ClosureRate, value: Scalar) -> None:
        """Add a force along the rate of a closure, N or N m: -e on its first body and +e on its second."""
        gamma, platform = rate.unit_force(legs)
        add_forces(self.gamma, {key: value * factor for key, factor in gamma.items()})
        add_forces(self.platform, {key: value * factor for key, factor in platform.items()})

    def add_to_platform(
        self, body: int, point: Array, force: Array, moment: Array, local: Array | None = None
    ) -> None:
        """Add a wrench (N, N m) on a platform body at a point (3,), base axes, m; `local` in its frame."""
        add_forces(
            self.platform, self.configured.platform.generalised_forces(body, point, force, moment, local)
        )


def add_to_both_sides(forces: ForceAccumulator, constraint: Constraint, near: Wrench, far: Wrench) -> None:
    """Add wrenches on both sides of a constraint, at its points, in its axes.

    Args:
        forces: where they are gathered.
        constraint: the constraint.
        near: the wrench on the leg's side.
        far: that on the other side, the platform's or that of another node.
    """
    trees, sides = forces.configured.trees, constraint.sides
    if isinstance(sides, PlatformSides):
        if sides.axes == sides.node:
            forces.add_to_node(sides.node, *near, sides.leg_point)
        else:
            for rate, (v, w) in sides.near(trees).items():
                forces.along(rate, dot(v, near.f))
                if not all_zero(near.n):
                    forces.along(rate, dot(w, near.n))
        forces.add_to_constraint(constraint.key, *far)
        return
    for node, point, wrench in ((sides.node, sides.leg_point, near), (sides.far_node, sides.far_point, far)):
        f, n = (trees.down(node, vector, sides.axes) for vector in wrench)
        forces.add_to_node(node, f, n, point)


def propagate_forces(forces: ForceAccumulator) -> Rates:
    """Forces Gamma (N or N m) along the rates of all legs: wrenches of the nodes carried to the base.

    Gamma = e . n or e . f at every joint; f_parent += E f, n_parent += E n + o x (E f).
    """
    trees = forces.configured.trees
    force, moment = dict(forces.force), dict(forces.moment)
    gamma = dict(forces.gamma)
    for index in reversed(range(1, len(trees.nodes))):
        node = trees.node(index)
        f, n = force.get(index, ZERO), moment.get(index, ZERO)
        for rate, axis in zip(node.rates, node.axes, strict=True):
            add_forces(gamma, {rate: dot(axis, n if node.primitive.is_rotation else f)})
        if index in trees.roots:
            body = trees.roots[index]
            forces.add_to_platform(body, forces.configured.platform.poses[body].p, f, n)
        elif node.parent:
            up_f = node.up(f) if not all_zero(f) else ZERO
            up_n = node.up(n) if not all_zero(n) else ZERO
            force[node.parent] = add(force.get(node.parent, ZERO), up_f)
            carried = add(up_n, cross_nonzero(node.o, up_f))
            moment[node.parent] = add(moment.get(node.parent, ZERO), carried)
    return gamma


def forces_on_platform(legs: Legs, forces: ForceAccumulator, multipliers: list[Rates]) -> Rates:
    """What the legs put on the platform along its moving rates: multipliers and forces at constraints.

    `inward` comes before: it brings what hangs on the platform there.
    """
    configured = legs.configured
    total = dict(forces.platform)
    for constraint in configured.all_constraints:
        values = multipliers[constraint.key.leg]
        force, moment = constraint.wrench([values.get(row) for row in constraint.span])
        f, n = forces.constraint_wrenches.get(constraint.key, _NO_WRENCH)
        wrench, workless = Wrench(add(force, f), add(moment, n)), legs.plan.workless.get(constraint.key)
        add_forces(
            total, constraint.sides.platform_forces(configured.trees, configured.platform, wrench, workless)
        )
    return total
