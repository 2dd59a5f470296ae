"""The closure file next to a URDF, as Gepetto's example-parallel-robots writes it, YAML.

closed_loop: [[frame, frame], ...]     frames of the URDF: names of joints (the child's frame) or links
type: ["6d", "3d", ...]                frames are welded, or their origins coincide
name_mot: [joint, ...]                 joints that are driven
joint_name: [joint, ...]               joints of the URDF that have another type:
joint_type: [SPHERICAL, ...]           SPHERICAL, FIXED, or UJOINT_ and two axes in order: UJOINT_ZY

and, as `export_robot` writes it in addition to these,

assembly: {joint: value, ...}          coordinates near which the loops close, rad and m
armature: {joint: value, ...}          inertia of rotors for Pinocchio; the URDF has it in its transmissions
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path

import numpy as np

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import Link, UniqueNames
from nacelle.files import unread_reason
from nacelle.model.source.node import Node, file_error
from nacelle.model.source.yaml import read_yaml
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

_KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")
_ASSEMBLY, _ROTORS = "assembly", "armature"
_TYPES = {"SPHERICAL": "spherical", "FIXED": "fixed", "CARDAN": "universal_xy"} | {
    f"UJOINT_{first}{second}".upper(): f"universal_{first}{second}"
    for first, second in permutations("xyz", 2)
}


@dataclass(frozen=True, eq=False)
class ClosureFile:
    """What a closure file says.

    Attributes:
        file: its name.
        loops: pairs of frames with their places, and whether they are welded; None if the file does not say.
        motors: joints that are driven, with their places; None if the file does not say.
        kinds: types of joints that differ from those of the URDF.
        nodes: where each of these joints is named.
        assembly: coordinates of joints near which the loops close, where they are written.
    """

    file: str = ""
    loops: tuple[tuple[Node, Node, bool], ...] | None = None
    motors: tuple[Node, ...] | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    assembly: Mapping[str, Node] = field(default_factory=dict)

    def values(self, joints: Mapping[str, Link]) -> dict[str, Array]:
        """Coordinates of the assembly by the names of joints of the graph, given by those of the file.

        Raises:
            DescriptionError: at what is no number, or of no hinge or slide.
        """
        values = {}
        for name, node in self.assembly.items():
            if name not in joints or len(joints[name].axes) != 1:
                raise self.fault(node, f"the URDF has no hinge or slide {name!r}")
            if not isinstance(node.value, int | float):
                raise self.fault(node, f"the coordinate of {name!r} must be a number")
            values[joints[name].name] = np.array([float(node.value)])
        return values

    def require_joints(self, joints: Collection[str]) -> None:
        """Check that joints whose types are given are there.

        Raises:
            DescriptionError: at a name that is not among them.
        """
        for name, node in self.nodes.items():
            if name not in joints:
                raise self.fault(node, f"the URDF has no joint {name!r}")

    def fault(self, node: Node, message: str, hint: str = "") -> DescriptionError:
        """An error at a place of the file."""
        return file_error(self.file, message, hint, node.mark.line, node.mark.column)

    def closures(self, frames: Mapping[str, tuple[str, Pose]], names: UniqueNames) -> list[Link]:
        """The closures between frames, each a body and a pose on it.

        Raises:
            DescriptionError: at a name that is no frame.
        """
        closures = []
        for first, second, welded in self.loops or ():
            for node in (first, second):
                if node.value not in frames:
                    raise self.fault(node, f"the URDF has no joint or link {node.value!r}")
            (parent, at), (child, child_at) = frames[str(first.value)], frames[str(second.value)]
            if parent == child:
                raise self.fault(first, f"both ends of the loop are on {parent!r}")
            name = names.new(f"{first.value}-{second.value}", "loop")
            closures.append(Link(name, parent, child, at, child_at, spherical=not welded))
        return closures


NO_CLOSURE_FILE = ClosureFile()


def read_closure_file(path: Path) -> ClosureFile:
    """Read a closure file.

    Raises:
        DescriptionError: with the place of what is wrong.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise file_error(str(path), *unread_reason(path, error, "closure file, YAML")) from None
    root = read_yaml(data, str(path)).root
    side = ClosureFile(str(path))
    if not isinstance(root.value, dict):
        raise side.fault(root, "a closure file is a mapping", f"with the keys {', '.join(_KEYS)}")
    for key in root.value:
        if key not in (*_KEYS, _ASSEMBLY, _ROTORS):
            here = Node(key, root.keys[key])
            raise side.fault(here, f"a closure file has no {key!r}", f"keys are {', '.join(_KEYS)}")
    entries = {key: _list_entries(side, root.value[key], key) for key in _KEYS if key in root.value}
    loops = _read_loops(side, root, entries) if "closed_loop" in entries else None
    joints, types = entries.get("joint_name", []), entries.get("joint_type", [])
    if len(joints) != len(types):
        raise side.fault(root, f"'joint_name' has {len(joints)} entries and 'joint_type' {len(types)}")
    for node in types:
        if node.value not in _TYPES:
            raise side.fault(node, f"{node.value!r} is no type of a joint", f"types are {', '.join(_TYPES)}")
    kinds = {str(joint.value): _TYPES[str(kind.value)] for joint, kind in zip(joints, types, strict=True)}
    nodes = {str(joint.value): joint for joint in joints}
    motors = tuple(entries["name_mot"]) if "name_mot" in entries else None
    assembly = root.value.get(_ASSEMBLY, Node({}))
    if not isinstance(assembly.value, dict):
        raise side.fault(assembly, f"{_ASSEMBLY!r} gives joints their coordinates", "joint: value")
    return ClosureFile(str(path), loops, motors, kinds, nodes, assembly.value)


def _list_entries(side: ClosureFile, node: Node, key: str) -> list[Node]:
    if node.value is None:
        return []
    if not isinstance(node.value, list):
        raise side.fault(node, f"{key!r} must be a list")
    if key != "closed_loop":
        for entry in node.value:
            if not isinstance(entry.value, str):
                raise side.fault(entry, f"entries of {key!r} are names")
    return node.value


def _read_loops(
    side: ClosureFile, root: Node, entries: dict[str, list[Node]]
) -> tuple[tuple[Node, Node, bool], ...]:
    pairs = entries.get("closed_loop", [])
    # Without types all are welds, as in the loader of these files.
    types = entries.get("type", [Node("6d")] * len(pairs))
    if len(types) != len(pairs):
        raise side.fault(root, f"'closed_loop' has {len(pairs)} entries and 'type' {len(types)}")
    loops = []
    for pair, kind in zip(pairs, types, strict=True):
        ends = pair.value
        if not isinstance(ends, list) or len(ends) != 2 or not all(isinstance(e.value, str) for e in ends):
            raise side.fault(pair, "a loop is a pair of names of frames")
        word = str(kind.value).lower()
        if word not in ("3d", "6d"):
            raise side.fault(kind, f"{kind.value!r} is no type of a loop", "types are 3d and 6d")
        loops.append((ends[0], ends[1], word == "6d"))
    return tuple(loops)
