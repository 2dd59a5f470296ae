"""A robot as a graph: a tree from the base that reaches every body, and the joints that close its loops.

The robot's own tree has legs on the base and a platform that moves by itself. Here the platform hangs on the
first leg that holds it: the first closure between the two parts becomes a joint of the tree, and joints of the
part beyond are turned round where they are met from their other end. A part that nothing holds floats.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacelle.errors import ExportError
from nacelle.exchange.graph import BASE, Coupling, Graph, Link, Report, Solid, Strut
from nacelle.exchange.names import Names
from nacelle.exchange.passes.merge import merged
from nacelle.exchange.write.components import Components
from nacelle.exchange.write.inertia import completed
from nacelle.exchange.write.joints import JointLinks, closure_coordinates, placed, reversed_chain
from nacelle.exchange.write.points import Joined, without_point
from nacelle.exchange.write.shapes import shapes_of
from nacelle.kinematics.mechanism.assembly import Assembly, assemble
from nacelle.model import leg as numbers
from nacelle.model.joint import Joint
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_about_com
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.scalar import Array


def graph_of(robot: Robot) -> Graph:
    """The graph of a robot in its reference pose, assembled.

    Raises:
        ExportError: if its loops do not close, or a body has a first moment but no mass.
    """
    found = assemble(robot)
    if found.open:
        gaps = ", ".join(f"{name} {gap}" for name, gap in found.open.items())
        raise ExportError(f"the loops of {robot.name} do not close at its reference pose: {gaps}")
    return merged(_Builder(robot, found).graph())


class _Builder:
    def __init__(self, robot: Robot, found: Assembly) -> None:
        self.robot, self.found, self.report = robot, found, Report()
        self.point: Joined | None = without_point(robot) if robot.nacelle.kind == "point" else None
        self.closures = robot.closures if self.point is None else self.point.closures
        given = Names((BASE,))
        self.bodies = {numbers.BASE: BASE}
        for index in range(1, len(robot.bodies)):
            if index != numbers.PLATFORM or self.point is None:
                self.bodies[index] = given.new(robot.bodies[index].name, f"body{index}")
        own = Names(())
        self.joints = [own.new(joint.name, f"joint{k}") for k, joint in enumerate(robot.tree_joints)]
        self.cuts = [own.new(joint.name, f"closure{k}") for k, joint in enumerate(self.closures)]
        self.solids: dict[str, Solid] = {}
        drives = {robot.joints[drive.joint].name: drive for drive in robot.actuators}

        def carrier(name: str) -> str:
            made = given.new(name, name)
            self.solids[made] = Solid()
            return made

        self.made = JointLinks(drives, carrier, self.report)

    def graph(self) -> Graph:
        robot = self.robot
        own = [self._solid(body) for body in range(len(robot.bodies))]
        own = completed(robot, self.found, own, self.report)
        tree = [self._links(k, joint) for k, joint in enumerate(robot.tree_joints)]
        edges = [(joint.predecessor, joint.successor) for joint in robot.tree_joints]
        parts = Components(self.bodies)
        for one, other in edges:
            parts.join(one, other)
        shut: list[tuple[Joint, list[Link]]] = []
        couplings: list[Joint] = []
        for k, joint in enumerate(self.closures):
            if joint.is_coupling:
                couplings.append(joint)
                continue
            links = self._closing_links(k, joint)
            if parts.join(joint.predecessor, joint.successor):
                tree.append(links)
                edges.append((joint.predecessor, joint.successor))
            else:
                shut.append((joint, links))
        floating = None
        if numbers.PLATFORM in self.bodies and parts.of(numbers.PLATFORM) != numbers.BASE:
            floating = self.bodies[numbers.PLATFORM]
        joints = _grown(edges, tree, [numbers.BASE, *([numbers.PLATFORM] if floating else [])])
        closures: list[Link] = []
        for _, links in shut:
            # All but the last carry massless bodies.
            joints += links[:-1]
            closures.append(links[-1])
        bodies = {name: own[index] for index, name in self.bodies.items() if index} | self.solids
        self._note_losses()
        ordered = [floating] if floating else []
        ordered += [link.child for link in joints]
        return Graph(
            name=Names(()).new(robot.name, "robot"),
            file=robot.name,
            gravity=np.array(robot.gravity, dtype=float),
            bodies={name: bodies[name] for name in ordered},
            joints=tuple(joints),
            closures=tuple(closures),
            couplings=tuple(self._coupling(joint) for joint in couplings),
            struts=self._struts(),
            floating=floating,
            pose=self.found.platform if floating else identity(),
            shapes=own[numbers.BASE].shapes,
            report=self.report,
        )

    def _links(self, k: int, joint: Joint) -> list[Link]:
        values = [float(v) for v in self.found.q[self.robot.q_slices[k]]]
        return self.made.links(joint, self.joints[k], self._ends(joint), values)

    def _closing_links(self, k: int, joint: Joint) -> list[Link]:
        between = placed(joint, self.found.motion.poses)
        values = closure_coordinates(joint, between.R, between.p)
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
        return Solid(mass, np.array(com, dtype=float), about, shapes_of(robot, self.found.motion.poses, body))

    def _coupling(self, joint: Joint) -> Coupling:
        (first, _), *others = joint.terms
        follows = {self.joints[j]: -float(factor) for j, factor in others}
        k = self.closures.index(joint)
        return Coupling(self.cuts[k], self.joints[first], follows, float(joint.offset))

    def _struts(self) -> tuple[Strut, ...]:
        names = Names(())
        made = []
        for k, spring in enumerate(self.robot.springs):
            ends = [self._at(b, np.array(p, dtype=float)) for b, p in zip(spring.bodies, spring.points, strict=True)]
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
            self.report.done(f"the point {robot.bodies[numbers.PLATFORM].name!r} is where the legs meet, no body")
        if any(body.section is not None for body in robot.bodies):
            lost("flexible links are rigid")
        if any("mesh" in shape for body in robot.bodies for shape in body.display):
            lost("meshes are not drawn")
        if robot.modes:
            lost("modes left out: the file has the robot as it is given")
        if robot.tools:
            lost("tool frames left out")


def _grown(edges: list[tuple[int, int]], chains: list[list[Link]], roots: list[int]) -> list[Link]:
    """The joints of the tree from its roots outwards, turned round where they are met from the other end."""
    reached = set(roots)
    left = list(range(len(edges)))
    joints: list[Link] = []
    while left:
        ready = [k for k in left if (edges[k][0] in reached) or (edges[k][1] in reached)]
        # One after the other: an edge may reach what the next would turn round.
        k = ready[0]
        one, other = edges[k]
        joints += chains[k] if one in reached else reversed_chain(chains[k])
        reached |= {one, other}
        left.remove(k)
    return joints
