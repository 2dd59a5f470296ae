"""Joints, springs and dampers of a robot from their drafts: placed, mirrored, read for their kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nacelle.model.build.draft import JointDraft, SiNumber
from nacelle.model.build.graph import BodyGraph, CouplingEdges, Edge, PartDraft, full_name
from nacelle.model.build.placement import joint_mirror, mirror_slides
from nacelle.model.description.description import Description
from nacelle.model.description.drive import Drive, DriveReader
from nacelle.model.joint import Joint, JointKind, reversed_planar_joint
from nacelle.model.leg import BASE, PLATFORM, Damper, LineSpring, TorsionSpring
from nacelle.model.source.node import Entry, KeyPath
from nacelle.spatial.pose import Pose
from nacelle.spatial.recorded import as_float
from nacelle.spatial.rotation import frame_with_z
from nacelle.spatial.rounding import clean_rounding
from nacelle.spatial.scalar import Array, pack

_AT_A_POINT = (JointKind.REVOLUTE, JointKind.UNIVERSAL, JointKind.SPHERICAL)


@dataclass(frozen=True)
class JointBuilder:
    """Makes the joints of a robot.

    Attributes:
        graph: the bodies and joints as written.
        read: reads their quantities; takes what is wrong.
    """

    graph: BodyGraph
    read: DriveReader

    def joint(self, edge: Edge, index: Mapping[str, int]) -> Drive:
        """Make a joint, and read the numbers of its actuator: frames placed and mirrored, drive read."""
        draft, part = edge.draft, edge.part
        kind = draft.kind
        frames = [
            self.frame(part, frame, body, kind)
            for frame, body in zip(draft.frames, (edge.predecessor, edge.successor), strict=True)
        ]
        ends = [index[edge.predecessor], index[edge.successor]]
        at_point = False
        if self.graph.at_point and not edge.closes and PLATFORM in ends:
            if kind is not JointKind.SPHERICAL:
                self.read.report(
                    draft.path,
                    f"a {kind} joint cannot hang a body on a point, which has no axes",
                    "write it as the leg's closure, from the leg's last body to the point",
                )
        elif self.graph.at_point and edge.closes:
            if PLATFORM in ends:
                kind = self.point_kind(draft)
            elif part.spec is None:
                at_point = True
        if edge.closes and kind is JointKind.SPHERICAL_PLANAR:
            kind = JointKind.PLANAR_SPHERICAL
            frames.reverse()
            ends.reverse()
        drive = self.drive(edge, kind)
        joint = replace(
            drive.joint,
            name=full_name(edge),
            predecessor=ends[0],
            successor=ends[1],
            frame_predecessor=frames[0],
            frame_successor=frames[1],
            at_point=at_point,
        )
        return drive._replace(joint=joint)

    def coupling(self, coupling: CouplingEdges, number: Mapping[str, int]) -> Joint:
        """Make a coupling: q_1 - sum ratio q = offset; `number` gives the joints of the tree by name."""
        first, *others = coupling.edges
        draft, path = coupling.draft, coupling.draft.path
        rotates = [edge.draft.kind is JointKind.REVOLUTE for edge in coupling.edges]
        kinds = {(True, True): "number", (False, False): "number", (False, True): "lead"}
        terms = [(number[full_name(first)], 1.0)]
        for edge, turns, (name, ratio_spec) in zip(others, rotates[1:], draft.ratios.items(), strict=True):
            ratio_path = (*path, "follows", name)
            kind = kinds.get((rotates[0], turns), "gear ratio per length")
            ratio = (
                ratio_spec
                if isinstance(ratio_spec, SiNumber)
                else self.read.ratio(ratio_spec, kind, ratio_path)
            )
            if ratio == 0.0:
                self.read.report(ratio_path, "the ratio is zero", "leave the joint out")
            terms.append((number[full_name(edge)], -float(ratio)))
        offset = 0.0
        if not isinstance(draft.offset, SiNumber):
            quantity = "angle" if rotates[0] else "length"
            offset = self.read.quantity(draft.offset, quantity, (*path, "offset"))
        return Joint(full_name(coupling), JointKind.COUPLING, BASE, BASE, terms=tuple(terms), offset=offset)

    def drive(self, edge: Edge, kind: JointKind, guess: Entry | None = None) -> Drive:
        """Read what a joint has in addition to its geometry, in the order of its kind, mirrored with its leg.

        Args:
            edge: the joint.
            kind: its kind in the robot.
            guess: another guess than its own, as written, and where that is.
        """
        draft, part = edge.draft, edge.part
        written_kind = JointKind.PLANAR_SPHERICAL if kind is JointKind.SPHERICAL_PLANAR else kind
        joint, actuator = self.read.drive(draft.drive, written_kind, draft.path)
        if guess is None and part.spec is not None and draft.name in part.spec.guess:
            guess = Entry(part.spec.guess[draft.name], (*part.path, "guess", draft.name))
        if guess is not None:
            joint = replace(joint, guess=self.read.guess(guess.value, written_kind, guess.path))
        if kind is not written_kind:
            joint = reversed_planar_joint(joint)
        return Drive(joint if part.placement.mirror is None else mirror_slides(joint), actuator)

    def point_kind(self, draft: JointDraft) -> JointKind:
        """A joint on a point locks the position; its friction belongs between the last bodies."""
        if draft.kind not in _AT_A_POINT:
            self.read.report(draft.path, f"a {draft.kind} joint cannot end on a point", "use a revolute")
        drive = draft.drive
        if np.any(draft.frames[1].p):
            self.read.report(
                (*draft.path, "child_at"), "a joint on a point is at the point", "remove child_at"
            )
        forces = (drive.active, drive.actuator, drive.friction, drive.spring, drive.stop, drive.rotor_inertia)
        if any(forces):
            self.read.report(
                draft.path,
                "a joint on a point has no drive and no friction of its own",
                "write the joint between the last bodies under nacelle.closures",
            )
        return JointKind.POINT

    def frame(self, part: PartDraft, frame: Pose, body: str, kind: JointKind) -> Pose:
        """Place and mirror a joint's frame: base and platform side of a leg by its placement."""
        base, platform, mirror = self.graph.placement(part)
        if mirror is not None:
            frame = Pose(mirror @ frame.R @ joint_mirror(kind) + 0.0, mirror @ frame.p + 0.0)
        if part.spec is not None and self.graph.owner(body) is not part:
            if body == "base":
                frame = base @ frame
            elif self.graph.owner(body) is None:
                frame = platform @ frame
        # Cosines of right angles come out as 6e-17; exact zeros make the programs traced from it smaller.
        return Pose(clean_rounding(frame.R), frame.p + 0.0)

    # ---- springs and dampers between bodies: names resolved, points placed with their legs

    def springs(self, description: Description, index: Mapping[str, int]) -> tuple[LineSpring, ...]:
        """Springs between bodies, these by their numbers."""
        springs = []
        for part, name, spec, ends in self._entries_between_bodies("springs", description):
            points = [
                self.frame(part, Pose(np.eye(3), pack(at)), body, JointKind.SPHERICAL).p
                for at, body in zip(spec.at, ends, strict=True)
            ]
            numbers = (spec.stiffness, spec.length, spec.damping)
            bodies = (index[ends[0]], index[ends[1]])
            springs.append(LineSpring(name, bodies, (points[0], points[1]), *map(as_float, numbers)))
        return tuple(springs)

    def dampers(self, description: Description, index: Mapping[str, int]) -> tuple[Damper, ...]:
        """Angular dampers between bodies, these by their numbers."""
        return tuple(
            Damper(name, (index[first], index[second]), as_float(spec.damping))
            for _, name, spec, (first, second) in self._entries_between_bodies("dampers", description)
        )

    def torsion_springs(
        self, description: Description, index: Mapping[str, int]
    ) -> tuple[TorsionSpring, ...]:
        """Torsion springs between bodies, these by their numbers, z of their frames along the axis."""
        springs = []
        for part, name, spec, ends in self._entries_between_bodies("torsion_springs", description):
            R_axis = frame_with_z(pack(spec.axis))
            first, second = (
                self._spring_axes(part, R_axis if rotation is None else rotation.rotation() @ R_axis, body)
                for rotation, body in zip(spec.rotations, ends, strict=True)
            )
            stiffness = tuple(as_float(k) for k in spec.stiffness)
            bodies, rest = (index[ends[0]], index[ends[1]]), as_float(spec.rest)
            springs.append(TorsionSpring(name, bodies, (first, second), stiffness, rest))
        return tuple(springs)

    def _spring_axes(self, part: PartDraft, R: Array, body: str) -> Array:
        """Axes (3, 3) in the frame of their body, placed and mirrored as those of a joint that turns are."""
        return self.frame(part, Pose(R, np.zeros(3)), body, JointKind.REVOLUTE).R

    def _entries_between_bodies(
        self, key: str, description: Description
    ) -> Iterator[tuple[PartDraft, str, Any, tuple[str, str]]]:
        """Entries of the robot, then of its legs, whose bodies there are: part, full name, entry, bodies."""
        for part in (self.graph.platform, *self.graph.legs):
            owner: Any = part.spec or description
            for name, spec in getattr(owner, key).items():
                entry_path: KeyPath = (*(part.path if part.spec else ()), key, name, "between")
                first, second = (
                    self.graph.resolve(part, body, (*entry_path, k)) for k, body in enumerate(spec.between)
                )
                if first is None or second is None:
                    continue
                if first == second:
                    word = key.removesuffix("s").replace("_", " ")
                    self.graph.report(entry_path, f"both ends of the {word} are on one body", "name two")
                yield part, part.full_name(name), spec, (first, second)
