"""The dynamics of an MJCF file by MuJoCo itself, its equalities held exactly, beside an imported robot.

With MuJoCo's mass matrix M, bias c, passive forces p and the rows J of its equalities,

    M u' + c = p + B tau + J^T lambda,      J u' + J' u = 0

MuJoCo's own solver is soft; these equations are solved as they are, by least squares. States go over through
poses and twists of bodies, so that joints may be written otherwise in the two.

`python -m support.mujoco_files FILE STATES` (PYTHONPATH=tests) imports a file and prints the largest errors.
"""

from __future__ import annotations

import sys
from pathlib import Path

import mujoco as mj
import numpy as np

import nacelle
from nacelle.exchange.graph import ExchangeReport
from nacelle.exchange.mjcf.read import compile_mjcf, fixed_terms
from nacelle.kinematics.underactuated import undriven_coordinates
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.verify.states import random_states


class File:
    """A compiled file beside the robot that was imported from it; names of bodies end alike."""

    def __init__(self, model: mj.MjModel, robot: Robot | None) -> None:
        """Find each other's bodies and joints by name."""
        self.model, self.robot, self.data = model, robot, mj.MjData(model)
        self.bodies = [self._body(model.body(b).name) for b in range(model.nbody)]

    def _body(self, name: str) -> int:
        """The robot's body with a name, 0 for the base and what is welded to it."""
        bodies = () if self.robot is None else self.robot.bodies
        return next((k for k, body in enumerate(bodies) if _same_name(body.name, name)), 0)

    def joint(self, number: int) -> tuple[int, int] | None:
        """The robot's joint with the name of one of MuJoCo and the place among its axes; None if none has.

        A hinge that became the second axis of a universal joint follows the hinge before it.
        """
        name = self.model.jnt(number).name
        for k, joint in enumerate(self.robot.tree_joints):
            if _same_name(joint.name, name):
                return k, 0
        same = number and self.model.jnt_bodyid[number] == self.model.jnt_bodyid[number - 1]
        before = self.joint(number - 1) if same else None
        return None if before is None else (before[0], before[1] + 1)


def _same_name(full: str, name: str) -> bool:
    """Whether a full name of a robot, "leg.arm", is what became of a name of a file, "leg_arm" or "arm"."""
    clean = name.replace("_", "-")
    return clean in (full.replace("_", "-"), full.replace(".", "-").replace("_", "-")) or (
        full.rsplit(".", maxsplit=1)[-1].replace("_", "-") == clean
    )


def accelerations(file: File, x: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
    """Coordinates, rates and their derivatives in MuJoCo of states (n,) of the robot."""
    model, robot = file.model, file.robot
    poses = nacelle.inverse_kinematics(robot, x).bodies
    moved, joints = (
        nacelle.kinematics.body_motion(robot, x, v, a),
        nacelle.kinematics.joint_motion(robot, x, v, a),
    )
    qpos, u, u_dot = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
    missing: list[int] = []
    for j in range(model.njnt):
        q, d, kind = int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j]), int(model.jnt_type[j])
        body = int(model.jnt_bodyid[j])
        own = file.bodies[body]
        if kind in (int(mj.mjtJoint.mjJNT_HINGE), int(mj.mjtJoint.mjJNT_SLIDE)):
            own_joint = file.joint(j)
            if own_joint is None:
                missing.append(j)
                continue
            k, axis = own_joint
            qpos[q] = joints.q_tree[robot.q_slices[k].start + axis]
            u[d] = joints.rate[robot.v_slices[k].start + axis]
            u_dot[d] = joints.acceleration[robot.v_slices[k].start + axis]
            continue
        R, w, alpha = poses.R[own], moved.twist[own, 3:], moved.acceleration[own, 3:]
        if kind == int(mj.mjtJoint.mjJNT_FREE):
            qpos[q : q + 3] = poses.p[own]
            u[d : d + 3], u_dot[d : d + 3] = moved.twist[own, :3], moved.acceleration[own, :3]
            mj.mju_mat2Quat(qpos[q + 3 : q + 7], np.ascontiguousarray(R).reshape(9))
            u[d + 3 : d + 6], u_dot[d + 3 : d + 6] = R.T @ w, R.T @ alpha
            continue
        before = file.bodies[int(model.body_parentid[body])]
        W, A = moved.twist[before, 3:], moved.acceleration[before, 3:]
        relative = np.zeros(9)
        mj.mju_quat2Mat(relative, model.body_quat[body])
        turned = relative.reshape(3, 3).T @ poses.R[before].T @ R
        mj.mju_mat2Quat(qpos[q : q + 4], np.ascontiguousarray(turned).reshape(9))
        u[d : d + 3] = R.T @ (w - W)
        u_dot[d : d + 3] = R.T @ (alpha - A + np.cross(w, W))
    return _complete_closure_joints(file, qpos, u, u_dot, missing) if missing else (qpos, u, u_dot)


