"""A robot as a graph: a tree from the base that reaches every body, and the joints that close its loops.

The robot's own tree has legs on the base and a platform that moves by itself. Here the platform hangs on
the first leg that holds it: the first closure between the two parts becomes a joint of the tree, and joints
of the part beyond are turned round where they are met from their other end. A part that nothing holds
floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nacelle.errors import ExportError
from nacelle.exchange.graph import (
    BASE,
    Axis,
    Coupling,
    ExchangeReport,
    Graph,
    Link,
    NamedFrame,
    RotationDamper,
    Solid,
    Strut,
)
from nacelle.exchange.names import Names
from nacelle.exchange.passes.merge import without_fixed_joints
from nacelle.exchange.tree import massless, single_axes, spanned
from nacelle.exchange.write.dampers import in_joints
from nacelle.exchange.write.inertia import completed
from nacelle.exchange.write.joints import JointLinks, placed
from nacelle.exchange.write.points import Joined, is_one_point, without_point
from nacelle.exchange.write.shapes import body_shapes
from nacelle.kinematics.limits import closure_coordinates
from nacelle.kinematics.mechanism.assembly import Assembly, assemble
from nacelle.model import leg as numbers
from nacelle.model.joint import Joint
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_about_com
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.scalar import Array


def assembled_graph(robot: Robot) -> Graph:
    """The graph of a robot in its reference pose, assembled.

    Raises:
        ExportError: if its loops do not close, or a body has a first moment but no mass.
    """
    found = assemble(robot)
    if found.open:
        gaps = ", ".join(f"{name} {gap}" for name, gap in found.open.items())
        raise ExportError(f"the loops of {robot.name} do not close at its reference pose: {gaps}")
    builder = _Builder(robot, found)
    graph = in_joints(without_fixed_joints(builder.graph()))
    return replace(graph, marks=builder.marks(graph))


class _Builder:
    def __init__(self, robot: Robot, found: Assembly) -> None:
        self.robot, self.found, self.report = robot, found, ExchangeReport()
        is_point = robot.nacelle.kind == "point"
        self.point: Joined | None = without_point(robot) if is_point and is_one_point(robot) else None
        self.translates = is_point and self.point is None
        self.closures = robot.closures if self.point is None else self.point.closures
        given = self.given = Names((BASE,))
        self.bodies = {numbers.BASE: BASE}
        for index in range(1, len(robot.bodies)):
            if index != numbers.PLATFORM or self.point is None:
                self.bodies[index] = given.new(robot.bodies[index].name, f"body{index}")
        own = Names(())
        self.joints = [own.new(joint.name, f"joint{k}") for k, joint in enumerate(robot.tree_joints)]
        self.cuts = [own.new(joint.name, f"closure{k}") for k, joint in enumerate(self.closures)]
        self.solids: dict[str, Solid] = {}
        names = Names(())
        drives = {
            robot.joints[drive.joint].name: replace(drive, name=names.new(drive.name, f"drive{k}"))
            for k, drive in enumerate(robot.actuators)
        }

        def carrier(name: str) -> str:
            made = given.new(name, name)
            self.solids[made] = Solid()
            return made

        self.made = JointLinks(drives, carrier, self.report)

    def graph(self) -> Graph:
        robot = self.robot
        own = [self._solid(body) for body in range(len(robot.bodies))]
        own = completed(robot, self.found, own, self.report)
        links = self._strokes() if self.translates else []
        links += [link for k, joint in enumerate(robot.tree_joints) for link in self._links(k, joint)]
        for k, joint in enumerate(self.closures):
            if not joint.is_coupling:
                links += self._closing_links(k, joint)
        bodies = {name: own[index] for index, name in self.bodies.items() if index} | self.solids
        floating = None
        if self.bodies.get(numbers.PLATFORM) in set(bodies) - _reached(links):
            floating = self.bodies[numbers.PLATFORM]
        self._note_losses()
        return spanned(
            Graph(
                name=Names(()).new(robot.name, "robot"),
                file=robot.name,
                gravity=np.array(robot.gravity, dtype=float),
                bodies=bodies,
                joints=tuple(links),
                couplings=tuple(
                    self._coupling(k) for k, joint in enumerate(self.closures) if joint.is_coupling
                ),
                struts=self._struts(),
                dampers=self._dampers(),
                floating=floating,
                pose=self.found.platform if floating else identity(),
                shapes=own[numbers.BASE].shapes,
                report=self.report,
            )
        )

    def _strokes(self) -> list[Link]:
        """A nacelle that never turns, on three strokes along the axes of the base."""
        name = self.bodies[numbers.PLATFORM]
        if any(joint.at_point for joint in self.closures):
            raise ExportError(
                f"{self.robot.name} has joints between legs at a nacelle that is no single point, which no "
                "other format holds"
            )
        axes = [Axis(np.eye(3)[k], turns=False, value=float(self.found.platform.p[k])) for k in range(3)]
        own = Names((*self.joints, *self.cuts))
        link = Link(name, BASE, name, identity(), Pose(self.found.platform.R.T, np.zeros(3)))
        links, carriers = single_axes(
            link, axes, [own.new(f"{name}-{axis}", name) for axis in "xyz"], self.given
        )
        self.solids |= massless(carriers)
        return links

    def marks(self, graph: Graph) -> tuple[NamedFrame, ...]:
        """The tools on the bodies of a graph."""
        names = Names((*graph.bodies, *self.joints, *self.cuts))
        made = []
        for tool in self.robot.tools:
            body = self.bodies.get(tool.body, "")
            if body in graph.bodies:
                made.append(NamedFrame(names.new(tool.name, "tool"), body, tool.frame))
            else:
                self.report.lost(f"the tool {tool.name!r} left out: its body is none of the file")
        return tuple(made)

    def _links(self, k: int, joint: Joint) -> list[Link]:
        values = [float(v) for v in self.found.q[self.robot.q_slices[k]]]
        return self.made.links(joint, self.joints[k], self._ends(joint), values)

    def _closing_links(self, k: int, joint: Joint) -> list[Link]:
        between = placed(joint, self.found.motion.poses)
        values = closure_coordinates(joint, between.R, between.p).tolist()
        return self.made.links(joint, self.cuts[k], self._ends(joint), values)

    def _ends(self, joint: Joint) -> tuple[str, str]:
        return self.bodies[joint.predecessor], self.bodies[joint.successor]

    def _solid(self, body: int) -> Solid:
        robot = self.robot
        loads = [load.inertia for load in robot.payload if load.body == body]
        ten = np.sum([robot.bodies[body].inertia, *loads], axis=0)
        if self.point is not None and body in self.point.shares:
            ten = ten + self.point.shares[body]
        mass, moment = float(ten[0]), ten[1:4]
        if mass == 0.0 and np.any(moment):
            raise ExportError(
                f"body {robot.bodies[body].name!r} of {robot.name} has a first moment but no mass, as base "
                "parameters may; other engines take a mass and its centre alone"
            )
        com = moment / mass if mass else np.zeros(3)
        about = np.array(inertia_about_com(ten), dtype=float)
        # A point mass away from the origin has rounding for an inertia about its centre.
        about[np.abs(about) < 1e-15 * np.max(np.abs(ten[4:]), initial=0.0)] = 0.0
        return Solid(
            mass, np.array(com, dtype=float), about, body_shapes(robot, self.found.motion.poses, body)
        )

    def _coupling(self, k: int) -> Coupling:
        joint = self.closures[k]
        (first, _), *others = joint.terms
        follows = {self.joints[j]: -float(factor) for j, factor in others}
        return Coupling(self.cuts[k], self.joints[first], follows, float(joint.offset))

    def _struts(self) -> tuple[Strut, ...]:
        names = Names(())
        made = []
        for k, spring in enumerate(self.robot.springs):
            ends = [
                self._at(b, np.array(p, dtype=float))
                for b, p in zip(spring.bodies, spring.points, strict=True)
            ]
            made.append(
                Strut(
                    names.new(spring.name, f"spring{k}"),
                    (ends[0][0], ends[1][0]),
                    (ends[0][1], ends[1][1]),
                    float(spring.stiffness),
                    float(spring.length),
                    float(spring.damping),
                )
            )
        return tuple(made)

    def _dampers(self) -> tuple[RotationDamper, ...]:
        names = Names(())
        return tuple(
            RotationDamper(
                names.new(damper.name, f"damper{k}"),
                (self.bodies[damper.bodies[0]], self.bodies[damper.bodies[1]]),
                float(damper.damping),
            )
            for k, damper in enumerate(self.robot.dampers)
        )

    def _at(self, body: int, point: Array) -> tuple[str, Array]:
        """A point of a body of the robot in the graph."""
        if body == numbers.PLATFORM and self.point is not None:
            holder, frame = self.point.holder
            return self.bodies[holder], frame.p
        return self.bodies[body], point

    def _note_losses(self) -> None:
        robot, lost = self.robot, self.report.lost
        self.made.note_losses()
        if self.point is not None:
            self.report.done(
                f"the point {robot.bodies[numbers.PLATFORM].name!r} is where the legs meet, no body"
            )
        if any(body.section is not None for body in robot.bodies):
            lost("flexible links are rigid")
        if any("mesh" in shape for body in robot.bodies for shape in body.display):
            lost("meshes are not drawn")
        if robot.modes:
            lost("modes left out: the file has the robot as it is given")


def _reached(links: Sequence[Link]) -> set[str]:
    """The bodies that joints lead to from the base."""
    reached, more = {BASE}, True
    while more:
        ends = [{link.parent, link.child} for link in links]
        beyond = {body for pair in ends if pair & reached for body in pair} - reached
        reached, more = reached | beyond, bool(beyond)
    return reached
