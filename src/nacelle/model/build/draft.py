"""Drafts: joints whose bodies are still names, as legs, elements and tables give them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from nacelle.model.description.body import BodySpec
from nacelle.model.description.description import ChainSpec, ElementSpec, LegSpec
from nacelle.model.description.drive import DriveSpec
from nacelle.model.description.joint import SERIES, TWO_AXES, CouplingSpec, EndSpec, JointSpec
from nacelle.model.joint import JointKind
from nacelle.model.source.node import KeyPath
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import frame_from_two_axes, frame_with_z
from nacelle.spatial.scalar import Array, cross, norm, pack


@dataclass(frozen=True)
class JointDraft:
    """A joint as written: bodies by name (parent, child), its frames in both, and where it is."""

    name: str
    kind: JointKind
    bodies: tuple[str, str]
    frames: tuple[Pose, Pose]
    drive: DriveSpec
    path: KeyPath


@dataclass(frozen=True)
class CouplingDraft:
    """A coupling as written: the joint that follows, ratios by joint and offset, still with their units.

    Of a screw the ratio is a number, m/rad; of a constant-velocity joint it is 1.
    """

    name: str
    joint: str
    ratios: Mapping[str, Any]
    offset: Any
    path: KeyPath


@dataclass
class ChainDraft:
    """The bodies and joints of a leg or a platform, in one form whatever way it was written."""

    bodies: dict[str, tuple[BodySpec, KeyPath]] = field(default_factory=dict)
    joints: list[JointDraft] = field(default_factory=list)
    closures: list[JointDraft] = field(default_factory=list)
    couplings: list[CouplingDraft] = field(default_factory=list)


class DraftError(ValueError):
    """An element cannot be placed; `path` and `hint` say where and what would be right."""

    def __init__(self, path: KeyPath, message: str, hint: str) -> None:
        """Keep place and hint with the message."""
        self.path = path
        self.hint = hint
        super().__init__(message)


def joint_axes_rotation(spec: JointSpec | EndSpec) -> Array:
    """Rotation from the frame in which a joint is written to the frame of its kind.

    The axis of a joint becomes z; the two axes of a joint that has two become x and y.
    """
    if spec.type in TWO_AXES:
        first, second = spec.axes or ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
        return frame_from_two_axes(pack(first), pack(second))
    if spec.axis is None:
        return np.eye(3)
    return frame_with_z(pack(spec.axis))


def draft_joint(name: str, spec: JointSpec, path: KeyPath) -> JointDraft:
    """Draft a joint that is written by itself."""
    axes = Pose(joint_axes_rotation(spec), np.zeros(3))
    frames = spec.at.pose() @ axes, spec.child_at.pose() @ axes
    return JointDraft(name, spec.kind(), (spec.parent, spec.child), frames, spec, path)


class SingleJoint(NamedTuple):
    """A revolute or prismatic joint of a series: its name, kind, the axis of the series' frame, its drive."""

    name: str
    kind: JointKind
    axis: Array
    drive: DriveSpec


_X, _Y, _Z = np.eye(3)


def add_joint(chain: ChainDraft, name: str, spec: JointSpec, path: KeyPath, *, closes: bool) -> None:
    """Add a joint to the tree of a chain, or to its closures.

    Some are a series of joints with massless bodies between, the last of which follows the first by a
    coupling. Where a series closes a loop, a fixed joint behind it does.

        screw              Rz(q) Tz(pitch q / 2 pi)      a nut between
        constant-velocity  Rx(a) Ry(2b) Rx(a)            two crosses between
    """
    draft = draft_joint(name, spec, path)
    if spec.type not in SERIES:
        (chain.closures if closes else chain.joints).append(draft)
        return
    if spec.type == "screw":
        assert spec.pitch is not None
        series = [
            SingleJoint(name, JointKind.REVOLUTE, _Z, spec),
            SingleJoint(f"{name}-travel", JointKind.PRISMATIC, _Z, DriveSpec()),
        ]
        between, coupling, ratio = [f"{name}-nut"], f"{name}-pitch", spec.pitch / (2.0 * math.pi)
    else:
        series = [
            SingleJoint(name, JointKind.REVOLUTE, _X, spec.of_axis(0)),
            SingleJoint(f"{name}-second", JointKind.REVOLUTE, _Y, spec.of_axis(1)),
            SingleJoint(f"{name}-third", JointKind.REVOLUTE, _X, DriveSpec()),
        ]
        between, coupling, ratio = [f"{name}-cross1", f"{name}-cross2"], f"{name}-equal", 1.0
    parent, child = draft.bodies
    end, still = f"{name}-end" if closes else child, identity()
    for body in (*between, *([end] if closes else [])):
        _add_body(chain, body, BodySpec(), path)
    bodies, frames = [parent, *between, end], [draft.frames[0], *(still for _ in between)]
    behind = still if closes else draft.frames[1]
    for k, single in enumerate(series):
        axes = Pose(frame_with_z(single.axis), np.zeros(3))
        ends = frames[k] @ axes, (behind if single is series[-1] else still) @ axes
        chain.joints.append(
            JointDraft(single.name, single.kind, (bodies[k], bodies[k + 1]), ends, single.drive, path)
        )
    follows = {name: SiNumber(ratio)}
    chain.couplings.append(CouplingDraft(coupling, series[-1].name, follows, SiNumber(0.0), path))
    if closes:
        end_frames = (still, draft.frames[1])
        chain.closures.append(JointDraft(end, JointKind.FIXED, (end, child), end_frames, DriveSpec(), path))


class SiNumber(float):
    """A number in SI units, where others have units."""