def _complete_closure_joints(
    file: File, qpos: Array, u: Array, u_dot: Array, missing: list[int]
) -> tuple[Array, Array, Array]:
    """Hinges and slides that are closures of the robot, from MuJoCo's own equalities."""
    model, data = file.model, file.data
    model.opt.jacobian = mj.mjtJacobian.mjJAC_DENSE
    dofs = [int(model.jnt_dofadr[j]) for j in missing]
    q_indices = [int(model.jnt_qposadr[j]) for j in missing]
    for _ in range(20):
        data.qpos[:], data.qvel[:] = qpos, u
        mj.mj_forward(model, data)
        J = data.efc_J.reshape(-1, model.nv)[: data.ne, dofs]
        qpos[q_indices] -= np.linalg.lstsq(J, data.efc_pos[: data.ne], rcond=None)[0]
    J, _ = constraint_rows(file)
    u[dofs] = -np.linalg.lstsq(J[:, dofs], J @ u, rcond=None)[0]
    data.qvel[:] = u
    mj.mj_forward(model, data)
    J, bias = constraint_rows(file)
    u_dot[dofs] = -np.linalg.lstsq(J[:, dofs], J @ u_dot + bias, rcond=None)[0]
    return qpos, u, u_dot


def constraint_rows(file: File) -> tuple[Array, Array]:
    """Rows J of all equalities, and J' u, at the state in the data."""
    model, data = file.model, file.data
    J: list[Array] = []
    bias: list[Array] = []
    for k in range(model.neq):
        one, other = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        if not model.eq_active0[k]:
            continue
        if int(model.eq_type[k]) in (int(mj.mjtEq.mjEQ_JOINT), int(mj.mjtEq.mjEQ_TENDON)):
            row = np.zeros(model.nv)
            for end, factor in ((one, 1.0), (other, -model.eq_data[k, 1])):
                terms = {end: 1.0} if int(model.eq_type[k]) == int(mj.mjtEq.mjEQ_JOINT) else {}
                terms = terms or (fixed_terms(model, end) if end >= 0 else {})
                for joint, coefficient in terms.items() if end >= 0 else ():
                    row[model.jnt_dofadr[joint]] += factor * coefficient
            J.append(row[None])
            bias.append(np.zeros(1))
            continue
        # A weld whose angular residual has no weight holds a point alone.
        weld = int(model.eq_type[k]) == int(mj.mjtEq.mjEQ_WELD)
        is_weld = weld and model.eq_data[k, 10] != 0.0
        ends = (one, model.eq_data[k, :3]), (other, model.eq_data[k, 3:6])
        if weld:
            ends = (one, model.eq_data[k, 3:6]), (other, model.eq_data[k, :3])
        if int(model.eq_objtype[k]) == int(mj.mjtObj.mjOBJ_SITE):
            ends = tuple((int(model.site_bodyid[site]), model.site_pos[site]) for site in (one, other))
        blocks = []
        for body, point in ends:
            anchor = data.xpos[body] + data.xmat[body].reshape(3, 3) @ point
            jac, dot = np.zeros((6, model.nv)), np.zeros((6, model.nv))
            mj.mj_jac(model, data, jac[:3], jac[3:], anchor, body)
            mj.mj_jacDot(model, data, dot[:3], dot[3:], anchor, body)
            count = 6 if is_weld else 3
            blocks.append((jac[:count], dot[:count]))
        J.append(blocks[0][0] - blocks[1][0])
        bias.append((blocks[0][1] - blocks[1][1]) @ data.qvel)
    if not J:
        return np.zeros((0, model.nv)), np.zeros(0)
    return np.concatenate(J), np.concatenate(bias)


