"""Drafts: joints whose bodies are still names, as legs, elements and tables give them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nacelle.model.description.description import (
    BodySpec,
    DriveSpec,
    ElementSpec,
    EndSpec,
    JointSpec,
    LegSpec,
)
from nacelle.model.joint import JointKind
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import frame_from_two_axes, frame_with_z
from nacelle.spatial.scalar import Array, cross, norm, pack

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Draft:
    """A joint as written: bodies by name, frames of the joint in both, and where it stands."""

    name: str
    kind: JointKind
    parent: str
    child: str
    frame_parent: Pose
    frame_child: Pose
    drive: DriveSpec
    path: Path


@dataclass
class Chain:
    """The bodies and joints of a leg or a nacelle, in one form whatever way it was written."""

    bodies: dict[str, tuple[BodySpec, Path]] = field(default_factory=dict)
    joints: list[Draft] = field(default_factory=list)
    closures: list[Draft] = field(default_factory=list)
    grammar: str = ""


class DraftError(ValueError):
    """An element cannot be placed; `path` and `hint` say where and what would be right."""

    def __init__(self, path: Path, message: str, hint: str) -> None:
        """Keep place and hint beside the message."""
        self.path = path
        self.hint = hint
        super().__init__(message)


def alignment(spec: JointSpec | EndSpec) -> Array:
    """Rotation from the frame in which a joint is written to the frame of its kind.

    The axis of a joint becomes z; the two axes of a universal joint become x and y.
    """
    if spec.type == "universal":
        first, second = spec.axes or ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
        return frame_from_two_axes(pack(first), pack(second))
    if spec.axis is None:
        return np.eye(3)
    return frame_with_z(pack(spec.axis))


def draft_joint(name: str, spec: JointSpec, path: Path) -> Draft:
    """Draft a joint that is written by itself."""
    turn = Pose(alignment(spec), np.zeros(3))
    return Draft(
        name,
        spec.kind(),
        spec.parent,
        spec.child,
        spec.at.pose() @ turn,
        spec.child_at.pose() @ turn,
        spec,
        path,
    )


def draft_leg(leg: LegSpec, path: Path) -> Chain:
    """Draft a leg: what is written joint by joint, and its elements."""
    chain = Chain()
    for name, body in leg.bodies.items():
        chain.bodies[name] = (body, (*path, "bodies", name))
    for name, joint in leg.joints.items():
        chain.joints.append(draft_joint(name, joint, (*path, "joints", name)))
    for name, joint in leg.closures.items():
        chain.closures.append(draft_joint(name, joint, (*path, "closures", name)))
    if leg.elements:
        _draft_elements(leg, chain, path)
    elif leg.end is not None:
        raise DraftError((*path, "end"), "end belongs to elements", "write the joint under closures")
    return chain


_LETTERS = {"bar": "B", "spindle": "Sp", "telescopic": "T", "screw": "S"}
_X = np.array([1.0, 0.0, 0.0])


def _draft_elements(leg: LegSpec, chain: Chain, path: Path) -> None:
    """Draft a chain of kinematic elements ([OAM] section 3.1)."""
    parent, start = "base", np.zeros(3)
    for index, element in enumerate(leg.elements):
        place = (*path, "elements", index)
        at = start if element.at is None else pack(element.at)
        parent, start = _draft_element(element, parent, at, chain, place)
        chain.grammar += _LETTERS[element.type]
    if leg.end is not None:
        end = leg.end
        R = np.eye(3) if end.rotation is None else end.rotation.rotation()
        turn = Pose(alignment(end), np.zeros(3))
        chain.closures.append(
            Draft(
                "end",
                end.kind(),
                parent,
                end.child or "",
                Pose(R, start) @ turn,
                end.child_at.pose() @ turn,
                end,
                (*path, "end"),
            )
        )


def _draft_element(
    element: ElementSpec, parent: str, at: Array, chain: Chain, path: Path
) -> tuple[str, Array]:
    """Draft one element; give the body of its end point and the end point in it."""
    E, kind, turn = _element_frame(element, path)
    body, spin = element.name, element.type == "spindle"
    carrier = f"{element.name}-carrier" if spin else body
    align = Pose(turn, np.zeros(3))
    chain.joints.append(
        Draft(
            f"{element.name}-input",
            kind,
            parent,
            carrier,
            Pose(E, at) @ align,
            align,
            element.input,
            (*path, "input"),
        )
    )
    along_x = Pose(frame_with_z(_X), np.zeros(3))
    if spin:
        _add_body(chain, carrier, BodySpec(), path)
        drive = element.spin or DriveSpec()
        chain.joints.append(
            Draft(
                f"{body}-spin",
                JointKind.REVOLUTE,
                carrier,
                body,
                along_x,
                along_x,
                drive,
                (*path, "spin"),
            )
        )
    _add_body(chain, body, element.body, (*path, "body"))
    if element.length is not None:
        return body, element.length * _X
    moving = f"{body}-moving"
    drive = element.slide or DriveSpec()
    if element.type == "screw":
        # A slide and a spin with a massless body between, so that either may be active.
        between = f"{body}-between"
        _add_body(chain, between, BodySpec(), path)
        chain.joints.append(
            Draft(
                f"{body}-slide",
                JointKind.PRISMATIC,
                body,
                between,
                along_x,
                along_x,
                drive,
                (*path, "slide"),
            )
        )
        body, drive = between, element.spin or DriveSpec()
    _add_body(chain, moving, element.moving or BodySpec(), (*path, "moving"))
    chain.joints.append(
        Draft(
            f"{element.name}-spin" if element.type == "screw" else f"{element.name}-slide",
            JointKind.REVOLUTE if element.type == "screw" else JointKind.PRISMATIC,
            body,
            moving,
            along_x,
            along_x,
            drive,
            (*path, "spin" if element.type == "screw" else "slide"),
        )
    )
    return moving, np.zeros(3)


def _add_body(chain: Chain, name: str, spec: BodySpec, path: Path) -> None:
    if name in chain.bodies:
        raise DraftError(path, f"the leg has a body {name!r} already", "every element has a name of its own")
    chain.bodies[name] = (spec, path)


def _element_frame(element: ElementSpec, path: Path) -> tuple[Array, JointKind, Array]:
    """Frame of an element before its input moves: x along it; and the input joint's alignment."""
    x, axis = np.array(element.direction), np.array(element.input.axis)
    kind = JointKind(element.input.type)
    side = cross(axis, x)
    if kind in (JointKind.REVOLUTE, JointKind.UNIVERSAL):
        if norm(side) < 1e-6:
            raise DraftError(
                (*path, "input", "axis"),
                f"the axis of the input of element {element.name!r} lies along the element",
                "it must stand across: axis and direction differ",
            )
        if kind is JointKind.REVOLUTE and abs(float(axis @ x)) > 1e-9:
            raise DraftError(
                (*path, "input", "axis"),
                f"the revolute input of element {element.name!r} is not square to the element",
                "take a direction square to the axis, or write the leg joint by joint",
            )
        E = frame_from_two_axes(x, side)
    else:
        E = frame_with_z(x)[:, [2, 0, 1]]
    if kind is JointKind.REVOLUTE:
        return E, kind, np.eye(3)
    if kind is JointKind.UNIVERSAL:
        return E, kind, frame_from_two_axes(E.T @ axis, np.array([0.0, 1.0, 0.0]))
    return E, kind, np.eye(3)
