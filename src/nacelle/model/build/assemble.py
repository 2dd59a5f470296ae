"""From a description to a robot: names resolved, legs and spanning tree determined."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
from nacelle.model.build.graph import GROUND, BodyGraph, PartDraft, full_name
from nacelle.model.build.joints import JointBuilder
from nacelle.model.build.placement import (
    Placement,
    mirror_branch_sign,
    place_beam,
    place_display,
    read_placement,
)
from nacelle.model.data import Actuator
from nacelle.model.description.body import BodySpec
from nacelle.model.description.description import Description, ReferenceSpec
from nacelle.model.description.drive import Drive, DriveReader
from nacelle.model.description.joint import JointSpec
from nacelle.model.description.version import NEWEST, OLDEST
from nacelle.model.flexible import with_beam_masses
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE, PLATFORM, Body, Leg, MovingPlatform
from nacelle.model.platform import AXES, Mode, Motion, MotionError, Payload, Tool, parse_motion
from nacelle.model.robot import Robot
from nacelle.model.shared import sharing_faults
from nacelle.model.source.node import Entry, KeyPath, Node, Source
from nacelle.model.units import SI, units_for_bare_numbers
from nacelle.spatial.inertia import transform_parameters
from nacelle.spatial.pose import Pose
from nacelle.spatial.recorded import as_float


def build_robot(description: Description, source: Source | None = None) -> Robot:
    """Build the robot that a description describes, numbers that differ by rounding alone made equal.

    Args:
        description: checked for shape already.
        source: where it came from, for the places of problems; None for one made in Python.

    Raises:
        DescriptionError: everything that is wrong, at once.
    """
    return assemble_description(description, source).without_rounding_differences


def assemble_description(description: Description, source: Source | None = None) -> Robot:
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
        self.platform = self.platform_part()
        self.legs = self.leg_parts()
        motions = [description.motion, *(mode.motion for mode in description.modes.values())]
        coordinates = {name for motion in motions if isinstance(motion, list) for name in motion}
        parts = [self.platform, *self.legs]
        self.graph = graph = BodyGraph(description.platform, parts, self.report, coordinates)
        self.joint_builder = JointBuilder(graph, DriveReader(units, self.report))
        self.tree, self.closing = graph.sort_by_leg(graph.tree), graph.sort_by_leg(graph.closing)
        self.edges = [*self.tree, *self.closing]
        self.order = ["base", graph.main, *(edge.successor for edge in self.tree)]
        self.index = {name: k for k, name in enumerate(self.order)}
        # Joints of the edges, once they are made.
        self.joints: list[Joint] = []

    def report(self, path: KeyPath, message: str, hint: str = "") -> None:
        self.problems.append(self.source.problem(path, message, hint))

    def build(self) -> Robot | None:
        motion = self.motion(self.description.motion, ("motion",))
        if self.problems or motion is None:
            return None
        return self.assemble(motion)

    def platform_part(self) -> PartDraft:
        spec = self.description.platform
        if spec is None:
            chain = ChainDraft({GROUND: (BodySpec(), ())})
            chain.closures.append(draft_joint(f"base-{GROUND}", _GROUND_JOINT, ()))
        else:
            chain = draft_chain(spec, ("platform",))
            if spec.type != "articulated":
                chain.bodies[spec.name] = (spec, ("platform",))
        for name, joint in self.description.closures.items():
            add_joint(chain, name, joint, ("closures", name), closes=True)
        chain.couplings += draft_couplings(self.description.couplings, ("couplings",))
        return PartDraft("", ("platform",), chain, Placement(), None)

    def leg_parts(self) -> list[PartDraft]:
        parts: list[PartDraft] = []
        names: set[str] = set()
        spec = self.description.platform
        main = GROUND if spec is None else spec.name
        for index, leg in enumerate(self.description.legs):
            path: KeyPath = ("legs", index)
            if leg.name in names or leg.name in ("base", main):
                self.report((*path, "name"), f"the name {leg.name!r} is taken", "every leg has its own")
                continue
            names.add(leg.name)
            try:
                chain = draft_leg(leg, path, self.platform.chain.bodies)
            except DraftError as error:
                self.report(error.path, str(error), error.hint)
                continue
            if not chain.bodies and not chain.joints:
                self.report(path, f"leg {leg.name!r} is empty", "give joints, table or elements")
            parts.append(PartDraft(leg.name, path, chain, read_placement(leg.placement), leg))
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
        description, make = self.description, self.joint_builder
        self.check_guesses()
        self.check_platform_branches()
        drives = [make.joint(edge, self.index) for edge in self.edges]
        self.joints = [drive.joint for drive in drives]
        start = self.guesses(description.reference.guess, ("reference", "guess"))
        self.joints = [replace(joint, guess=start.get(k, joint.guess)) for k, joint in enumerate(self.joints)]
        number = {joint.name: k for k, joint in enumerate(self.joints[: len(self.tree)])}
        couplings = [make.coupling(coupling, number) for coupling in self.graph.couplings]
        actuators = self.actuators(drives)
        legs = self.build_legs()
        self.check_legs(legs)
        reference, shared = self.reference_pose(description.reference), description.shared
        robot = Robot(
            name=description.name,
            bodies=tuple(self.body(name) for name in self.order),
            joints=(*self.joints, *couplings),
            tree=len(self.tree),
            legs=tuple(legs),
            platform=self.build_platform(),
            motion=motion,
            actuators=actuators,
            gravity=description.gravity,
            reference=reference,
            tools=self.tools(),
            payload=self.payload(),
            springs=make.springs(description, self.index),
            dampers=make.dampers(description, self.index),
            torsion_springs=make.torsion_springs(description, self.index),
            modes=self.modes(motion, reference, legs),
            title=description.title,
            notes=description.notes,
            sources=tuple(description.sources),
            shared=tuple(map(tuple, shared)) if isinstance(shared, list) else shared,
        )
        if isinstance(robot.shared, tuple):
            for entry, message, hint in sharing_faults(robot, robot.shared):
                self.report(("shared", *entry), message, hint)
        return None if self.problems else with_beam_masses(robot)

    def members(self, group: int | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Indices of the tree joints and of the closures of a leg by its number, or of the platform (None).

        Couplings, which are closures, come after all other joints.
        """
        of, joints = self.graph.group_of.get, self.joints
        joints_of_group = tuple(j for j, edge in enumerate(self.tree) if of(edge.successor) == group)
        touched = [[of(edge.predecessor), of(edge.successor)] for edge in self.closing]
        coupled = [[of(edge.successor) for edge in coupling.edges] for coupling in self.graph.couplings]
        cuts = []
        for j, groups in enumerate([*touched, *coupled], len(self.tree)):
            at_point = j < len(joints) and joints[j].at_point
            # What touches no leg is the platform's; what is coupled is one leg.
            legs = set() if at_point else set(groups) - {None}
            cuts += [j] if group in (legs or {None}) else []
        return joints_of_group, tuple(cuts)

    def build_legs(self) -> list[Leg]:
        """The legs: components of the graph, each with its joints and closures."""
        result = []
        for k, name in enumerate(self.graph.leg_names()):
            joints, cuts = self.members(k)
            parts = [self.graph.owner(body) for body in self.graph.groups[k]]
            branches = {part.spec.branch or 0 for part in parts if part and part.spec}
            bodies = tuple(self.joints[j].successor for j in joints)
            leg = Leg(name, bodies, joints, cuts, max(branches, key=abs, default=0))
            result.append(replace(leg, branch=leg.branch * self.branch_sign(leg)))
        return result

    def branch_sign(self, leg: Leg) -> int:
        """What the branch of a leg, written before it is mirrored, is multiplied by."""
        parts = map(self.graph.owner, self.graph.groups[self.graph.leg_names().index(leg.name)])
        if all(part is None or part.placement.mirror is None for part in parts):
            return 1
        # Couplings come after all other joints, and keep their coordinates.
        closures = [self.joints[j] for j in leg.closures if j < len(self.joints)]
        return mirror_branch_sign([self.joints[j] for j in leg.joints], closures)

    def build_platform(self) -> MovingPlatform:
        joints, cuts = self.members(None)
        bodies = (PLATFORM, *(self.joints[j].successor for j in joints))
        spec = self.description.platform
        kind = "none" if spec is None else "articulated" if self.graph.platform_branches else spec.type
        return MovingPlatform(kind, bodies, joints, cuts)

    def check_platform_branches(self) -> None:
        """What chains of the platform's mechanism, and of a robot without a platform, cannot have."""
        graph = self.graph
        for part in (part for part in self.legs if part.name in graph.platform_branch_names):
            spec = part.spec
            assert spec is not None
            if self.description.format == OLDEST and graph.has_platform:
                ends = "ends on the base and on the platform"
                hint = f"legs that do not need format: {NEWEST}"
                self.report(part.path, f"a leg {ends}, leg {part.name!r} does not", hint)
            if spec.branch is not None:
                message = "only a leg between base and platform has a branch"
                self.report((*part.path, "branch"), message, "give guesses for its joints")
            if spec.placement.platform is not None and not graph.has_platform:
                self.report((*part.path, "placement", "platform"), "the robot has no platform", "remove it")

    def check_legs(self, legs: list[Leg]) -> None:
        """Demand that every leg is joined to the base and reaches the platform."""
        in_legs = {body for leg in legs for body in leg.bodies}
        for leg, group in zip(legs, self.graph.groups, strict=True):
            part = self.graph.owner(group[0])
            path = part.path if part is not None else ("legs",)
            joints = [self.joints[j] for j in (*leg.joints, *leg.closures) if j < len(self.joints)]
            ends = {body for joint in joints for body in (joint.predecessor, joint.successor)}
            if BASE not in ends:
                self.report(path, f"leg {leg.name!r} is not joined to the base", "give it a joint there")
            if not ends - in_legs - {BASE}:
                self.report(
                    path,
                    f"leg {leg.name!r} does not end on the platform",
                    "give it a closure with it; if it moves by itself, name its joints in motion",
                )

    def body(self, name: str) -> Body:
        if name == "base":
            return Body("base", display=place_display(self.description.base.display, None))
        body = self.graph.bodies[name]
        spec, part = body.spec, body.part
        inertia = spec.ten()
        mirror = part.placement.mirror if part is not None else None
        if mirror is not None:
            inertia = transform_parameters(mirror, np.zeros(3), inertia) + 0.0
        return Body(
            name,
            tuple(as_float(value) for value in inertia),
            place_display(spec.display, mirror),
            spec.section.model_dump(exclude_none=True) if spec.section else None,
            spec.material.model_dump(exclude_none=True) if spec.material else None,
            place_beam(spec.beam, mirror) if spec.beam else None,
            spec.spin or "",
        )

    def actuators(self, drives: list[Drive]) -> tuple[Actuator, ...]:
        """The drives, in the order given or of the legs."""
        result = []
        for k, (edge, drive) in enumerate(zip(self.edges, drives, strict=True)):
            spec = edge.draft.drive
            if not spec.active and spec.actuator is None:
                continue
            name = drive.joint.name
            if spec.actuator is not None and spec.actuator.name:
                name = edge.part.full_name(spec.actuator.name)
            result.append(Actuator(name, k, **drive.actuator))
        names = [actuator.name for actuator in result]
        if len(set(names)) != len(names):
            self.report(("legs",), "two actuators have the same name", "every actuator has its own")
        return self.ordered_actuators(result)

    def ordered_actuators(self, actuators: list[Actuator]) -> tuple[Actuator, ...]:
        order = self.description.actuators
        if order is None:
            return tuple(actuators)
        by_name = {a.name: a for a in actuators} | {self.joints[a.joint].name: a for a in actuators}
        in_order = []
        for k, name in enumerate(order):
            if name in by_name and by_name[name] not in in_order:
                in_order.append(by_name[name])
            elif name in by_name:
                self.report(("actuators", k), f"{name!r} is given twice")
            else:
                self.report(("actuators", k), f"no actuator is called {name!r}", did_you_mean(name, by_name))
        missing = [a.name for a in actuators if a not in in_order]
        if missing and not self.problems:
            self.report(("actuators",), f"not in the order: {', '.join(missing)}", "list all of them")
        return tuple(in_order)

    def motion(self, value: str | list[str], path: KeyPath) -> Motion | None:
        try:
            motion = parse_motion(value)
        except MotionError as error:
            self.report(path, str(error), error.hint)
            return None
        if self.graph.at_point and any(axis in AXES[3:] for axis in motion.coordinates):
            self.report(path, "a point does not turn", "xy, xyz or a list of x, y, z")
        axes = [] if self.graph.has_platform else [name for name in motion.coordinates if name in AXES]
        if axes and not any(_matching_names(name, self.graph.joint_names) for name in axes):
            joints = [full_name(edge) for edge in self.graph.tree if edge.draft.path]
            self.report(
                path,
                f"a robot without a platform has no coordinate{'s' * (len(axes) > 1)} {', '.join(axes)}",
                f"name joints that move it, of {', '.join(joints[:12])}; or describe a platform",
            )
            return None
        return Motion(tuple(self.coordinate(name, path) for name in motion.coordinates))

    def coordinate(self, name: str, path: KeyPath) -> str:
        """A coordinate of the motion: an axis of the platform, or a joint by its full name."""
        graph = self.graph
        joints = {full_name(edge): edge for edge in graph.tree if edge.successor not in graph.group_of}
        if graph.has_platform and name in AXES:
            return name
        alike = _matching_names(name, joints)
        full = alike[0] if len(alike) == 1 else ""
        if full and joints[full].draft.kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
            self.report(path, f"the joint {full!r} has more than one coordinate", "choose another joint")
        elif not full and len(alike) > 1:
            self.report(path, f"several joints are called {name!r}", f"write one of {', '.join(alike)}")
        elif not full and not (graph.faults and _matching_names(name, graph.joint_names)):
            # After a mistake in the joints, which is reported already, it is not known whose a joint is.
            self.report(path, *self.coordinate_error(name, list(joints)))
        return full

    def coordinate_error(self, name: str, joints: list[str]) -> tuple[str, str]:
        """Why a name is not a coordinate of the motion, and what would be one."""
        others = {full_name(edge): edge for edge in self.graph.edges if full_name(edge) not in joints}
        edge = others.get(name)
        axes = AXES if self.graph.has_platform else ()
        if edge is not None and edge.closes:
            reason = f"the joint {name!r} closes a loop, so it is not a coordinate"
        elif edge is not None:
            reason = f"the leg of the joint {name!r} ends on the platform, so it is not a coordinate"
        else:
            reason = f"{name!r} is not a coordinate"
        near = did_you_mean(name, [*axes, *joints])
        known = ", ".join([*axes, *joints][:12]) or "joints of legs, and this robot has no such joints"
        return reason, near or f"coordinates are {known}"

    def carrier_body(self, name: str | None, path: KeyPath, *, of_legs: bool = False) -> int:
        """Index of a body of the platform, or also of a leg, that a tool or payload names."""
        if name is None:
            if not self.graph.has_platform:
                self.report(path[:-1], "there is no platform to carry it", "say which body: body: arm.hand")
            return PLATFORM
        bodies = [n for n in self.graph.bodies if (of_legs or n not in self.graph.group_of) and n != GROUND]
        if name not in bodies:
            whose = "platform" if self.graph.has_platform and not of_legs else "robot"
            self.report(path, f"the {whose} has no body {name!r}", did_you_mean(name, bodies))
            return PLATFORM
        return self.index[name]

    def tools(self) -> tuple[Tool, ...]:
        return tuple(
            Tool(name, self.carrier_body(tool.body, ("tools", name, "body")), tool.at.pose())
            for name, tool in self.description.tools.items()
        )

    def payload(self) -> tuple[Payload, ...]:
        loads = []
        for name, load in self.description.payload.items():
            pose = load.at.pose()
            ten = transform_parameters(pose.R, pose.p, load.ten())
            if load.at == type(load.at)():
                ten = load.ten()
            body = self.carrier_body(load.body, ("payload", name, "body"), of_legs=True)
            loads.append(Payload(name, body, tuple(as_float(value) for value in ten)))
        return tuple(loads)

    def modes(self, motion: Motion, reference: Pose, legs: list[Leg]) -> tuple[Mode, ...]:
        result = []
        leg_names = [leg.name for leg in legs]
        for name, spec in self.description.modes.items():
            path: KeyPath = ("modes", name)
            mode_motion = motion
            if spec.motion is not None:
                mode_motion = self.motion(spec.motion, (*path, "motion")) or motion
            branch = [0] * len(legs)
            for leg, value in spec.branch.items():
                if leg not in leg_names:
                    hint = did_you_mean(leg, leg_names)
                    self.report((*path, "branch", leg), f"no leg is called {leg!r}", hint)
                else:
                    k = leg_names.index(leg)
                    branch[k] = value * self.branch_sign(legs[k])
            guess = self.guesses(spec.guess, (*path, "guess"))
            pose = reference
            if spec.reference is not None:
                pose = self.reference_pose(spec.reference)
                guess |= self.guesses(spec.reference.guess, (*path, "reference", "guess"))
            result.append(Mode(name, mode_motion, pose, tuple(branch), tuple(guess.items())))
        return tuple(result)

    def reference_pose(self, spec: ReferenceSpec) -> Pose:
        """The pose of the platform in which all legs reach it; a point has no orientation."""
        R = np.eye(3) if spec.rotation is None or self.graph.at_point else spec.rotation.rotation()
        return Pose(R, np.array(spec.position))

    def guesses(self, named_guesses: Mapping[str, Any], path: KeyPath) -> dict[int, tuple[float, ...]]:
        """Coordinates of joints by index, of guesses by name: in full, or its last part if it is unique."""
        names = [joint.name for joint in self.joints]
        result = {}
        for name, value in named_guesses.items():
            alike = _matching_names(name, names)
            if not alike:
                hint = did_you_mean(name, names)
                self.report((*path, name), f"no joint is called {name!r}", hint)
            elif len(alike) > 1:
                hint = f"write one of {', '.join(alike)}"
                self.report((*path, name), f"several joints are called {name!r}", hint)
            else:
                k = names.index(alike[0])
                entry = Entry(value, (*path, name))
                result[k] = self.joint_builder.drive(self.edges[k], self.joints[k].kind, entry).joint.guess
        return result


_GROUND_JOINT = JointSpec(type="fixed", parent="base", child=GROUND)


def _matching_names(name: str, joints: Collection[str]) -> list[str]:
    """The joints that have a name: in full the one, else those of whose names it is the last part."""
    return [name] if name in joints else [full for full in joints if full.split(".")[-1] == name]
