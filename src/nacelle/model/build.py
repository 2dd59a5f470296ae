"""From a description to a robot: names resolved, legs found, the spanning tree laid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import DescriptionError, Problem, did_you_mean
from nacelle.model.description import (
    BodySpec,
    Description,
    DisplaySpec,
    LegSpec,
    PlacementSpec,
    ReferenceSpec,
)
from nacelle.model.draft import Chain, Draft, DraftError, draft_joint, draft_leg
from nacelle.model.drive import DriveReader, units_for_bare_numbers
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
from nacelle.model.source import Node, Source
from nacelle.spatial.inertia import (
    inertia_faults,
    parameters_from_com,
    parameters_from_frame,
    transform_parameters,
)
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.scalar import Array

Path = tuple[str | int, ...]

_AT_A_POINT = (JointKind.REVOLUTE, JointKind.UNIVERSAL, JointKind.SPHERICAL)


@dataclass
class _Part:
    """A leg as written (or the nacelle, leg = -1) with its chain and placements."""

    index: int
    name: str
    path: Path
    chain: Chain
    base_side: Pose
    nacelle_side: Pose
    mirror: Array | None
    spec: LegSpec | None


@dataclass
class _Edge:
    """A joint whose bodies are known."""

    part: _Part
    draft: Draft
    predecessor: str
    successor: str
    closes: bool


def build_robot(description: Description, source: Source | None = None) -> Robot:
    """Build the robot that a description describes.

    Args:
        description: checked for shape already.
        source: where it came from, for the places of problems; None for one made in Python.

    Raises:
        DescriptionError: everything that is wrong, at once.
    """
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
        self.body_names: dict[str, tuple[BodySpec, Path, _Part | None]] = {}

    def report(self, path: Path, message: str, hint: str = "") -> None:
        self.problems.append(self.source.problem(path, message, hint))

    def build(self) -> Robot | None:
        nacelle = self.nacelle_part()
        legs = self.leg_parts()
        self.collect_bodies(nacelle, legs)
        edges = self.edges([nacelle, *legs])
        placed = self.place(edges)
        self.check_inertia()
        motion = self.motion(self.description.motion, ("motion",), nacelle)
        if self.problems or placed is None or motion is None:
            return None
        return self.assemble(nacelle, legs, edges, placed, motion)

    # ---- parts

    def nacelle_part(self) -> _Part:
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
        return _Part(-1, "", ("nacelle",), chain, identity(), identity(), None, None)

    def leg_parts(self) -> list[_Part]:
        parts: list[_Part] = []
        names: set[str] = set()
        for index, leg in enumerate(self.description.legs):
            path: Path = ("legs", index)
            if leg.name in names or leg.name in ("base", self.description.nacelle.name):
                self.report((*path, "name"), f"the name {leg.name!r} is taken", "every leg has its own")
            names.add(leg.name)
            try:
                chain = draft_leg(leg, path)
            except DraftError as error:
                self.report(error.path, str(error), error.hint)
                continue
            if not chain.bodies and not chain.joints:
                self.report(path, f"leg {leg.name!r} is empty", "give joints, table or elements")
            base, nacelle, mirror = _placement(leg.placement)
            parts.append(_Part(index, leg.name, path, chain, base, nacelle, mirror, leg))
        return parts

    def collect_bodies(self, nacelle: _Part, legs: list[_Part]) -> None:
        """Give every body its full name."""
        for name, (spec, path) in nacelle.chain.bodies.items():
            if name == "base":
                self.report(path, "the name 'base' is taken", "rename the body")
            self.body_names[name] = (spec, path, None)
        for part in legs:
            for name, (spec, path) in part.chain.bodies.items():
                self.body_names[f"{part.name}.{name}"] = (spec, path, part)

    def resolve(self, part: _Part, name: str, path: Path) -> str | None:
        """Find a body: in the leg itself, on the nacelle, the base, or by its full name."""
        if part.spec is not None and f"{part.name}.{name}" in self.body_names:
            return f"{part.name}.{name}"
        if name == "base" or name in self.body_names:
            return name
        own = [n.removeprefix(f"{part.name}.") for n in self.body_names if part.name]
        known = list(dict.fromkeys(["base", *(n for n in own if "." not in n), *self.body_names]))
        self.report(path, f"no body is called {name!r}", did_you_mean(name, known))
        return None

    # ---- graph

    def edges(self, parts: list[_Part]) -> list[_Edge]:
        """Resolve the bodies of all joints and decide which of them close loops."""
        result = []
        for part in parts:
            for drafts, closes in ((part.chain.joints, False), (part.chain.closures, True)):
                for draft in drafts:
                    edge = self.edge(part, draft, closes)
                    if edge is not None:
                        result.append(edge)
        return result

    def edge(self, part: _Part, draft: Draft, closes: bool) -> _Edge | None:
        main = self.description.nacelle.name
        child_name = draft.child or main
        predecessor = self.resolve(part, draft.parent, (*draft.path, "parent"))
        successor = self.resolve(part, child_name, (*draft.path, "child"))
        if predecessor is None or successor is None:
            return None
        if predecessor == successor:
            self.report(draft.path, f"joint {draft.name!r} joins {predecessor!r} to itself")
            return None
        if successor == "base" and not closes:
            self.report((*draft.path, "child"), "the base is nobody's child", "swap parent and child")
            return None
        # A joint of a leg that ends on the nacelle is its terminal joint: the loop is cut there.
        on_nacelle = successor == main or (part.spec is not None and self.owner(successor) is None)
        return _Edge(part, draft, predecessor, successor, closes or on_nacelle)

    def owner(self, body: str) -> _Part | None:
        """The leg that a body belongs to; None for base and nacelle."""
        return self.body_names[body][2] if body in self.body_names else None

    def place(self, edges: list[_Edge]) -> list[_Edge] | None:
        """Order the tree joints so that every predecessor is placed first."""
        parent: dict[str, _Edge] = {}
        for edge in edges:
            if edge.closes:
                continue
            if edge.successor in parent:
                other = parent[edge.successor].draft.name
                self.report(
                    (*edge.draft.path, "child"),
                    f"{edge.successor!r} is placed twice, by {other!r} and by {edge.draft.name!r}",
                    "write the second joint under closures",
                )
                continue
            parent[edge.successor] = edge
        main = self.description.nacelle.name
        for name, (_, path, _) in self.body_names.items():
            if name != main and name not in parent:
                self.report(path, f"no joint places the body {name!r}", "give a joint with it as child")
        if self.problems:
            return None
        order: list[_Edge] = []
        placed = {"base", main}
        waiting = [edge for edge in edges if not edge.closes]
        while waiting:
            ready = [edge for edge in waiting if edge.predecessor in placed]
            if not ready:
                ring = ", ".join(edge.draft.name for edge in waiting)
                self.report(
                    waiting[0].draft.path,
                    f"these joints hang on each other but not on the base: {ring}",
                    "one of them belongs under closures",
                )
                return None
            edge = ready[0]
            order.append(edge)
            placed.add(edge.successor)
            waiting.remove(edge)
        return order

    def check_inertia(self) -> None:
        for spec, path, _ in self.body_names.values():
            for words in inertia_faults(_ten(spec)):
                self.report((*path, "inertia"), words, "check units and axes")
        for name, load in self.description.payload.items():
            for words in inertia_faults(_ten(load)):
                self.report(("payload", name, "inertia"), words, "check units and axes")

    # ---- assembly of the robot

    def assemble(
        self,
        nacelle: _Part,
        legs: list[_Part],
        edges: list[_Edge],
        tree: list[_Edge],
        motion: Motion,
    ) -> Robot | None:
        main = self.description.nacelle.name
        groups = self.components(legs, edges)
        group_of = {body: k for k, group in enumerate(groups) for body in group}
        names = self.leg_names(groups)

        def rank(edge: _Edge) -> tuple[int, int]:
            side = group_of.get(edge.successor, group_of.get(edge.predecessor, -1))
            return (side, tree.index(edge) if edge in tree else len(tree))

        tree = sorted(tree, key=rank)
        closing = sorted((edge for edge in edges if edge.closes), key=lambda edge: rank(edge)[0])
        order = ["base", main, *(edge.successor for edge in tree)]
        index = {name: k for k, name in enumerate(order)}
        bodies = tuple(self.body(name) for name in order)
        joints = [self.joint(edge, index) for edge in [*tree, *closing]]
        actuators = self.actuators([*tree, *closing], joints)
        if self.problems:
            return None
        n_tree = len(tree)
        leg_list = []
        for k, name in enumerate(names):
            own = [j for j, edge in enumerate(tree) if group_of.get(edge.successor) == k]
            cuts = [
                n_tree + j
                for j, edge in enumerate(closing)
                if k in (group_of.get(edge.successor), group_of.get(edge.predecessor))
                and not joints[n_tree + j].at_point
            ]
            parts = {id(self.owner(body)): self.owner(body) for body in groups[k]}
            branch = {p.spec.branch or 0 for p in parts.values() if p is not None and p.spec}
            leg_list.append(
                Leg(
                    name,
                    tuple(joints[j].successor for j in own),
                    tuple(own),
                    tuple(cuts),
                    max(branch, key=abs, default=0),
                )
            )
        self.check_legs(leg_list, joints, legs)
        in_nacelle = [j for j, edge in enumerate(tree) if edge.successor not in group_of]
        robot_nacelle = Nacelle(
            self.description.nacelle.type,
            (PLATFORM, *(joints[j].successor for j in in_nacelle)),
            tuple(in_nacelle),
            tuple(
                n_tree + j
                for j, edge in enumerate(closing)
                if joints[n_tree + j].at_point
                or (edge.successor not in group_of and edge.predecessor not in group_of)
            ),
        )
        reference = _reference_pose(self.description.reference)
        return Robot(
            name=self.description.name,
            bodies=bodies,
            joints=tuple(joints),
            tree=n_tree,
            legs=tuple(leg_list),
            nacelle=robot_nacelle,
            motion=motion,
            actuators=actuators,
            gravity=(
                self.description.gravity[0],
                self.description.gravity[1],
                self.description.gravity[2],
            ),
            reference=reference,
            tools=self.tools(index),
            payload=self.payload(index),
            modes=self.modes(motion, reference, leg_list, joints, nacelle),
            title=self.description.title,
            notes=self.description.notes,
            sources=tuple(self.description.sources),
        )

    def components(self, legs: list[_Part], edges: list[_Edge]) -> list[list[str]]:
        """Connected components of the graph without base and nacelle, in the order of the legs."""
        names = [f"{part.name}.{name}" for part in legs for name in part.chain.bodies]
        root = {name: name for name in names}

        def find(name: str) -> str:
            while root[name] != name:
                name = root[name]
            return name

        point = self.description.nacelle.type == "point"
        for edge in edges:
            # Joints between legs at a point nacelle are the nacelle's, they do not join the legs.
            if edge.predecessor in root and edge.successor in root:
                if point and edge.part.spec is None:
                    continue
                root[find(edge.successor)] = find(edge.predecessor)
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(find(name), []).append(name)
        return list(groups.values())

    def leg_names(self, groups: list[list[str]]) -> list[str]:
        """Name each component after the leg or legs in which it was written."""
        written = [list(dict.fromkeys(body.split(".")[0] for body in group)) for group in groups]
        result = []
        for k, names in enumerate(written):
            name = "-".join(names)
            same = [j for j, other in enumerate(written) if other == names]
            result.append(f"{name}-{same.index(k) + 1}" if len(same) > 1 else name)
        return result

    def check_legs(self, legs: list[Leg], joints: list[Joint], parts: list[_Part]) -> None:
        """Demand that every leg stands on the base and reaches the nacelle."""
        on_nacelle = {PLATFORM, *self.nacelle_bodies(joints, legs)}
        for leg in legs:
            path = next((p.path for p in parts if leg.name.startswith(p.name)), ("legs",))
            ends = {b for j in (*leg.joints, *leg.closures) for b in _ends(joints[j])}
            if BASE not in ends:
                self.report(path, f"leg {leg.name!r} does not stand on the base", "give it a joint there")
            if not ends & on_nacelle:
                self.report(
                    path,
                    f"leg {leg.name!r} does not end on the nacelle",
                    "give it a closure with it",
                )

    def nacelle_bodies(self, joints: list[Joint], legs: list[Leg]) -> set[int]:
        in_legs = {body for leg in legs for body in leg.bodies}
        return {b for joint in joints for b in _ends(joint)} - in_legs - {BASE}

    def body(self, name: str) -> Body:
        if name == "base":
            return Body("base", display=_display(self.description.base.display, None))
        spec, _, part = self.body_names[name]
        inertia = _ten(spec)
        mirror = part.mirror if part is not None else None
        if mirror is not None:
            inertia = transform_parameters(mirror, np.zeros(3), inertia) + 0.0
        return Body(
            name,
            tuple(float(value) for value in inertia),
            _display(spec.display, mirror),
            spec.section.model_dump(exclude_none=True) if spec.section else None,
            spec.material.model_dump(exclude_none=True) if spec.material else None,
        )

    def joint(self, edge: _Edge, index: Mapping[str, int]) -> Joint:
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
        if self.description.nacelle.type == "point" and edge.closes:
            if PLATFORM in ends:
                kind = self.point_kind(draft)
            elif part.spec is None:
                at_point = True
        if edge.closes and kind is JointKind.SPHERICAL_PLANAR:
            kind = JointKind.PLANAR_SPHERICAL
            frames.reverse()
            ends.reverse()
        drive = draft.drive
        guess: Any = drive.guess
        guess_path: Path = (*draft.path, "guess")
        if part.spec is not None and draft.name in part.spec.guess:
            guess = part.spec.guess[draft.name]
            guess_path = (*part.path, "guess", draft.name)
        coordinates = self.read.guess(guess, kind, guess_path)
        limits = self.read.limits(drive.limits, kind, (*draft.path, "limits"))
        if part.mirror is not None:
            coordinates, limits = _mirror_coordinates(kind, coordinates, limits)
        gear, slides = 1.0, False
        rotor, rotor_path = drive.rotor_inertia, (*draft.path, "rotor_inertia")
        if drive.actuator is not None:
            gear, slides = self.read.gear_ratio(drive.actuator, kind, (*draft.path, "actuator"))
            if drive.actuator.rotor_inertia is not None:
                if rotor is not None:
                    self.report(rotor_path, "rotor_inertia stands twice", "give it once")
                rotor = drive.actuator.rotor_inertia
                rotor_path = (*draft.path, "actuator", "rotor_inertia")
        if rotor is not None and kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
            self.report(rotor_path, f"a {kind} joint has no rotor", "split it into single joints")
            rotor = None
        turns = kind is not JointKind.PRISMATIC or slides
        return Joint(
            name=f"{part.name}.{draft.name}" if part.spec is not None else draft.name,
            kind=kind,
            predecessor=ends[0],
            successor=ends[1],
            frame_predecessor=frames[0],
            frame_successor=frames[1],
            friction=self.read.friction(drive, kind, draft.path),
            springs=self.read.springs(drive, kind, draft.path),
            rotor_inertia=self.read.rotor_inertia(rotor, turns, rotor_path),
            gear_ratio=gear,
            limits=limits,
            guess=coordinates,
            at_point=at_point,
        )

    def point_kind(self, draft: Draft) -> JointKind:
        """A joint on a point locks the position; its friction belongs between the last bodies."""
        if draft.kind not in _AT_A_POINT:
            self.report(draft.path, f"a {draft.kind} joint cannot end on a point", "use a revolute")
        drive = draft.drive
        if drive.active or drive.actuator or drive.friction or drive.spring:
            self.report(
                draft.path,
                "a joint on a point has no drive and no friction of its own",
                "write the joint between the last bodies under nacelle.closures",
            )
        return JointKind.POINT

    def frame(self, part: _Part, frame: Pose, body: str, kind: JointKind) -> Pose:
        """Place and mirror a joint's frame: base and nacelle side of a leg by its placement."""
        if part.mirror is not None:
            frame = Pose(part.mirror @ frame.R @ _joint_mirror(kind) + 0.0, part.mirror @ frame.p + 0.0)
        if part.spec is not None and self.owner(body) is not part:
            side = part.base_side if body == "base" else part.nacelle_side
            if body == "base" or self.owner(body) is None:
                frame = side @ frame
        return Pose(_clean(frame.R), frame.p + 0.0)

    def actuators(self, edges: list[_Edge], joints: list[Joint]) -> tuple[Actuator, ...]:
        """The drives, in the order given or as the legs stand."""
        result = []
        for k, (edge, joint) in enumerate(zip(edges, joints, strict=True)):
            drive, path = edge.draft.drive, edge.draft.path
            if not drive.active and drive.actuator is None:
                continue
            if joint.kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
                self.report(
                    path,
                    f"the active joint {joint.name!r} is {joint.kind}",
                    "drive a revolute or prismatic joint: split it, with a massless body between",
                )
                continue
            result.append(self.actuator(edge, k, joint))
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

    def actuator(self, edge: _Edge, k: int, joint: Joint) -> Actuator:
        spec, path = edge.draft.drive.actuator, (*edge.draft.path, "actuator")
        turns = joint.kind is JointKind.REVOLUTE
        prefix = f"{edge.part.name}." if edge.part.spec is not None else ""
        if spec is None:
            return Actuator(joint.name, k, position=joint.limits[0])
        position = self.read.limits(spec.limits.position, joint.kind, (*path, "limits", "position"))[0]
        if spec.limits.position is None:
            position = joint.limits[0]
        speed = force = np.inf
        if spec.limits.speed is not None:
            kind = "angular speed" if turns else "speed"
            speed = self.read.quantity(spec.limits.speed, kind, (*path, "limits", "speed"))
        if spec.limits.force is not None:
            kind = "torque" if turns else "force"
            force = self.read.quantity(spec.limits.force, kind, (*path, "limits", "force"))
        constant = 0.0
        if spec.torque_constant is not None:
            linear = not turns and joint.gear_ratio == 1.0
            kind = "force constant" if linear else "torque constant"
            constant = self.read.quantity(spec.torque_constant, kind, (*path, "torque_constant"))
        zero = self.read.quantity(
            spec.encoder.zero, "angle" if turns else "length", (*path, "encoder", "zero")
        )
        return Actuator(
            f"{prefix}{spec.name}" if spec.name else joint.name,
            k,
            constant,
            zero,
            spec.encoder.sign,
            position,
            float(speed),
            float(force),
        )

    # ---- platform

    def motion(self, value: str | list[str], path: Path, nacelle: _Part) -> Motion | None:
        try:
            motion = parse_motion(value)
        except MotionError as error:
            self.report(path, str(error), error.hint)
            return None
        spec = self.description.nacelle
        joints = {draft.name: draft for draft in nacelle.chain.joints}
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
        bodies = [n for n, (_, _, part) in self.body_names.items() if part is None]
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
            ten = transform_parameters(pose.R, pose.p, _ten(load))
            if load.at == type(load.at)():
                ten = _ten(load)
            body = self.nacelle_body(load.body, ("payload", name, "body"), index)
            loads.append(Payload(name, body, tuple(float(value) for value in ten)))
        return tuple(loads)

    def modes(
        self, motion: Motion, reference: Pose, legs: list[Leg], joints: list[Joint], nacelle: _Part
    ) -> tuple[Mode, ...]:
        result = []
        leg_names = [leg.name for leg in legs]
        joint_names = [joint.name for joint in joints]
        for name, spec in self.description.modes.items():
            path: Path = ("modes", name)
            own = motion
            if spec.motion is not None:
                own = self.motion(spec.motion, (*path, "motion"), nacelle) or motion
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
                guess.append((k, self.read.guess(value, joints[k].kind, (*path, "guess", joint))))
            pose = reference if spec.reference is None else _reference_pose(spec.reference)
            result.append(Mode(name, own, pose, tuple(branch), tuple(guess)))
        return tuple(result)


