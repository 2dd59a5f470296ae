"""From a description to a robot: names resolved, legs and spanning tree determined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nacelle.errors import DescriptionError, Problem, did_you_mean
from nacelle.model.build.draft import (
    ChainDraft,
    DraftError,
    add_joint,
    draft_chain,
    draft_couplings,
    draft_joint,
    draft_leg,
)
from nacelle.model.build.graph import GROUND, BodyGraph, DescribedPart, Edge, full_name
from nacelle.model.build.joints import BetweenBodies, JointBuilder
from nacelle.model.build.placement import Placement, mirrored_branch, placed_beam, placed_display, placement
from nacelle.model.data import Actuator
from nacelle.model.description.body import BodySpec
from nacelle.model.description.description import Description, ReferenceSpec
from nacelle.model.description.drive import Drive, DriveReader
from nacelle.model.description.joint import JointSpec
from nacelle.model.description.version import NEWEST, OLDEST
from nacelle.model.flexible import with_beam_masses
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE, PLATFORM, Body, Leg, Nacelle
from nacelle.model.platform import AXES, Mode, Motion, MotionError, Payload, Tool, parse_motion
from nacelle.model.robot import Robot
from nacelle.model.shared import sharing_faults
from nacelle.model.source.node import Entry, KeyPath, Node, Source
from nacelle.model.units import SI, units_for_bare_numbers
from nacelle.spatial.inertia import transform_parameters
from nacelle.spatial.pose import Pose
from nacelle.spatial.recorded import plain_or_recorded


def build_robot(description: Description, source: Source | None = None) -> Robot:
    """Build the robot that a description describes, numbers that differ by rounding alone made equal.

    Args:
        description: checked for shape already.
        source: where it came from, for the places of problems; None for one made in Python.

    Raises:
        DescriptionError: everything that is wrong, at once.
    """
    return assembled(description, source).alike


def assembled(description: Description, source: Source | None = None) -> Robot:
    """Build the robot with all numbers as they come, recorded ones too; arguments as in `build_robot`."""
    builder = _Builder(description, source or Source("<python>", Node({})))
    robot = builder.build()
    if builder.problems or robot is None:
        raise DescriptionError(builder.problems)
    return robot


class _Builder:
    def __init__(self, description: Description, source: Source) -> None:
        self.description = description
        self.source = source
        self.problems: list[Problem] = []
        units = (units_for_bare_numbers(description.units) or {}) if source.root.value else SI
        self.nacelle = self.nacelle_part()
        self.legs = self.leg_parts()
        motions = [description.motion, *(mode.motion for mode in description.modes.values())]
        named = {name for motion in motions if isinstance(motion, list) for name in motion}
        parts = [self.nacelle, *self.legs]
        self.graph = BodyGraph(description.nacelle, parts, self.report, named)
        self.joints = JointBuilder(self.graph, DriveReader(units, self.report))

    def report(self, path: KeyPath, message: str, hint: str = "") -> None:
        self.problems.append(self.source.problem(path, message, hint))

    def build(self) -> Robot | None:
        motion = self.motion(self.description.motion, ("motion",))
        if self.problems or motion is None:
            return None
        return self.assemble(motion)

    def nacelle_part(self) -> DescribedPart:
        spec = self.description.nacelle
        if spec is None:
            chain = ChainDraft({GROUND: (BodySpec(), ())})
            chain.closures.append(draft_joint(f"base-{GROUND}", _FIXED, ()))
        else:
            chain = draft_chain(spec, ("nacelle",))
            if spec.type != "articulated":
                chain.bodies[spec.name] = (spec, ("nacelle",))
        for name, joint in self.description.closures.items():
            add_joint(chain, name, joint, ("closures", name), closes=True)
        chain.couplings += draft_couplings(self.description.couplings, ("couplings",))
        return DescribedPart("", ("nacelle",), chain, Placement(), None)

    def leg_parts(self) -> list[DescribedPart]:
        parts: list[DescribedPart] = []
        names: set[str] = set()
        spec = self.description.nacelle
        main = GROUND if spec is None else spec.name
        for index, leg in enumerate(self.description.legs):
            path: KeyPath = ("legs", index)
            if leg.name in names or leg.name in ("base", main):
                self.report((*path, "name"), f"the name {leg.name!r} is taken", "every leg has its own")
                continue
            names.add(leg.name)
            try:
                chain = draft_leg(leg, path, self.nacelle.chain.bodies)
            except DraftError as error:
                self.report(error.path, str(error), error.hint)
                continue
            if not chain.bodies and not chain.joints:
                self.report(path, f"leg {leg.name!r} is empty", "give joints, table or elements")
            parts.append(DescribedPart(leg.name, path, chain, placement(leg.placement), leg))
        return parts

    def check_guesses(self) -> None:
        """Demand that the guesses of a leg name its joints."""
        for part in self.legs:
            names = [draft.name for draft in (*part.chain.joints, *part.chain.closures)]
            for name in part.spec.guess if part.spec else ():
                if name not in names:
                    self.report(
                        (*part.path, "guess", name),
                        f"leg {part.name!r} has no joint {name!r}",
                        did_you_mean(name, names),
                    )

    def assemble(self, motion: Motion) -> Robot | None:
        graph, main = self.graph, self.graph.main
        tree, closing = graph.leg_order(graph.tree), graph.leg_order(graph.closing)
        order = ["base", main, *(edge.successor for edge in tree)]
        index = {name: k for k, name in enumerate(order)}
        self.check_guesses()
        self.check_hanging()
        made = [self.joints.joint(edge, index) for edge in [*tree, *closing]]
        joints = [joint for joint, _ in made]
        start = self.guesses(
            self.description.reference.guess, ("reference", "guess"), [*tree, *closing], joints
        )
        joints = [replace(joint, guess=start.get(k, joint.guess)) for k, joint in enumerate(joints)]
        number = {joint.name: k for k, joint in enumerate(joints[: len(tree)])}
        couplings = [self.joints.coupling(coupling, number) for coupling in graph.couplings]
        actuators = self.actuators([*tree, *closing], joints, [drive for _, drive in made])
        legs = self.leg_list(tree, closing, joints)
        self.check_legs(legs, joints)
        reference = self.reference_pose(self.description.reference)
        gravity = self.description.gravity
        between = BetweenBodies(self.description, [self.nacelle, *self.legs], self.joints)
        robot = Robot(
            name=self.description.name,
            bodies=tuple(self.body(name) for name in order),
            joints=(*joints, *couplings),
            tree=len(tree),
            legs=tuple(legs),
            nacelle=self.robot_nacelle(tree, closing, joints),
            motion=motion,
            actuators=actuators,
            gravity=(gravity[0], gravity[1], gravity[2]),
            reference=reference,
            tools=self.tools(index),
            payload=self.payload(index),
            springs=between.springs(index),
            dampers=between.dampers(index),
            torsion_springs=between.torsion_springs(index),
            modes=self.modes(motion, reference, legs, joints, [*tree, *closing]),
            title=self.description.title,
            notes=self.description.notes,
            sources=tuple(self.description.sources),
            shared=self.shared(),
        )
        self.check_shared(robot)
        return None if self.problems else with_beam_masses(robot)

    def shared(self) -> str | tuple[tuple[str, ...], ...] | None:
        """The legs that share their parameters, as they are written."""
        given = self.description.shared
        return given if given is None or isinstance(given, str) else tuple(tuple(legs) for legs in given)

    def check_shared(self, robot: Robot) -> None:
        """Demand that legs that share their parameters exist and are built alike."""
        if isinstance(robot.shared, tuple):
            for place, message, hint in sharing_faults(robot, robot.shared):
                self.report(("shared", *place), message, hint)

    def leg_list(self, tree: list[Edge], closing: list[Edge], joints: list[Joint]) -> list[Leg]:
        """The legs: components of the graph, each with its joints and closures."""
        group_of, start = self.graph.group_of, len(tree)
        result = []
        for k, name in enumerate(self.graph.leg_names()):
            own = [j for j, edge in enumerate(tree) if group_of.get(edge.successor) == k]
            cuts = [
                start + j
                for j, edge in enumerate(closing)
                if k in (group_of.get(edge.successor), group_of.get(edge.predecessor))
                and not joints[start + j].at_point
            ]
            cuts += self.coupled(start + len(closing), k)
            parts = [self.graph.owner(body) for body in self.graph.groups[k]]
            branches = {part.spec.branch or 0 for part in parts if part and part.spec}
            bodies = tuple(joints[j].successor for j in own)
            leg = Leg(name, bodies, tuple(own), tuple(cuts), max(branches, key=abs, default=0))
            result.append(replace(leg, branch=leg.branch * self.branch_sign(leg, joints)))
        return result

    def branch_sign(self, leg: Leg, joints: list[Joint]) -> int:
        """What the branch of a leg, written before it is mirrored, is multiplied by."""
        parts = map(self.graph.owner, self.graph.groups[self.graph.leg_names().index(leg.name)])
        if all(part is None or part.placement.mirror is None for part in parts):
            return 1
        # Couplings come after all other joints, and keep their coordinates.
        closures = [joints[j] for j in leg.closures if j < len(joints)]
        return mirrored_branch([joints[j] for j in leg.joints], closures)

    def coupled(self, start: int, group: int | None) -> list[int]:
        """Indices of the couplings of a leg, or of the nacelle (None), which come after all other joints."""
        result = []
        for k, coupling in enumerate(self.graph.couplings, start):
            groups = [self.graph.group_of.get(edge.successor) for edge in coupling.edges]
            if next((g for g in groups if g is not None), None) == group:
                result.append(k)
        return result

    def robot_nacelle(self, tree: list[Edge], closing: list[Edge], joints: list[Joint]) -> Nacelle:
        group_of, start = self.graph.group_of, len(tree)
        own = [j for j, edge in enumerate(tree) if edge.successor not in group_of]
        cuts = [
            start + j
            for j, edge in enumerate(closing)
            if joints[start + j].at_point
            or (edge.successor not in group_of and edge.predecessor not in group_of)
        ]
        cuts += self.coupled(start + len(closing), None)
        bodies = (PLATFORM, *(joints[j].successor for j in own))
        spec = self.description.nacelle
        kind = "none" if spec is None else "articulated" if self.graph.hanging else spec.type
        return Nacelle(kind, bodies, tuple(own), tuple(cuts))

    def check_hanging(self) -> None:
        """What chains of the nacelle's mechanism, and of a robot without a nacelle, cannot have."""
        graph = self.graph
        for part in (part for part in self.legs if part.name in graph.hanging_parts):
            spec = part.spec
            assert spec is not None
            if self.description.format == OLDEST and graph.has_nacelle:
                ends = "ends on the base and on the nacelle"
                hint = f"legs that do not need format: {NEWEST}"
                self.report(part.path, f"a leg {ends}, leg {part.name!r} does not", hint)
            if spec.branch is not None:
                message = "only a leg between base and nacelle has a branch"
                self.report((*part.path, "branch"), message, "give guesses for its joints")
            if spec.placement.nacelle is not None and not graph.has_nacelle:
                self.report((*part.path, "placement", "nacelle"), "the robot has no nacelle", "remove it")

    def check_legs(self, legs: list[Leg], joints: list[Joint]) -> None:
        """Demand that every leg is joined to the base and reaches the nacelle."""
        in_legs = {body for leg in legs for body in leg.bodies}
        for leg, group in zip(legs, self.graph.groups, strict=True):
            part = self.graph.owner(group[0])
            path = part.path if part is not None else ("legs",)
            ends = {b for j in (*leg.joints, *leg.closures) if j < len(joints) for b in _ends(joints[j])}
            if BASE not in ends:
                self.report(path, f"leg {leg.name!r} is not joined to the base", "give it a joint there")
            if not ends - in_legs - {BASE}:
                self.report(
                    path,
                    f"leg {leg.name!r} does not end on the nacelle",
                    "give it a closure with it; if it moves by itself, name its joints in motion",
                )

    def body(self, name: str) -> Body:
        if name == "base":
            return Body("base", display=placed_display(self.description.base.display, None))
        body = self.graph.bodies[name]
        spec, part = body.spec, body.part
        inertia = spec.ten()
        mirror = part.placement.mirror if part is not None else None
        if mirror is not None:
            inertia = transform_parameters(mirror, np.zeros(3), inertia) + 0.0
        return Body(
            name,
            tuple(plain_or_recorded(value) for value in inertia),
            placed_display(spec.display, mirror),
            spec.section.model_dump(exclude_none=True) if spec.section else None,
            spec.material.model_dump(exclude_none=True) if spec.material else None,
            placed_beam(spec.beam, mirror) if spec.beam else None,
            spec.spin or "",
        )

    def actuators(self, edges: list[Edge], joints: list[Joint], drives: list[Drive]) -> tuple[Actuator, ...]:
        """The drives, in the order given or of the legs."""
        result = []
        for k, (edge, joint, drive) in enumerate(zip(edges, joints, drives, strict=True)):
            spec = edge.draft.drive
            if not spec.active and spec.actuator is None:
                continue
            name = joint.name
            if spec.actuator is not None and spec.actuator.name:
                prefix = f"{edge.part.name}." if edge.part.spec is not None else ""
                name = f"{prefix}{spec.actuator.name}"
            numbers: dict[str, Any] = {"position": drive.position, **drive.actuator}
            result.append(Actuator(name, k, **numbers))
        names = [actuator.name for actuator in result]
        if len(set(names)) != len(names):
            self.report(("legs",), "two actuators have the same name", "every actuator has its own")
        return self.ordered(result, joints)

    def ordered(self, actuators: list[Actuator], joints: list[Joint]) -> tuple[Actuator, ...]:
        order = self.description.actuators
        if order is None:
            return tuple(actuators)
        by_name = {a.name: a for a in actuators} | {joints[a.joint].name: a for a in actuators}
        chosen = []
        for k, name in enumerate(order):
            if name in by_name and by_name[name] not in chosen:
                chosen.append(by_name[name])
            elif name in by_name:
                self.report(("actuators", k), f"{name!r} is given twice")
            else:
                self.report(("actuators", k), f"no actuator is called {name!r}", did_you_mean(name, by_name))
        missing = [a.name for a in actuators if a not in chosen]
        if missing and not self.problems:
            self.report(("actuators",), f"not in the order: {', '.join(missing)}", "list all of them")
        return tuple(chosen)

    def motion(self, value: str | list[str], path: KeyPath) -> Motion | None:
        try:
            motion = parse_motion(value)
        except MotionError as error:
            self.report(path, str(error), error.hint)
            return None
        if self.graph.at_point and any(axis in AXES[3:] for axis in motion.coordinates):
            self.report(path, "a point does not turn", "xy, xyz or a list of x, y, z")
        axes = [] if self.graph.has_nacelle else [name for name in motion.coordinates if name in AXES]
        if axes and not any(_is_called(edge, name) for edge in self.graph.edges for name in axes):
            joints = [full_name(edge) for edge in self.graph.tree if edge.draft.path]
            self.report(
                path,
                f"a robot without a nacelle has no coordinate{'s' * (len(axes) > 1)} {', '.join(axes)}",
                f"name joints that move it, of {', '.join(joints[:12])}; or describe a nacelle",
            )
            return None
        return Motion(tuple(self.coordinate(name, path) for name in motion.coordinates))

    def coordinate(self, name: str, path: KeyPath) -> str:
        """A coordinate of the motion: an axis of the nacelle, or a joint by its full name."""
        graph = self.graph
        joints = {full_name(edge): edge for edge in graph.tree if edge.successor not in graph.group_of}
        if graph.has_nacelle and name in AXES:
            return name
        alike = [full for full, edge in joints.items() if _is_called(edge, name)]
        full = name if name in joints else alike[0] if len(alike) == 1 else ""
        if full and joints[full].draft.kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
            self.report(path, f"the joint {full!r} has more than one coordinate", "choose another joint")
        elif not full and len(alike) > 1:
            self.report(path, f"several joints are called {name!r}", f"write one of {', '.join(alike)}")
        elif not full and not (graph.faults and any(_is_called(edge, name) for edge in graph.edges)):
            # After a mistake in the joints, which is reported already, it is not known whose a joint is.
            self.report(path, *self.no_coordinate(name, list(joints)))
        return full

    def no_coordinate(self, name: str, joints: list[str]) -> tuple[str, str]:
        """Why a name is not a coordinate of the motion, and what would be one."""
        others = {full_name(edge): edge for edge in self.graph.edges if full_name(edge) not in joints}
        edge = others.get(name)
        axes = AXES if self.graph.has_nacelle else ()
        if edge is not None and edge.closes:
            reason = f"the joint {name!r} closes a loop, so it is not a coordinate"
        elif edge is not None:
            reason = f"the leg of the joint {name!r} ends on the nacelle, so it is not a coordinate"
        else:
            reason = f"{name!r} is not a coordinate"
        near = did_you_mean(name, [*axes, *joints])
        known = ", ".join([*axes, *joints][:12]) or "joints of legs, and there are none"
        return reason, near or f"coordinates are {known}"

    def nacelle_body(
        self, name: str | None, path: KeyPath, index: Mapping[str, int], *, of_legs: bool = False
    ) -> int:
        """Index of a body of the nacelle, or also of a leg, that a tool or payload names."""
        if name is None:
            if not self.graph.has_nacelle:
                self.report(path[:-1], "there is no nacelle to carry it", "say which body: body: arm.hand")
            return PLATFORM
        bodies = [n for n in self.graph.bodies if (of_legs or n not in self.graph.group_of) and n != GROUND]
        if name not in bodies:
            whose = "nacelle" if self.graph.has_nacelle and not of_legs else "robot"
            self.report(path, f"the {whose} has no body {name!r}", did_you_mean(name, bodies))
            return PLATFORM
        return index[name]

    def tools(self, index: Mapping[str, int]) -> tuple[Tool, ...]:
        return tuple(
            Tool(name, self.nacelle_body(tool.body, ("tools", name, "body"), index), tool.at.pose())
            for name, tool in self.description.tools.items()
        )

    def payload(self, index: Mapping[str, int]) -> tuple[Payload, ...]:
        loads = []
        for name, load in self.description.payload.items():
            pose = load.at.pose()
            ten = transform_parameters(pose.R, pose.p, load.ten())
            if load.at == type(load.at)():
                ten = load.ten()
            body = self.nacelle_body(load.body, ("payload", name, "body"), index, of_legs=True)
            loads.append(Payload(name, body, tuple(plain_or_recorded(value) for value in ten)))
        return tuple(loads)

    def modes(
        self, motion: Motion, reference: Pose, legs: list[Leg], joints: list[Joint], edges: list[Edge]
    ) -> tuple[Mode, ...]:
        result = []
        leg_names = [leg.name for leg in legs]
        for name, spec in self.description.modes.items():
            path: KeyPath = ("modes", name)
            own = motion
            if spec.motion is not None:
                own = self.motion(spec.motion, (*path, "motion")) or motion
            branch = [0] * len(legs)
            for leg, value in spec.branch.items():
                if leg not in leg_names:
                    hint = did_you_mean(leg, leg_names)
                    self.report((*path, "branch", leg), f"no leg is called {leg!r}", hint)
                else:
                    k = leg_names.index(leg)
                    branch[k] = value * self.branch_sign(legs[k], joints)
            guess = self.guesses(spec.guess, (*path, "guess"), edges, joints)
            pose = reference
            if spec.reference is not None:
                pose = self.reference_pose(spec.reference)
                guess |= self.guesses(spec.reference.guess, (*path, "reference", "guess"), edges, joints)
            result.append(Mode(name, own, pose, tuple(branch), tuple(guess.items())))
        return tuple(result)

    def reference_pose(self, spec: ReferenceSpec) -> Pose:
        """The pose of the platform in which all legs reach it; a point has no orientation."""
        R = np.eye(3) if spec.rotation is None or self.graph.at_point else spec.rotation.rotation()
        return Pose(R, np.array(spec.position))

    def guesses(
        self, given: Mapping[str, Any], path: KeyPath, edges: list[Edge], joints: list[Joint]
    ) -> dict[int, tuple[float, ...]]:
        """Coordinates of joints by index, of guesses by name: in full, or its last part if it is unique."""
        names = [joint.name for joint in joints]
        result = {}
        for name, value in given.items():
            alike = [k for k, full in enumerate(names) if full == name or full.split(".")[-1] == name]
            k = names.index(name) if name in names else alike[0] if len(alike) == 1 else -1
            if k < 0:
                hint = f"write one of {', '.join(names[j] for j in alike)}" if alike else ""
                hint = hint or did_you_mean(name, names)
                what = f"several joints are called {name!r}" if alike else f"no joint is called {name!r}"
                self.report((*path, name), what, hint)
            else:
                result[k] = self.joints.drive(edges[k], joints[k].kind, Entry(value, (*path, name))).guess
        return result


_FIXED = JointSpec(type="fixed", parent="base", child=GROUND)


def _ends(joint: Joint) -> tuple[int, int]:
    return joint.predecessor, joint.successor


def _is_called(edge: Edge, name: str) -> bool:
    """Whether a joint has a name, in full or its last part."""
    full = full_name(edge)
    return name in (full, full.split(".")[-1])
