"""Springs and dampers between bodies: names resolved, points placed with their legs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nacelle.model.build.graph import BodyGraph, DescribedPart
from nacelle.model.build.joints import JointBuilder
from nacelle.model.damper import Damper
from nacelle.model.description.description import Description
from nacelle.model.joint import JointKind
from nacelle.model.line_spring import LineSpring
from nacelle.model.source.node import KeyPath
from nacelle.spatial.pose import Pose
from nacelle.spatial.recorded import plain_or_recorded
from nacelle.spatial.scalar import Array, pack


class BetweenBodies:
    """Reads what acts between two bodies: that of the whole robot, then that of the legs."""

    def __init__(
        self, description: Description, parts: Sequence[DescribedPart], joints: JointBuilder
    ) -> None:
        """`parts`: the nacelle, then the legs."""
        self.description, self.parts, self.joints = description, parts, joints
        self.graph: BodyGraph = joints.graph

    def springs(self, index: Mapping[str, int]) -> tuple[LineSpring, ...]:
        """Springs, bodies by their numbers."""
        made = []
        for part, name, spec, ends in self._written("springs"):
            points = tuple(self._point(part, at, body) for at, body in zip(spec.at, ends, strict=True))
            numbers = (spec.stiffness, spec.length, spec.damping)
            bodies = (index[ends[0]], index[ends[1]])
            made.append(LineSpring(name, bodies, (points[0], points[1]), *map(plain_or_recorded, numbers)))
        return tuple(made)

    def dampers(self, index: Mapping[str, int]) -> tuple[Damper, ...]:
        """Angular dampers, bodies by their numbers."""
        return tuple(
            Damper(name, (index[first], index[second]), plain_or_recorded(spec.damping))
            for _, name, spec, (first, second) in self._written("dampers")
        )

    def _written(self, key: str) -> Iterator[tuple[DescribedPart, str, Any, tuple[str, str]]]:
        """Entries of the robot and its legs whose bodies there are: part, full name, entry, bodies."""
        robot, *legs = self.parts
        owners: list[tuple[DescribedPart, KeyPath, str, Any]] = [(robot, (), "", self.description)]
        owners += [(part, part.path, f"{part.name}.", part.spec) for part in legs if part.spec]
        for part, path, prefix, owner in owners:
            for name, spec in getattr(owner, key).items():
                place: KeyPath = (*path, key, name, "between")
                first, second = (
                    self.graph.resolve(part, body, (*place, k)) for k, body in enumerate(spec.between)
                )
                if first is None or second is None:
                    continue
                if first == second:
                    word = key.removesuffix("s")
                    self.graph.report(place, f"both ends of the {word} are on one body", "name two")
                yield part, f"{prefix}{name}", spec, (first, second)

    def _point(self, part: DescribedPart, at: Sequence[float], body: str) -> Array:
        """A point in the frame of its body, placed as its leg is."""
        return self.joints.frame(part, Pose(np.eye(3), pack(at)), body, JointKind.SPHERICAL).p
