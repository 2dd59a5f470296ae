"""The motion of a frictionless robot in Pinocchio alone: tree, loops and accelerations are its own.

The state is Pinocchio's, [q; v] of the tree. The loops are closed where functions phi(q) vanish: the gap
between the two ends of a closure and, for a revolute, z of its second frame along x and y of its first. With
their Jacobian J and its bias from Pinocchio's frames, and N the null space of J,

    J a = -bias - 2 k J v - k^2 phi,    N^T (M a + h - tau) = 0

The terms in k vanish where the loops are closed; elsewhere they call the tree back, so that nothing biases
away. Closures may be redundant, and bodies may lack inertia where the loops hold them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp

from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.joint import Joint, JointKind
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.verify.engine import TreeState
from nacelle.verify.engines import pinocchio
from nacelle.verify.loops import independent_rates
from support.pinocchio_tree import se3

Array = np.ndarray

STABILISATION = 20.0
_WORLD = pin.LOCAL_WORLD_ALIGNED


@dataclass(frozen=True)
class Loops:
    """The loops at a state: phi, its Jacobian, and its second derivative where v is constant."""

    gap: Array
    J: Array
    bias: Array


class PinocchioMotion:
    """A robot with its loops in Pinocchio, on the springs of its actuators."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.engine = pinocchio.build(robot)
        self.model = self.engine.with_rotors
        self.ends = [(joint, *self._ends(number, joint)) for number, joint in enumerate(robot.closures)]
        self.data = self.model.createData()
        places, joints = self.engine.indices, [actuator.joint for actuator in robot.actuators]
        self.spring_q = places.q[[robot.q_slices[j].start for j in joints]]
        self.spring_v = places.u[[robot.v_slices[j].start for j in joints]]
        springs = [robot.joints[j].springs[0] for j in joints]
        self.stiffness = np.array([spring.stiffness for spring in springs])
        self.rest = np.array([spring.rest for spring in springs])

    def _ends(self, number: int, joint: Joint) -> list[int]:
        """Frames in Pinocchio of the two ends of a closure."""
        made = []
        for body, frame in (
            (joint.predecessor, joint.frame_predecessor),
            (joint.successor, joint.frame_successor),
        ):
            own = self.model.frames[self.engine.frames[body]]
            name, placement = f"end {number} of body {body}", own.placement * se3(frame)
            made.append(self.model.addFrame(pin.Frame(name, own.parentJoint, 0, placement, pin.OP_FRAME)))
        return made

    def start(self, x: Array, twist: Array) -> tuple[Array, Array]:
        """Configuration and velocity of the tree at a pose and a twist of the robot.

        Of the motions that have this twist it is the one with the least kinetic energy: rods do not spin.
        """
        robot = self.robot
        found = inverse_kinematics(robot, x, limits=False)
        platform = Pose(found.bodies.R[1], found.bodies.p[1])
        nothing = np.zeros(0)
        state = TreeState(platform, found.q_tree, nothing, nothing, nothing)
        q = self.engine.configuration(state)
        J = self.loops(q, np.zeros(self.model.nv)).J
        K = np.vstack([J, self.engine.axes(state).T[independent_rates(robot)]])
        v = np.linalg.lstsq(K, np.concatenate([np.zeros(len(J)), twist]), rcond=1e-9)[0]
        N, M = null_space(K), self.mass_matrix(q)
        return q, v - N @ np.linalg.solve(N.T @ M @ N, N.T @ M @ v)

    def mass_matrix(self, q: Array) -> Array:
        half = pin.crba(self.model, self.data, q)
        return np.triu(half) + np.triu(half, 1).T

    def loops(self, q: Array, v: Array) -> Loops:
        """What the closures say."""
        model, data = self.model, self.data
        pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        gaps, rows, biases = [], [], []
        for joint, *ends in self.ends:
            one, two = (data.oMf[frame] for frame in ends)
            J_one, J_two = (pin.getFrameJacobian(model, data, frame, _WORLD) for frame in ends)
            V_one, V_two = (pin.getFrameVelocity(model, data, frame, _WORLD) for frame in ends)
            A_one, A_two = (pin.getFrameClassicalAcceleration(model, data, frame, _WORLD) for frame in ends)
            gaps.append(two.translation - one.translation)
            rows.append(J_two[:3] - J_one[:3])
            biases.append(A_two.linear - A_one.linear)
            if joint.kind is JointKind.REVOLUTE:
                z, z_rate = two.rotation[:, 2], np.cross(V_two.angular, two.rotation[:, 2])
                for axis in (one.rotation[:, 0], one.rotation[:, 1]):
                    # d/dt (axis . z) = (axis x z) . (w_one - w_two)
                    lever = np.cross(axis, z)
                    lever_rate = np.cross(np.cross(V_one.angular, axis), z) + np.cross(axis, z_rate)
                    gaps.append(np.array([axis @ z]))
                    rows.append((lever @ (J_one[3:] - J_two[3:]))[None])
                    bias = lever @ (A_one.angular - A_two.angular)
                    biases.append(np.array([bias + lever_rate @ (V_one.angular - V_two.angular)]))
            elif joint.kind is not JointKind.SPHERICAL:
                raise NotImplementedError(f"no robot of these tests closes a loop with a {joint.kind} joint")
        return Loops(np.concatenate(gaps), np.concatenate(rows), np.concatenate(biases))

    def accelerations(self, q: Array, v: Array) -> Array:
        """Accelerations under gravity and the actuators' springs."""
        now = self.loops(q, v)
        M = self.mass_matrix(q)
        h = np.array(pin.nonLinearEffects(self.model, self.data, q, v))
        h[self.spring_v] += self.stiffness * (q[self.spring_q] - self.rest)
        asked = -now.bias - 2.0 * STABILISATION * (now.J @ v) - STABILISATION**2 * now.gap
        U, s, Vt = np.linalg.svd(now.J)
        rank = int(np.sum(s > 1e-8 * s[0]))
        a = Vt[:rank].T @ ((U[:, :rank].T @ asked) / s[:rank])
        N = Vt[rank:].T
        return a - N @ np.linalg.solve(N.T @ M @ N, N.T @ (M @ a + h))

    def rate(self, q: Array, v: Array) -> Array:
        """Derivative of the configuration."""
        rate = np.empty(self.model.nq)
        for joint in self.model.joints[1:]:
            own, w = q[joint.idx_q : joint.idx_q + joint.nq], v[joint.idx_v : joint.idx_v + joint.nv]
            if joint.nq == joint.nv:
                moved = w
            else:
                quat = pin.Quaternion(own[-4:])
                turned = 0.5 * (quat * pin.Quaternion(np.append(w[-3:], 0.0))).coeffs()
                moved = (
                    np.concatenate([quat.toRotationMatrix() @ w[:-3], turned]) if joint.nv == 6 else turned
                )
            rate[joint.idx_q : joint.idx_q + joint.nq] = moved
        return rate

    def move(self, x: Array, twist: Array, t: Array) -> tuple[Array, Array]:
        """Configurations (N, nq) and velocities (N, nv) at times t, by DOP853."""
        q, v = self.start(x, twist)
        nq = self.model.nq

        def f(_: float, s: Array) -> Array:
            q, v = pin.normalize(self.model, s[:nq]), s[nq:]
            return np.concatenate([self.rate(q, v), self.accelerations(q, v)])

        found = solve_ivp(
            f, (t[0], t[-1]), np.concatenate([q, v]), method="DOP853", t_eval=t, rtol=1e-12, atol=1e-14
        )
        assert found.success, found.message
        q = np.array([pin.normalize(self.model, s) for s in found.y[:nq].T])
        return q, found.y[nq:].T


def null_space(K: Array) -> Array:
    _, s, Vt = np.linalg.svd(K)
    return Vt[int(np.sum(s > 1e-8 * s[0])) :].T