def _ends(joint: Joint) -> tuple[int, int]:
    return joint.predecessor, joint.successor


def _ten(spec: BodySpec) -> Array:
    """Ten parameters of a body as written."""
    if spec.inertia.about == "frame":
        if spec.first_moment is not None:
            first = np.array(spec.first_moment)
        else:
            first = spec.mass * np.array(spec.com or (0.0, 0.0, 0.0))
        return parameters_from_frame(spec.mass, first, spec.inertia.matrix())
    com = np.array(spec.com or (0.0, 0.0, 0.0))
    if spec.first_moment is not None and spec.mass > 0.0:
        com = np.array(spec.first_moment) / spec.mass
    return parameters_from_com(spec.mass, com, spec.inertia.matrix())


def _reference_pose(spec: ReferenceSpec) -> Pose:
    R = np.eye(3) if spec.rotation is None else spec.rotation.rotation()
    return Pose(R, np.array(spec.position))


def _placement(spec: PlacementSpec) -> tuple[Pose, Pose, Array | None]:
    """Base-side and nacelle-side placement of a leg, and its reflection."""
    base = spec.pose()
    nacelle = spec.nacelle.pose() if spec.nacelle is not None else Pose(base.R, np.zeros(3))
    mirror = None
    if spec.mirror is not None:
        mirror = np.eye(3)
        mirror["xyz".index(spec.mirror), "xyz".index(spec.mirror)] = -1.0
    return base, nacelle, mirror


