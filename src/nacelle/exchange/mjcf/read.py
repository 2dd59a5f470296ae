"""MJCF to a graph of bodies and joints, through the compiled model of `mujoco`.

Frames of bodies, their inertia and the coordinates of joints are those of MuJoCo: a joint that stands at
`ref` in the drawn pose keeps that number, its frame is turned back by it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco as mj
import numpy as np

from nacelle.exchange.graph import Axis, ExchangeReport, Graph, Link, Shape, Solid, broken
from nacelle.exchange.mjcf.compiled import CompiledMjcf, compile_mjcf, quaternion_rotation
from nacelle.exchange.mjcf.drives import axes_by_joint
from nacelle.exchange.mjcf.equalities import Ties, equalities
from nacelle.exchange.names import Names
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

_FREE, _BALL = int(mj.mjtJoint.mjJNT_FREE), int(mj.mjtJoint.mjJNT_BALL)


def read_mjcf(path: Path, keyframe: str | None = None) -> Graph:
    """Read a file as a graph.

    Args:
        path: the file.
        keyframe: name of the keyframe that is the assembly; the first if None, the drawn pose if "".
    """
    return _Reader(compile_mjcf(path, ExchangeReport()), keyframe).graph()


class _Reader:
    def __init__(self, read: CompiledMjcf, keyframe: str | None) -> None:
        self.read, self.model, self.report = read, read.model, read.report
        self.bodies, self.joints = read.bodies, read.joints
        self.qpos = self._assembly(keyframe)
        self.links: list[Link] = []
        self.solids: dict[str, Solid] = {}
        self.loose: dict[str, Pose] = {}

    def _assembly(self, keyframe: str | None) -> Array:
        """Coordinates in which the robot is assembled."""
        names = [self.read.name("KEY", k) for k in range(self.model.nkey)]
        if keyframe:
            if keyframe not in names:
                file = str(self.read.file)
                raise broken(file, f"no keyframe is called {keyframe!r}", f"there are {names}")
            return np.array(self.model.key_qpos[names.index(keyframe)])
        if keyframe is None and names:
            self.report.done(f"assembled as in the keyframe {names[0]!r}")
            return np.array(self.model.key_qpos[0])
        self.report.done("assembled in the drawn pose")
        return np.array(self.model.qpos0)

    def graph(self) -> Graph:
        """The whole file."""
        model = self.model
        axes = axes_by_joint(self.read)
        for body in range(1, model.nbody):
            self._add_body(body, axes)
        read: Ties = equalities(self.read)
        self._note_losses()
        return Graph(
            name=Names().new(_model_name(model), self.read.file.stem),
            file=str(self.read.file),
            gravity=self._gravity(),
            bodies=self.solids,
            joints=tuple(self.links),
            closures=read.closures,
            couplings=read.couplings,
            struts=read.struts,
            loose=self.loose,
            shapes=self._shapes(0),
            report=self.report,
        )

    def _gravity(self) -> Array:
        """The acceleration of gravity, zero where it is switched off."""
        off = int(self.model.opt.disableflags) & int(mj.mjtDisableBit.mjDSBL_GRAVITY)
        return np.zeros(3) if off else np.array(self.model.opt.gravity)

    def _add_body(self, body: int, axes: dict[int, Axis]) -> None:
        model, name = self.model, self.bodies[body]
        R = quaternion_rotation(model.body_iquat[body])
        inertia = R @ np.diag(model.body_inertia[body]) @ R.T
        solid = Solid(
            float(model.body_mass[body]), np.array(model.body_ipos[body]), inertia, self._shapes(body)
        )
        placed = Pose(quaternion_rotation(model.body_quat[body]), np.array(model.body_pos[body]))
        parent = self.bodies[int(model.body_parentid[body])]
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        if count == 1 and int(model.jnt_type[first]) == _FREE:
            at = int(model.jnt_qposadr[first])
            self.solids[name] = solid
            self.loose[name] = Pose(
                quaternion_rotation(self.qpos[at + 3 : at + 7]), self.qpos[at : at + 3].copy()
            )
            return
        if count == 0:
            self.solids[name] = solid
            self.links.append(Link(f"{name}-weld", parent, name, placed))
            return
        for joint in range(first, first + count):
            last = joint == first + count - 1
            child = name if last else self.read.taken.new(f"{name}-{self.joints[joint]}", f"{name}-carrier")
            self.solids[child] = solid if last else Solid()
            self.links.append(self._link(joint, parent, child, placed, axes.get(joint)))
            parent, placed = child, Pose(np.eye(3), np.zeros(3))

    def _link(self, joint: int, parent: str, child: str, placed: Pose, drive: Axis | None) -> Link:
        model, name = self.model, self.joints[joint]
        here = Pose(np.eye(3), np.array(model.jnt_pos[joint]))
        at = placed @ here
        q, v = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        if int(model.jnt_type[joint]) == _BALL:
            w, x, y, z = self.qpos[q : q + 4]
            quat = np.array([x, y, z, w]) / np.linalg.norm([x, y, z, w])
            if model.jnt_stiffness[joint] or model.dof_frictionloss[v] or model.jnt_limited[joint]:
                self.report.lost(f"spring, dry friction or limit of the ball joint {name!r} left out")
            return Link(
                name, parent, child, at, here, (), True, quat,
                float(model.dof_damping[v]), float(model.dof_armature[v]),
            )  # fmt: skip
        assert drive is not None
        ref = float(model.qpos0[q])
        axis = replace(drive, value=float(self.qpos[q]))
        return Link(name, parent, child, at @ axis.pose(-ref), here, (axis,))

    def _shapes(self, body: int) -> tuple[Shape, ...]:
        model = self.model
        shapes = []
        first = int(model.body_geomadr[body])
        for geom in range(first, first + int(model.body_geomnum[body])):
            at = Pose(quaternion_rotation(model.geom_quat[geom]), np.array(model.geom_pos[geom]))
            kind, size = int(model.geom_type[geom]), [float(v) for v in model.geom_size[geom]]
            if kind == int(mj.mjtGeom.mjGEOM_SPHERE):
                shapes.append(Shape("sphere", (size[0],), at))
            elif kind in (int(mj.mjtGeom.mjGEOM_CAPSULE), int(mj.mjtGeom.mjGEOM_CYLINDER)):
                shapes.append(Shape("cylinder", (size[0], 2.0 * size[1]), at))
            elif kind == int(mj.mjtGeom.mjGEOM_BOX):
                shapes.append(Shape("box", (2 * size[0], 2 * size[1], 2 * size[2]), at))
            else:
                word = mj.mjtGeom(kind).name.removeprefix("mjGEOM_").lower()
                self.report.lost(f"shapes of the type {word} left out: they are not drawn")
        return tuple(shapes)

    def _note_losses(self) -> None:
        """What the compiled model has beside the robot's rigid dynamics."""
        model, lost = self.model, self.report.lost
        if any(model.geom_contype[g] or model.geom_conaffinity[g] for g in range(model.ngeom)):
            lost("contacts left out: shapes are drawn, nothing stops them")
        if model.opt.density or model.opt.viscosity or np.any(model.opt.wind):
            lost("forces of the medium (density, viscosity, wind) left out")
        if np.any(model.body_gravcomp):
            lost("compensation of gravity (gravcomp) left out")
        for tendon in range(model.ntendon):
            if np.any(model.tendon_stiffnesspoly[tendon]):
                name = self.read.name("TENDON", tendon) or f"tendon{tendon}"
                higher = _listed(model.tendon_stiffnesspoly[tendon])
                lost(f"higher terms {higher} of the stiffness of the tendon {name!r} left out")
        for joint in range(model.njnt):
            v, name = int(model.jnt_dofadr[joint]), self.joints[joint]
            if np.any(model.jnt_stiffnesspoly[joint]):
                higher = _listed(model.jnt_stiffnesspoly[joint])
                lost(f"higher terms {higher} of the stiffness of the joint {name!r} left out")
            if int(model.jnt_type[joint]) in (_FREE, _BALL) and np.any(model.dof_dampingpoly[v]):
                higher = _listed(model.dof_dampingpoly[v])
                lost(f"higher terms {higher} of the damping of the joint {name!r} left out")
            for what in ("damping", "armature", "frictionloss"):
                if int(model.jnt_type[joint]) == _FREE and np.any(getattr(model, f"dof_{what}")[v : v + 6]):
                    lost(f"{what} of the free joint {self.joints[joint]!r} left out")


def _listed(values: Array) -> str:
    return " ".join(f"{value:g}" for value in values)


def _model_name(model: mj.MjModel) -> str:
    """The name of a model: the first of the compiled names."""
    end = bytes(model.names).index(b"\0")
    return bytes(model.names)[:end].decode("utf-8", "replace")
