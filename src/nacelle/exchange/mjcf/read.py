"""MJCF to a graph of bodies and joints, through the compiled model of `mujoco`.

Frames of bodies, their inertia and the coordinates of joints are those of MuJoCo: a joint that stands at
`ref` in the drawn pose keeps that number, its frame is turned back by it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import mujoco as mj
import numpy as np

from nacelle.exchange.graph import BASE, Axis, Graph, Link, Report, Shape, Solid, broken
from nacelle.exchange.mjcf.drives import motors
from nacelle.exchange.mjcf.equalities import Ties, ties
from nacelle.exchange.mjcf.strip import stripped
from nacelle.exchange.names import Names
from nacelle.exchange.xml import read_xml, text_of, with_includes
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

_FREE, _BALL = int(mj.mjtJoint.mjJNT_FREE), int(mj.mjtJoint.mjJNT_BALL)


def compiled(path: Path, report: Report) -> mj.MjModel:
    """The model of a file, without what is only seen.

    Raises:
        DescriptionError: with the place of what is wrong.
    """
    root = stripped(with_includes(read_xml(path), path.parent), report)
    try:
        return mj.MjModel.from_xml_string(text_of(root))
    except ValueError as error:
        words = " ".join(str(error).split())
        line = re.search(r"line (\d+)", words)
        message = re.sub(r"^(XML )?Error: ", "", words)
        raise broken(
            str(path), f"MuJoCo cannot read it: {message}", "", int(line[1]) if line else 0
        ) from None


def read_mjcf(path: Path, keyframe: str | None = None) -> Graph:
    """Read a file as a graph.

    Args:
        path: the file.
        keyframe: name of the keyframe that is the assembly; the first if None, the drawn pose if "".
    """
    report = Report()
    model = compiled(path, report)
    return _Reader(model, path, report, keyframe).graph()


class _Reader:
    def __init__(self, model: mj.MjModel, path: Path, report: Report, keyframe: str | None) -> None:
        self.model, self.path, self.report = model, path, report
        self.names = Names()
        self.bodies = [BASE] + [
            self.names.new(self._name("BODY", b), f"body{b}") for b in range(1, model.nbody)
        ]
        joint_names = Names()
        self.joints = [joint_names.new(self._name("JOINT", j), f"joint{j}") for j in range(model.njnt)]
        self.qpos = self._assembly(keyframe)
        self.links: list[Link] = []
        self.solids: dict[str, Solid] = {}
        self.floating: int | None = None

    def _name(self, kind: str, number: int) -> str:
        return mj.mj_id2name(self.model, getattr(mj.mjtObj, f"mjOBJ_{kind}"), number) or ""

    def _assembly(self, keyframe: str | None) -> Array:
        """Coordinates in which the robot is assembled."""
        names = [self._name("KEY", k) for k in range(self.model.nkey)]
        if keyframe:
            if keyframe not in names:
                raise broken(str(self.path), f"no keyframe is called {keyframe!r}", f"there are {names}")
            return np.array(self.model.key_qpos[names.index(keyframe)])
        if keyframe is None and names:
            self.report.done(f"assembled as in the keyframe {names[0]!r}")
            return np.array(self.model.key_qpos[0])
        self.report.done("assembled in the drawn pose")
        return np.array(self.model.qpos0)

    def graph(self) -> Graph:
        """The whole file."""
        model, report = self.model, self.report
        self.floating = self._chosen_floating()
        kept = self._kept()
        drives = motors(model, self.joints, report)
        for body in range(1, model.nbody):
            if body in kept:
                self._add_body(body, drives)
        found: Ties = ties(model, self.bodies, self.joints, kept, report)
        self._note_losses(kept)
        shapes = self._shapes(0)
        pose = Pose(np.eye(3), np.zeros(3))
        if self.floating is not None:
            at = int(model.jnt_qposadr[model.body_jntadr[self.floating]])
            pose = Pose(_rotation(self.qpos[at + 3 : at + 7]), self.qpos[at : at + 3].copy())
        return Graph(
            name=Names().new(_model_name(model), self.path.stem),
            file=str(self.path),
            gravity=self._gravity(),
            bodies=self.solids,
            joints=tuple(self.links),
            closures=found.closures,
            couplings=found.couplings,
            struts=found.struts,
            floating=None if self.floating is None else self.bodies[self.floating],
            pose=pose,
            shapes=shapes,
            report=report,
        )

    def _gravity(self) -> Array:
        """The acceleration of gravity, zero where it is switched off."""
        off = int(self.model.opt.disableflags) & int(mj.mjtDisableBit.mjDSBL_GRAVITY)
        return np.zeros(3) if off else np.array(self.model.opt.gravity)

    def _chosen_floating(self) -> int | None:
        """The floating body with the most below it; other floating bodies are objects."""
        model = self.model
        free = [int(model.jnt_bodyid[j]) for j in range(model.njnt) if int(model.jnt_type[j]) == _FREE]
        if not free:
            return None
        sizes = {body: int(np.sum(np.array(model.body_rootid) == body)) for body in free}
        chosen = max(free, key=lambda body: sizes[body])
        fixed = [
            b for b in range(1, model.nbody) if model.body_dofnum[b] and model.body_rootid[b] not in free
        ]
        if fixed and sizes[chosen] == 1:
            chosen = -1
        for body in free:
            if body != chosen:
                self.report.lost(f"the free body {self.bodies[body]!r} left out: it is not part of the robot")
        return None if chosen < 0 else chosen

    def _kept(self) -> set[int]:
        """The bodies of the robot: all but free ones that are not its trunk."""
        model = self.model
        kept = set()
        for body in range(1, model.nbody):
            root = int(model.body_rootid[body])
            joint = int(model.body_jntadr[root])
            is_free = joint >= 0 and int(model.jnt_type[joint]) == _FREE
            if not is_free or root == self.floating:
                kept.add(body)
        return kept

    def _add_body(self, body: int, drives: dict[int, Axis]) -> None:
        model, name = self.model, self.bodies[body]
        R = _rotation(model.body_iquat[body])
        inertia = R @ np.diag(model.body_inertia[body]) @ R.T
        solid = Solid(
            float(model.body_mass[body]), np.array(model.body_ipos[body]), inertia, self._shapes(body)
        )
        placed = Pose(_rotation(model.body_quat[body]), np.array(model.body_pos[body]))
        parent = self.bodies[int(model.body_parentid[body])]
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        if body == self.floating:
            self.solids[name] = solid
            return
        if count == 0:
            self.solids[name] = solid
            self.links.append(Link(f"{name}-weld", parent, name, placed))
            return
        for joint in range(first, first + count):
            last = joint == first + count - 1
            child = name if last else self.names.new(f"{name}-{self.joints[joint]}", f"{name}-carrier")
            self.solids[child] = solid if last else Solid()
            self.links.append(self._link(joint, parent, child, placed, drives.get(joint)))
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
            at = Pose(_rotation(model.geom_quat[geom]), np.array(model.geom_pos[geom]))
            kind, size = int(model.geom_type[geom]), [float(v) for v in model.geom_size[geom]]
            if kind == int(mj.mjtGeom.mjGEOM_SPHERE):
                shapes.append(Shape("sphere", (size[0],), at))
            elif kind in (int(mj.mjtGeom.mjGEOM_CAPSULE), int(mj.mjtGeom.mjGEOM_CYLINDER)):
                shapes.append(Shape("cylinder", (size[0], 2.0 * size[1]), at))
            elif kind == int(mj.mjtGeom.mjGEOM_BOX):
                shapes.append(Shape("box", (2 * size[0], 2 * size[1], 2 * size[2]), at))
        return tuple(shapes)

    def _note_losses(self, kept: set[int]) -> None:
        """What the compiled model has beside the robot's rigid dynamics."""
        model, lost = self.model, self.report.lost
        if any(model.geom_contype[g] or model.geom_conaffinity[g] for g in range(model.ngeom)):
            lost("contacts left out: shapes are drawn, nothing stops them")
        if model.opt.density or model.opt.viscosity or np.any(model.opt.wind):
            lost("forces of the medium (density, viscosity, wind) left out")
        if any(model.body_gravcomp[body] for body in kept):
            lost("compensation of gravity (gravcomp) left out")
        if np.any(model.dof_dampingpoly) or np.any(model.jnt_stiffnesspoly):
            lost("higher terms of damping and stiffness left out")
        if self.floating is not None:
            v = int(model.body_dofadr[self.floating])
            for what in ("damping", "armature", "frictionloss"):
                if np.any(getattr(model, f"dof_{what}")[v : v + 6]):
                    lost(f"{what} of the free joint left out")


def _rotation(quat_wxyz: Array) -> Array:
    R = np.zeros(9)
    mj.mju_quat2Mat(R, np.asarray(quat_wxyz, dtype=float) / np.linalg.norm(quat_wxyz))
    return R.reshape(3, 3)


def _model_name(model: mj.MjModel) -> str:
    """The name of a model: the first of the compiled names."""
    end = bytes(model.names).index(b"\0")
    return bytes(model.names)[:end].decode("utf-8", "replace")