def _joint_mirror(kind: JointKind) -> Array:
    """Reflection of a joint's own frame that keeps its coordinates.

    The inversion -1 commutes with every rotation, so turning joints keep their angles; a prismatic
    joint keeps its stroke under the reflection of x. Slides of the other kinds change sign.
    """
    return np.diag([-1.0, 1.0, 1.0]) if kind is JointKind.PRISMATIC else -np.eye(3)


def _mirror_coordinates(
    kind: JointKind, coordinates: tuple[float, ...], limits: tuple[tuple[float, float], ...]
) -> tuple[tuple[float, ...], tuple[tuple[float, float], ...]]:
    """Change the sign of the slides of cylindrical and C5 joints in a mirrored leg."""
    from nacelle.model.joint import MOTION

    if kind is JointKind.PRISMATIC:
        return coordinates, limits
    values, start = list(coordinates), 0
    pairs = list(limits)
    for k, primitive in enumerate(MOTION[kind]):
        if not primitive.turns:
            values[start] = -values[start] + 0.0
            pairs[k] = (-pairs[k][1], -pairs[k][0])
        start += primitive.nq
    return tuple(values), tuple(pairs)


def _clean(R: Array) -> Array:
    """Turn entries of a rotation within rounding of 0 and +-1 into them exactly.

    Cosines of right angles written in degrees or multiples of pi come out as 6e-17; exact zeros make
    the programs traced from the robot smaller.
    """
    cleaned = np.where(np.abs(R) < 4e-16, 0.0, R)
    near_one = np.abs(np.abs(cleaned) - 1.0) < 4e-16
    return np.where(near_one, np.sign(cleaned), cleaned) + 0.0


def _display(shapes: list[DisplaySpec], mirror: Array | None) -> tuple[dict[str, Any], ...]:
    """Shapes as plain data, reflected with the leg."""
    result = []
    for shape in shapes:
        data = shape.model_dump(by_alias=True, exclude_none=True)
        if mirror is not None:
            for part, key in (("cylinder", "from"), ("cylinder", "to"), ("sphere", "at")):
                if part in data:
                    data[part][key] = tuple(float(v) + 0.0 for v in mirror @ np.array(data[part][key]))
            for part in ("box", "mesh"):
                if data.get(part, {}).get("at", {}).get("translation"):
                    at = data[part]["at"]
                    at["translation"] = tuple(float(v) + 0.0 for v in mirror @ np.array(at["translation"]))
        result.append(data)
    return tuple(result)