def forward(file: File, qpos: Array, u: Array, tau: Array) -> Array:
    """Accelerations (nv,) under forces of all dofs, with the equalities held exactly."""
    model, data = file.model, file.data
    data.qpos[:], data.qvel[:] = qpos, u
    mj.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mj.mj_fullM(model, M, data.qM) if hasattr(data, "qM") else mj.mj_fullM(model, data, M)
    J, bias = constraint_rows(file)
    _, s, Vt = np.linalg.svd(J) if len(J) else (None, np.zeros(0), np.eye(model.nv))
    N = Vt[int(np.sum(s > 1e-9 * np.max(s, initial=1.0))) :].T
    start = -np.linalg.pinv(J, rcond=1e-9) @ bias if len(J) else np.zeros(model.nv)
    force = tau + data.qfrc_passive - data.qfrc_bias
    return start + N @ np.linalg.solve(N.T @ M @ N, N.T @ (force - M @ start))


def errors(file: File, states: int = 100, seed: int = 0) -> dict[str, float]:
    """Largest relative errors of coordinates on the loops, rates, forward and inverse dynamics."""
    robot, model = file.robot, file.model
    drawn = random_states(robot, states, seed)
    free = undriven_coordinates(robot)
    inverse = nacelle.inverse_dynamics(robot, drawn.x, drawn.v, drawn.a, free=free)
    a = drawn.a if inverse.a is None else inverse.a
    pushed = inverse.tau * drawn.push
    ahead = nacelle.forward_dynamics(robot, drawn.x, drawn.v, pushed).a
    worst = {"loops": 0.0, "rates": 0.0, "inverse": 0.0, "forward": 0.0}
    drive_dofs = [
        next(int(model.jnt_dofadr[j]) for j in range(model.njnt) if file.joint(j) == (robot_joint, 0))
        for robot_joint in (robot.tree_joints.index(robot.joints[act.joint]) for act in robot.actuators)
    ]
    # Bodies that are not of the robot move by themselves.
    own = [bool(file.bodies[body]) for body in model.dof_bodyid]
    for k in range(states):
        for what, acceleration, force in (
            ("inverse", a[k], inverse.tau[k]),
            ("forward", ahead[k], pushed[k]),
        ):
            qpos, u, u_dot = accelerations(file, drawn.x[k], drawn.v[k], acceleration)
            tau = np.zeros(model.nv)
            tau[drive_dofs] = force
            theirs = forward(file, qpos, u, tau)
            J, _ = constraint_rows(file)
            error = float(np.max(np.abs(theirs - u_dot)[own]) / np.max(np.abs(theirs[own])))
            worst[what] = max(worst[what], error)
            if len(J):
                worst["rates"] = max(worst["rates"], float(np.max(np.abs(J @ u)) / np.max(np.abs(u))))
                gaps = file.data.efc_pos[: len(J)]
                worst["loops"] = max(worst["loops"], float(np.max(np.abs(gaps))))
    return worst


def import_and_compare(path: Path, states: int) -> tuple[nacelle.io.ImportedRobot, dict[str, float]]:
    """The robot of a file, and its largest errors; contacts and limits are switched off."""
    done = nacelle.import_robot(path)
    model = compile_mjcf(path, ExchangeReport()).model
    model.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_CONTACT) | int(mj.mjtDisableBit.mjDSBL_LIMIT)
    return done, errors(File(model, done.robot), states)


if __name__ == "__main__":
    print(import_and_compare(Path(sys.argv[1]), int(sys.argv[2]))[1])
