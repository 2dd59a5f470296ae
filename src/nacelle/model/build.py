"""From a description to a robot: names resolved, legs found, the spanning tree laid."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from nacelle.errors import DescriptionError, Problem, did_you_mean
from nacelle.model.description.description import (
    Description,
    ReferenceSpec,
)
from nacelle.model.description.draft import Chain, Draft, DraftError, draft_joint, draft_leg
from nacelle.model.description.drive import Drive, DriveReader, ball_first, units_for_bare_numbers
from nacelle.model.description.placement import clean, joint_mirror, mirror_drive, placed_display, sides
from nacelle.model.description.source import Node, Source
from nacelle.model.graph import Edge, Graph, Part
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE, PLATFORM, Body, Leg, Nacelle
from nacelle.model.platform import (
    AXES,
    Mode,
    Motion,
    MotionError,
    Payload,
    Tool,
    parse_motion,
)
from nacelle.model.robot import Actuator, Robot
from nacelle.spatial.inertia import (
    transform_parameters,
)
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.recorded import plain_or_recorded

Path = tuple[str | int, ...]

_AT_A_POINT = (JointKind.REVOLUTE, JointKind.UNIVERSAL, JointKind.SPHERICAL)


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
        units = {"*": "SI"}
        if source.root.value:
            units = units_for_bare_numbers(description.units) or {}
        self.read = DriveReader(units, self.report)
        self.nacelle = self.nacelle_part()
        self.legs = self.leg_parts()
        self.graph = Graph(description.nacelle, [self.nacelle, *self.legs], self.report)

    def report(self, path: Path, message: str, hint: str = "") -> None:
        self.problems.append(self.source.problem(path, message, hint))

    def build(self) -> Robot | None:
        motion = self.motion(self.description.motion, ("motion",))
        if self.problems or motion is None:
            return None
        return self.assemble(motion)

    def nacelle_part(self) -> Part:
        spec = self.description.nacelle
        chain = Chain()
        if spec.type == "articulated":
            for name, body in spec.bodies.items():
                chain.bodies[name] = (body, ("nacelle", "bodies", name))
        else:
            chain.bodies[spec.name] = (spec, ("nacelle",))
        for name, joint in spec.joints.items():
            chain.joints.append(draft_joint(name, joint, ("nacelle", "joints", name)))
        for name, joint in spec.closures.items():
            chain.closures.append(draft_joint(name, joint, ("nacelle", "closures", name)))
        for name, joint in self.description.closures.items():
            chain.closures.append(draft_joint(name, joint, ("closures", name)))
        return Part("", ("nacelle",), chain, identity(), identity(), None, None)

    def leg_parts(self) -> list[Part]:
        parts: list[Part] = []
        names: set[str] = set()
        for index, leg in enumerate(self.description.legs):
            path: Path = ("legs", index)
            if leg.name in names or leg.name in ("base", self.description.nacelle.name):
                self.report((*path, "name"), f"the name {leg.name!r} is taken", "every leg has its own")
                continue
            names.add(leg.name)
            try:
                chain = draft_leg(leg, path)
            except DraftError as error:
                self.report(error.path, str(error), error.hint)
                continue
            if not chain.bodies and not chain.joints:
                self.report(path, f"leg {leg.name!r} is empty", "give joints, table or elements")
            base, nacelle, mirror = sides(leg.placement)
            parts.append(Part(leg.name, path, chain, base, nacelle, mirror, leg))
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
        graph, main = self.graph, self.description.nacelle.name
        tree, closing = graph.leg_order(graph.tree), graph.leg_order(graph.closing)
        order = ["base", main, *(edge.successor for edge in tree)]
        index = {name: k for k, name in enumerate(order)}
        self.check_guesses()
        made = [self.joint(edge, index) for edge in [*tree, *closing]]
        joints = [joint for joint, _ in made]
        actuators = self.actuators([*tree, *closing], joints, [drive for _, drive in made])
        legs = self.leg_list(tree, closing, joints)
        self.check_legs(legs, joints)
        reference = _reference_pose(self.description.reference)
        gravity = self.description.gravity
        robot = Robot(
            name=self.description.name,
            bodies=tuple(self.body(name) for name in order),
            joints=tuple(joints),
            tree=len(tree),
            legs=tuple(legs),
            nacelle=self.robot_nacelle(tree, closing, joints),
            motion=motion,
            actuators=actuators,
            gravity=(gravity[0], gravity[1], gravity[2]),
            reference=reference,
            tools=self.tools(index),
            payload=self.payload(index),
            modes=self.modes(motion, reference, legs, joints, [*tree, *closing]),
            title=self.description.title,
            notes=self.description.notes,
            sources=tuple(self.description.sources),
        )
        return None if self.problems else robot

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
            parts = [self.graph.owner(body) for body in self.graph.groups[k]]
            branches = {part.spec.branch or 0 for part in parts if part and part.spec}
            bodies = tuple(joints[j].successor for j in own)
            result.append(Leg(name, bodies, tuple(own), tuple(cuts), max(branches, key=abs, default=0)))
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
        bodies = (PLATFORM, *(joints[j].successor for j in own))
        return Nacelle(self.description.nacelle.type, bodies, tuple(own), tuple(cuts))

    def check_legs(self, legs: list[Leg], joints: list[Joint]) -> None:
        """Demand that every leg stands on the base and reaches the nacelle."""
        in_legs = {body for leg in legs for body in leg.bodies}
        for leg, group in zip(legs, self.graph.groups, strict=True):
            part = self.graph.owner(group[0])
            path = part.path if part is not None else ("legs",)
            ends = {b for j in (*leg.joints, *leg.closures) for b in _ends(joints[j])}
            if BASE not in ends:
                self.report(path, f"leg {leg.name!r} does not stand on the base", "give it a joint there")
            if not ends - in_legs - {BASE}:
                self.report(
                    path, f"leg {leg.name!r} does not end on the nacelle", "give it a closure with it"
                )

    def body(self, name: str) -> Body:
        if name == "base":
            return Body("base", display=placed_display(self.description.base.display, None))
        body = self.graph.bodies[name]
        spec, part = body.spec, body.part
        inertia = spec.ten()
        mirror = part.mirror if part is not None else None
        if mirror is not None:
            inertia = transform_parameters(mirror, np.zeros(3), inertia) + 0.0
        return Body(
            name,
            tuple(plain_or_recorded(value) for value in inertia),
            placed_display(spec.display, mirror),
            spec.section.model_dump(exclude_none=True) if spec.section else None,
            spec.material.model_dump(exclude_none=True) if spec.material else None,
        )

    def joint(self, edge: Edge, index: Mapping[str, int]) -> tuple[Joint, Drive]:
        """Make a joint: frames placed and mirrored, drive read."""
        draft, part = edge.draft, edge.part
        kind = draft.kind
        frames = [
            self.frame(part, frame, body, kind)
            for frame, body in (
                (draft.frame_parent, edge.predecessor),
                (draft.frame_child, edge.successor),
            )
        ]
        ends = [index[edge.predecessor], index[edge.successor]]
        at_point = False
        if self.description.nacelle.type == "point" and not edge.closes and PLATFORM in ends:
            if kind is not JointKind.SPHERICAL:
                self.report(
                    draft.path,
                    f"a {kind} joint cannot hang a body on a point, which has no axes",
                    "write it as the leg's closure, from the leg's last body to the point",
                )
        elif self.description.nacelle.type == "point" and edge.closes:
            if PLATFORM in ends:
                kind = self.point_kind(draft)
            elif part.spec is None:
                at_point = True
        if edge.closes and kind is JointKind.SPHERICAL_PLANAR:
            kind = JointKind.PLANAR_SPHERICAL
            frames.reverse()
            ends.reverse()
        drive = self.drive(edge, kind)
        limits = drive.limits
        if len(limits) == 1 and limits[0] == (-np.inf, np.inf):
            limits = (drive.position,)
        joint = Joint(
            name=f"{part.name}.{draft.name}" if part.spec is not None else draft.name,
            kind=kind,
            predecessor=ends[0],
            successor=ends[1],
            frame_predecessor=frames[0],
            frame_successor=frames[1],
            friction=drive.friction,
            springs=drive.springs,
            rotor_inertia=drive.rotor_inertia,
            gear_ratio=drive.gear_ratio,
            limits=limits,
            guess=drive.guess,
            at_point=at_point,
        )
        return joint, drive

    def drive(self, edge: Edge, kind: JointKind, guess: tuple[Any, Path] | None = None) -> Drive:
        """Read what a joint has beside its geometry, in the order of its kind, mirrored with its leg.

        Args:
            edge: the joint.
            kind: its kind in the robot.
            guess: another guess than its own, as written, and where that stands.
        """
        draft, part = edge.draft, edge.part
        written = JointKind.PLANAR_SPHERICAL if kind is JointKind.SPHERICAL_PLANAR else kind
        drive = self.read.drive(draft.drive, written, draft.path)
        if guess is None and part.spec is not None and draft.name in part.spec.guess:
            guess = part.spec.guess[draft.name], (*part.path, "guess", draft.name)
        if guess is not None:
            drive = dataclasses.replace(drive, guess=self.read.guess(guess[0], written, guess[1]))
        if kind is not written:
            drive = ball_first(drive)
        return drive if part.mirror is None else mirror_drive(kind, drive)

    def point_kind(self, draft: Draft) -> JointKind:
        """A joint on a point locks the position; its friction belongs between the last bodies."""
        if draft.kind not in _AT_A_POINT:
            self.report(draft.path, f"a {draft.kind} joint cannot end on a point", "use a revolute")
        drive = draft.drive
        if np.any(draft.frame_child.p):
            self.report((*draft.path, "child_at"), "a joint on a point is at the point", "remove child_at")
        if drive.active or drive.actuator or drive.friction or drive.spring:
            self.report(
                draft.path,
                "a joint on a point has no drive and no friction of its own",
                "write the joint between the last bodies under nacelle.closures",
            )
        return JointKind.POINT

    def frame(self, part: Part, frame: Pose, body: str, kind: JointKind) -> Pose:
        """Place and mirror a joint's frame: base and nacelle side of a leg by its placement."""
        if part.mirror is not None:
            frame = Pose(part.mirror @ frame.R @ joint_mirror(kind) + 0.0, part.mirror @ frame.p + 0.0)
        if part.spec is not None and self.graph.owner(body) is not part:
            side = part.base_side if body == "base" else part.nacelle_side
            if body == "base" or self.graph.owner(body) is None:
                frame = side @ frame
        return Pose(clean(frame.R), frame.p + 0.0)

    def actuators(self, edges: list[Edge], joints: list[Joint], drives: list[Drive]) -> tuple[Actuator, ...]:
        """The drives, in the order given or as the legs stand."""
        result = []
        for k, (edge, joint, drive) in enumerate(zip(edges, joints, drives, strict=True)):
            spec = edge.draft.drive
            if not spec.active and spec.actuator is None:
                continue
            name = joint.name
            if spec.actuator is not None and spec.actuator.name:
                prefix = f"{edge.part.name}." if edge.part.spec is not None else ""
                name = f"{prefix}{spec.actuator.name}"
            result.append(
                Actuator(
                    name,
                    k,
                    drive.torque_constant,
                    drive.encoder_zero,
                    drive.encoder_sign,
                    drive.position,
                    drive.speed,
                    drive.force,
                )
            )
        if not result:
            self.report(("legs",), "no joint is active", "set 'active: true' on the driven joints")
        names = [actuator.name for actuator in result]
        if len(set(names)) != len(names):
            self.report(("legs",), "two actuators have the same name", "every actuator has its own")
        return self.ordered(result, joints)

    def ordered(self, actuators: list[Actuator], joints: list[Joint]) -> tuple[Actuator, ...]:
        order = self.description.actuators
        if order is None:
            return tuple(actuators)
        known = {a.name: a for a in actuators} | {joints[a.joint].name: a for a in actuators}
        chosen = []
        for k, name in enumerate(order):
            if name in known and known[name] not in chosen:
                chosen.append(known[name])
            elif name in known:
                self.report(("actuators", k), f"{name!r} stands twice")
            else:
                self.report(("actuators", k), f"no actuator is called {name!r}", did_you_mean(name, known))
        missing = [a.name for a in actuators if a not in chosen]
        if missing and not self.problems:
            self.report(("actuators",), f"not in the order: {', '.join(missing)}", "list all of them")
        return tuple(chosen)

    def motion(self, value: str | list[str], path: Path) -> Motion | None:
        try:
            motion = parse_motion(value)
        except MotionError as error:
            self.report(path, str(error), error.hint)
            return None
        spec = self.description.nacelle
        joints = {draft.name: draft for draft in self.nacelle.chain.joints}
        for name in motion.joint_names:
            if name not in joints:
                known = [*AXES, *joints]
                self.report(path, f"{name!r} is not a coordinate", did_you_mean(name, known))
            elif joints[name].kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
                self.report(path, f"the nacelle's joint {name!r} has more than one coordinate")
        if spec.type == "point" and any(axis.startswith("r") for axis in motion.coordinates):
            self.report(path, "a point does not turn", "xy, xyz or a list of x, y, z")
        return motion

    def nacelle_body(self, name: str | None, path: Path, index: Mapping[str, int]) -> int:
        """Index of a body of the nacelle that a tool or payload names."""
        if name is None:
            return PLATFORM
        bodies = [n for n, body in self.graph.bodies.items() if body.part is None]
        if name not in bodies:
            self.report(path, f"the nacelle has no body {name!r}", did_you_mean(name, bodies))
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
            body = self.nacelle_body(load.body, ("payload", name, "body"), index)
            loads.append(Payload(name, body, tuple(plain_or_recorded(value) for value in ten)))
        return tuple(loads)

    def modes(
        self,
        motion: Motion,
        reference: Pose,
        legs: list[Leg],
        joints: list[Joint],
        edges: list[Edge],
    ) -> tuple[Mode, ...]:
        result = []
        leg_names = [leg.name for leg in legs]
        joint_names = [joint.name for joint in joints]
        for name, spec in self.description.modes.items():
            path: Path = ("modes", name)
            own = motion
            if spec.motion is not None:
                own = self.motion(spec.motion, (*path, "motion")) or motion
            branch = [0] * len(legs)
            for leg, value in spec.branch.items():
                if leg not in leg_names:
                    hint = did_you_mean(leg, leg_names)
                    self.report((*path, "branch", leg), f"no leg is called {leg!r}", hint)
                else:
                    branch[leg_names.index(leg)] = value
            guess = []
            for joint, value in spec.guess.items():
                if joint not in joint_names:
                    hint = did_you_mean(joint, joint_names)
                    self.report((*path, "guess", joint), f"no joint is called {joint!r}", hint)
                    continue
                k = joint_names.index(joint)
                drive = self.drive(edges[k], joints[k].kind, (value, (*path, "guess", joint)))
                guess.append((k, drive.guess))
            pose = reference if spec.reference is None else _reference_pose(spec.reference)
            result.append(Mode(name, own, pose, tuple(branch), tuple(guess)))
        return tuple(result)


def _ends(joint: Joint) -> tuple[int, int]:
    return joint.predecessor, joint.successor


def _reference_pose(spec: ReferenceSpec) -> Pose:
    R = np.eye(3) if spec.rotation is None else spec.rotation.rotation()
    return Pose(R, np.array(spec.position))
