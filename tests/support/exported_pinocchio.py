"""An exported URDF file with its closures in Pinocchio."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
from ruamel.yaml import YAML

import nacelle
from nacelle.exchange.write.robot import assembled_graph
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from support.exported_files import Kinematics


def pinocchio_file(robot: Robot, folder: Path) -> PinocchioFile:
    """A robot exported as URDF, and read by Pinocchio."""
    done = nacelle.export_robot(robot, "urdf", out=folder / "robot.urdf", overwrite=True)
    beside = folder / "robot.yaml"
    if ".yaml" not in done.texts:
        beside.write_text("{closed_loop: [], type: [], name_mot: []}")
    # Links have their frames in their joints.
    graph = assembled_graph(robot)
    offsets = {link.child: link.child_at.p for link in graph.joints}
    for closure in graph.closures:
        for body, at in ((closure.child, closure.child_at), (closure.parent, closure.at)):
            offsets[f"{body}-{closure.name}"] = at.p
    return PinocchioFile(folder / "robot.urdf", np.array(robot.gravity), offsets)


class PinocchioFile:
    """The model of a file, its closures as constraints, couplings as rows."""

    def __init__(self, path: Path, gravity: Array, offsets: dict[str, Array]) -> None:
        """Read it and its closures; offsets are those of links in the frames of the robot's bodies."""
        self.model = model = pin.buildModelFromUrdf(str(path))
        model.gravity = pin.Motion(np.array(gravity, dtype=float), np.zeros(3))
        self.data = model.createData()
        self.nv = model.nv
        beside = YAML(typ="safe").load(path.with_suffix(".yaml").read_text())
        loops = zip(beside["closed_loop"], beside["type"], strict=True)
        self.constraints = [self._constraint(*pair, kind) for pair, kind in loops]
        self.frames = [k for k, frame in enumerate(model.frames) if frame.type == pin.FrameType.BODY]
        self.names = [model.frames[k].name for k in self.frames]
        self.offsets = [offsets.get(name, np.zeros(3)) for name in self.names]
        self.drives = {name: self._velocity_index(name) for name in beside["name_mot"]}
        self.armature = np.zeros(model.nv)
        for name, value in beside.get("armature", {}).items():
            self.armature[self._velocity_index(name)] = value
        root = ElementTree.parse(path).getroot()
        mimics = [(joint.get("name"), joint.find("mimic")) for joint in root.findall("joint")]
        self.couplings = [self._row(name, mimic) for name, mimic in mimics if mimic is not None]
        self.start = pin.neutral(model)

    def _velocity_index(self, joint: str) -> int:
        return int(self.model.joints[self.model.getJointId(joint)].idx_v)

    def _row(self, joint: str, mimic: ElementTree.Element) -> Array:
        row = np.zeros(self.nv)
        row[self._velocity_index(joint)] = 1.0
        row[self._velocity_index(mimic.get("joint"))] = -float(mimic.get("multiplier"))
        return row

    def _constraint(self, one: str, other: str, kind: str) -> pin.RigidConstraintModel:
        model = self.model
        a, b = (model.frames[model.getFrameId(name)] for name in (one, other))
        contact = pin.ContactType.CONTACT_3D if kind == "3d" else pin.ContactType.CONTACT_6D
        return pin.RigidConstraintModel(
            contact, model, a.parentJoint, a.placement, b.parentJoint, b.placement, pin.LOCAL
        )

    def moved(self, q: Array, step: Array) -> Array:
        """Coordinates moved by a step of rates."""
        return np.asarray(pin.integrate(self.model, q, step))

    def kinematics(self, q: Array, u: Array) -> Kinematics:
        """Of all links, at the origins of the robot's bodies."""
        model, data, world = self.model, self.data, pin.LOCAL_WORLD_ALIGNED
        pin.forwardKinematics(model, data, q, u, np.zeros(self.nv))
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        poses, J, bias = [], [], []
        for frame, offset in zip(self.frames, self.offsets, strict=True):
            pose = data.oMf[frame]
            arm = -pose.rotation @ offset
            block = pin.getFrameJacobian(model, data, frame, world)
            acceleration = pin.getFrameClassicalAcceleration(model, data, frame, world).vector
            w = pin.getFrameVelocity(model, data, frame, world).angular
            v = block[:3] - np.cross(arm, block[3:], axisa=0, axisb=0, axisc=0)
            linear = acceleration[:3] + np.cross(acceleration[3:], arm) + np.cross(w, np.cross(w, arm))
            poses.append(Pose(np.array(pose.rotation), pose.translation + arm))
            J.append(np.vstack([v, block[3:]]))
            bias.append(np.concatenate([linear, acceleration[3:]]))
        return Kinematics(poses, np.stack(J), np.stack(bias))

    def dynamics(self, q: Array, u: Array) -> tuple[Array, Array, Array]:
        """Mass matrix with rotors, forces at constant rates, rows of closures and couplings."""
        model, data = self.model, self.data
        half = np.array(pin.crba(model, data, q))
        M = np.triu(half) + np.triu(half, 1).T + np.diag(self.armature)
        constant = np.array(pin.nle(model, data, q, u)) + model.damping * u + model.friction * np.sign(u)
        pin.computeJointJacobians(model, data, q)
        rows = [np.zeros((0, self.nv))]
        for constraint in self.constraints:
            held = constraint.createData()
            constraint.calc(model, data, held)
            rows.append(np.array(pin.getConstraintJacobian(model, data, constraint, held)))
        rows += [row[None] for row in self.couplings]
        return M, constant, np.concatenate(rows)