def draft_chain(spec: ChainSpec, path: KeyPath, on_platform: Collection[str] = ()) -> ChainDraft:
    """Draft what is written body by body and joint by joint; `on_platform` are bodies where legs end."""
    chain = ChainDraft({name: (body, (*path, "bodies", name)) for name, body in spec.bodies.items()})
    for name, joint in spec.joints.items():
        closes = joint.child in on_platform and joint.child not in chain.bodies
        add_joint(chain, name, joint, (*path, "joints", name), closes=closes and joint.type in SERIES)
    for name, joint in spec.closures.items():
        add_joint(chain, name, joint, (*path, "closures", name), closes=True)
    chain.couplings += draft_couplings(spec.couplings, (*path, "couplings"))
    return chain


def draft_couplings(specs: Mapping[str, CouplingSpec], path: KeyPath) -> list[CouplingDraft]:
    """Draft couplings that are written by themselves."""
    return [
        CouplingDraft(name, spec.joint, spec.ratios(), spec.offset, (*path, name))
        for name, spec in specs.items()
    ]


def draft_leg(leg: LegSpec, path: KeyPath, on_platform: Collection[str] = ()) -> ChainDraft:
    """Draft a leg: what is written joint by joint, and its elements."""
    chain = draft_chain(leg, path, on_platform)
    if leg.elements:
        _draft_elements(leg, chain, path)
    elif leg.end is not None:
        raise DraftError((*path, "end"), "end belongs to elements", "write the joint under closures")
    return chain


def _draft_elements(leg: LegSpec, chain: ChainDraft, path: KeyPath) -> None:
    """Draft a chain of kinematic elements ([OAM] section 3.1)."""
    parent, start = "base", np.zeros(3)
    for index, element in enumerate(leg.elements):
        at = start if element.at is None else pack(element.at)
        parent, start = _draft_element(element, parent, at, chain, (*path, "elements", index))
    end = leg.end
    if end is not None:
        R = np.eye(3) if end.rotation is None else end.rotation.rotation()
        axes = Pose(joint_axes_rotation(end), np.zeros(3))
        frames = Pose(R, start) @ axes, end.child_at.pose() @ axes
        end_path = (*path, "end")
        chain.closures.append(JointDraft("end", end.kind(), (parent, end.child or ""), frames, end, end_path))


def _draft_element(
    element: ElementSpec, parent: str, at: Array, chain: ChainDraft, path: KeyPath
) -> tuple[str, Array]:
    """Draft one element; give the body of its end point and the end point in it."""
    E, kind, R_joint = _element_frame(element, path)
    align, along_x = Pose(R_joint, np.zeros(3)), Pose(frame_with_z(_X), np.zeros(3))

    def add(
        role: str, kind: JointKind, parent: str, child: str, drive: DriveSpec | None, *frames: Pose
    ) -> None:
        both = (frames[0], frames[1]) if frames else (along_x, along_x)
        name, bodies = f"{element.name}-{role}", (parent, child)
        chain.joints.append(JointDraft(name, kind, bodies, both, drive or DriveSpec(), (*path, role)))

    body, spins = element.name, element.type == "spindle"
    carrier = f"{body}-carrier" if spins else body
    add("input", kind, parent, carrier, element.input, Pose(E, at) @ align, align)
    if spins:
        _add_body(chain, carrier, BodySpec(), path)
        add("spin", JointKind.REVOLUTE, carrier, body, element.spin)
    _add_body(chain, body, element.body, (*path, "body"))
    if element.length is not None:
        return body, element.length * _X
    moving = f"{body}-moving"
    if element.type == "screw":
        # A slide and a spin with a massless body between, so that either may be active.
        between = f"{body}-between"
        _add_body(chain, between, BodySpec(), path)
        add("slide", JointKind.PRISMATIC, body, between, element.slide)
        add("spin", JointKind.REVOLUTE, between, moving, element.spin)
    else:
        add("slide", JointKind.PRISMATIC, body, moving, element.slide)
    _add_body(chain, moving, element.moving or BodySpec(), (*path, "moving"))
    return moving, np.zeros(3)


def _add_body(chain: ChainDraft, name: str, spec: BodySpec, path: KeyPath) -> None:
    if name in chain.bodies:
        raise DraftError(path, f"the leg has a body {name!r} already", "every element has a name of its own")
    chain.bodies[name] = (spec, path)


def _element_frame(element: ElementSpec, path: KeyPath) -> tuple[Array, JointKind, Array]:
    """Frame of an element before its input moves: x along it; and the input joint's alignment."""
    x, axis = np.array(element.direction), np.array(element.input.axis)
    kind = JointKind(element.input.type)
    side = cross(axis, x)
    if kind in (JointKind.REVOLUTE, JointKind.UNIVERSAL):
        if norm(side) < 1e-6:
            raise DraftError(
                (*path, "input", "axis"),
                f"the axis of the input of element {element.name!r} lies along the element",
                "axis and direction must differ",
            )
        if kind is JointKind.REVOLUTE and abs(float(axis @ x)) > 1e-9:
            raise DraftError(
                (*path, "input", "axis"),
                f"the revolute input of element {element.name!r} is not perpendicular to the element",
                "take a direction perpendicular to the axis, or write the leg joint by joint",
            )
        E = frame_from_two_axes(x, side)
    else:
        E = frame_with_z(x)[:, [2, 0, 1]]
    if kind is JointKind.UNIVERSAL:
        return E, kind, frame_from_two_axes(E.T @ axis, np.array([0.0, 1.0, 0.0]))
    return E, kind, np.eye(3)
