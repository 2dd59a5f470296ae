"""A closed-loop robot of the ruler and its equations of motion, in double or at 50 digits.

It reads the description that `describe.py` writes and shares no code with nacelle. Coordinates q are those of
the joints of a tree, an angle or a stroke each; joint j carries body j. With the Jacobians J_b of all bodies

    M(q) q'' + h(q, q') = f(q, q') + S tau + A^T l,        A q'' + g(q, q') = 0

    M   sum of m Jv^T Jv + Jw^T I Jw, and the inertias of rotors on the diagonal
    h   sum of m Jv^T (a0 - gravity) + Jw^T (I w0' + w x I w), a0 and w0' accelerations of bodies at q'' = 0
    f   springs -k (q - rest) and friction
    S   the driven joints
    A   rows of the loops: frames whose origins coincide (3 rows), or that coincide entirely (6)

Rows of A that depend on others to 1e-9, as overconstrained loops have them, are left out: numbers are
doubles, and such loops close to 16 digits only. Equal numbers give equal choices in double and at 50 digits.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import mpmath
import numpy as np

DEPENDENT = 1e-9
# Working digits: results hold 50, numerical derivatives lose the others.
WORKING_DIGITS = 100
mpmath.mp.dps = WORKING_DIGITS


class Doubles:
    """Arithmetic in double precision."""

    sin, cos, tanh, sqrt = math.sin, math.cos, math.tanh, math.sqrt
    tolerance = 1e-15

    @staticmethod
    def array(values):
        return np.array(values, dtype=float)

    @staticmethod
    def solve(A, b):
        return np.linalg.solve(A, b)


class Digits:
    """Arithmetic with mpmath, at `WORKING_DIGITS`."""

    sin, cos, tanh, sqrt = mpmath.sin, mpmath.cos, mpmath.tanh, mpmath.sqrt
    tolerance = mpmath.mpf(10) ** (10 - WORKING_DIGITS)

    @staticmethod
    def array(values):
        values = np.array(values, dtype=object)
        flat = [value if isinstance(value, mpmath.mpf) else mpmath.mpf(value) for value in values.flat]
        return np.array(flat, dtype=object).reshape(values.shape)

    @staticmethod
    def solve(A, b):
        """Gauss's elimination with row pivots; b is a vector or a matrix."""
        A, b, n = A.copy(), b.copy(), len(b)
        for k in range(n):
            pivot = k + max(range(n - k), key=lambda i: abs(A[k + i, k]))
            A[[k, pivot]], b[[k, pivot]] = A[[pivot, k]], b[[pivot, k]]
            for i in range(k + 1, n):
                if A[i, k]:
                    factor = A[i, k] / A[k, k]
                    A[i, k:] = A[i, k:] - factor * A[k, k:]
                    b[i] = b[i] - factor * b[k]
        for k in reversed(range(n)):
            b[k] = (b[k] - A[k, k + 1 :] @ b[k + 1 :]) / A[k, k]
        return b


def independent(A):
    """Rows of a matrix of doubles that do not depend on others, and columns for which they can be solved."""
    A = np.array(A, dtype=float)
    rows, columns = [], []
    scale = np.max(np.abs(A), initial=0.0)
    left = A.copy()
    while left.size:
        i, j = np.unravel_index(np.argmax(np.abs(left)), left.shape)
        if abs(left[i, j]) <= DEPENDENT * scale:
            break
        rows.append(int(i))
        columns.append(int(j))
        left = left - np.outer(left[:, j], left[i] / left[i, j])
        left[:, j] = left[i] = 0.0
    return sorted(rows), sorted(columns)


def cross(a, b):
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@dataclass(frozen=True)
class Frame:
    """A rotation and a position."""

    R: np.ndarray
    p: np.ndarray

    def __matmul__(self, frame):
        return Frame(self.R @ frame.R, self.R @ frame.p + self.p)

    def inverse(self):
        return Frame(self.R.T, -(self.R.T @ self.p))


@dataclass(frozen=True)
class Motion:
    """A body or point in motion: angular velocity, velocity, and both accelerations."""

    w: np.ndarray
    v: np.ndarray
    dw: np.ndarray
    dv: np.ndarray

    def at(self, r):
        """Of the point at r from here."""
        w, dw = self.w, self.dw
        return Motion(w, self.v + cross(w, r), dw, self.dv + cross(dw, r) + cross(w, cross(w, r)))


class Mechanism:
    """A robot of the ruler; `ctx` is its arithmetic, `Doubles` or `Digits`."""

    def __init__(self, robot, ctx=Doubles):
        self.robot, self.ctx = robot, ctx
        self.bodies, self.joints, self.loops = robot["bodies"], robot["joints"], robot["loops"]
        self.names = [body["name"] for body in self.bodies]
        self.n = len(self.joints)
        number = {name: k for k, name in enumerate(self.names)} | {"base": -1}
        self.parents = [number[joint["parent"]] for joint in self.joints]
        self.drives = [k for k, joint in enumerate(self.joints) if joint["driven"]]
        self.gravity = ctx.array(robot["gravity"])
        self.mass = ctx.array([body["mass"] for body in self.bodies])
        self.com = [ctx.array(body["com"]) for body in self.bodies]
        self.inertia = [ctx.array(body["inertia"]) for body in self.bodies]
        self.on_parent = [self._frame(joint["at"]) for joint in self.joints]
        self.from_child = [self._frame(joint["child_at"]).inverse() for joint in self.joints]
        self.axes = [self._unit(joint["axis"]) for joint in self.joints]
        self.turns = [joint["turns"] for joint in self.joints]
        self.ends = [
            (
                number[loop["parent"]],
                self._frame(loop["at"]),
                number[loop["child"]],
                self._frame(loop["child_at"]),
            )
            for loop in self.loops
        ]
        self.welds = [loop["kind"] == "weld" for loop in self.loops]
        # Bodies in the chain from the base to each body, itself included.
        self.chains = []
        for k, parent in enumerate(self.parents):
            self.chains.append([*(self.chains[parent] if parent >= 0 else []), k])
        self.independent = self._independent() if ctx is Doubles else Mechanism(robot).independent
        self.dependent = [k for k in range(self.n) if k not in self.independent]

    def _independent(self):
        """Joints whose coordinates are chosen: the driven ones if they determine the others."""
        A = np.array(self.state(self.column("value")).A, dtype=float)
        passive = [k for k in range(self.n) if k not in self.drives]
        columns, rank = [passive[k] for k in independent(A[:, passive])[1]], len(independent(A)[0])
        if len(columns) < rank:
            columns = independent(A)[1]
        return [k for k in range(self.n) if k not in columns]

    def on_child(self, body):
        """The frame on a body of the joint that carries it."""
        return self.from_child[self.names.index(body)].inverse()

    def links(self):
        """Frames with the axis of each joint along z: at zero in the parent's, and of the body in its own."""
        placements, of_bodies = [], []
        for k, parent in enumerate(self.parents):
            u = np.array(self.axes[k], dtype=float)
            # Exact where the axis is one of the frame's.
            x = np.roll(u, 1) if np.count_nonzero(u) == 1 else np.linalg.svd(u[None])[2][1]
            aligned = Frame(np.column_stack([x, np.cross(u, x), u]), np.zeros(3))
            carrier = of_bodies[parent] if parent >= 0 else self.base()
            placements.append(carrier @ self.on_parent[k] @ aligned)
            of_bodies.append(aligned.inverse() @ self.from_child[k])
        return placements, of_bodies

    def column(self, key):
        """A number of every joint."""
        return self.ctx.array([joint.get(key, 0.0) for joint in self.joints])

    def _unit(self, values):
        values = self.ctx.array(values)
        return values / self.ctx.sqrt(values @ values)

    def _frame(self, frame):
        x, y, z, w = self._unit(frame["quat_xyzw"])
        R = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
        return Frame(self.ctx.array(R), self.ctx.array(frame["p"]))

    def _rotation(self, u, angle):
        s, c = self.ctx.sin(angle), self.ctx.cos(angle)
        zero = 0 * s
        K = np.array([[zero, -u[2], u[1]], [u[2], zero, -u[0]], [-u[1], u[0], zero]])
        return self.ctx.array(np.eye(3, dtype=int)) + s * K + (1 - c) * (K @ K)

    # ---- positions and velocities

    def base(self):
        """The frame of the base."""
        return Frame(self.ctx.array(np.eye(3, dtype=int)), self.ctx.array([0, 0, 0]))

    def poses(self, q):
        """Frames of all bodies."""
        return [step.pose for step in self._steps(q)]

    def _steps(self, q):
        @dataclass
        class Step:
            pose: Frame
            axis: np.ndarray
            origin: np.ndarray
            parent: Frame

        steps = []
        for k, parent in enumerate(self.parents):
            carrier = self.base() if parent < 0 else steps[parent].pose
            frame = carrier @ self.on_parent[k]
            u = self.axes[k]
            turns = self.turns[k]
            inner = Frame(self._rotation(u, q[k]), 0 * u) if turns else Frame(self.base().R, u * q[k])
            pose = frame @ inner @ self.from_child[k]
            steps.append(Step(pose, frame.R @ u, frame.p, carrier))
        return steps

    def state(self, q, v=None):
        """Everything that the equations need at q and q' = v."""
        return State(self, q, 0 * q if v is None else v)

    # ---- forces along the joints

    def joint_forces(self, q, v):
        """Springs and friction along the joints, f(q, q')."""
        friction = [self._friction(joint, rate) for joint, rate in zip(self.joints, v, strict=True)]
        return -self.column("stiffness") * (q - self.column("rest")) - np.array(friction)

    def _friction(self, joint, rate):
        """Viscous, Coulomb (of its sign, or tanh(rate / scale) where a scale is given), quadratic, cubic."""
        number, scale = self.ctx.array, joint.get("scale", 0.0)
        side = self.ctx.tanh(rate / number(scale).item()) if scale else int(rate > 0) - int(rate < 0)
        terms = (rate, side, rate * abs(rate), rate**3)
        keys = ("viscous", "coulomb", "quadratic", "cubic")
        return sum(number(joint.get(key, 0.0)).item() * term for key, term in zip(keys, terms, strict=True))

    # ---- states on the loops

    def close(self, q):
        """Coordinates near q with closed loops: the independent ones stay."""
        q, dependent, before = self.ctx.array(q), self.dependent, math.inf
        for _ in range(60):
            state = self.state(q)
            rows, gap = state.rows, max((abs(value) for value in state.gap[state.rows]), default=0)
            # In double the last digits do not settle: it ends where nothing improves.
            if gap < self.ctx.tolerance or (gap < 1e-13 and gap >= before):
                return q
            q, before = q.copy(), gap
            q[dependent] -= self.ctx.solve(state.A[np.ix_(rows, dependent)], state.gap[rows])
        raise ArithmeticError(f"{self.robot['name']}: loops do not close")

    def compatible(self, q, v):
        """Rates near v that the loops allow: the independent ones stay."""
        v, state, free, dependent = self.ctx.array(v), self.state(q), self.independent, self.dependent
        A = state.A[state.rows]
        if dependent:
            v[dependent] = self.ctx.solve(A[:, dependent], -(A[:, free] @ v[free]))
        return v

    # ---- dynamics

    def accelerations(self, q, v, tau=None):
        """Accelerations of the joints for forces of the drives."""
        state = self.state(q, v)
        right = self.joint_forces(q, v) - state.h
        if tau is not None:
            right[self.drives] = right[self.drives] + tau
        return state.solve(right)

    def energies(self, q, v):
        """Kinetic energy, and potential energy of weight and springs; that of weight is 0 at the base."""
        state = self.state(q, v)
        kinetic = (v @ state.M @ v) / 2
        weight = -sum(
            m * (self.gravity @ (pose.R @ c + pose.p))
            for m, c, pose in zip(self.mass, self.com, state.poses, strict=True)
        )
        stretch = q - self.column("rest")
        return kinetic, weight + (self.column("stiffness") @ (stretch * stretch)) / 2

    # ---- small oscillations

    def equilibrium(self, q):
        """Coordinates of rest near q, by Newton's method on accelerations at rest."""
        for _ in range(60):
            q, free = self.close(q), self.independent
            a = self.accelerations(q, 0 * q)[free]
            step = self.ctx.solve(self._gradient(q, order=2), a)
            q = q.copy()
            q[free] -= step
            if max(abs(value) for value in step) < self.ctx.tolerance**0.5:
                return self.close(q)
        raise ArithmeticError(f"{self.robot['name']}: no equilibrium near the start")

    def _gradient(self, q, order=4):
        step = self.ctx.array(1e-3 if self.ctx is Doubles else "1e-18").item()
        return gradient(lambda x: self.accelerations(x, 0 * x), self, q, step, order)

    def frequencies(self, q):
        """Frequencies (Hz) of small oscillations about the equilibrium q, the lowest first."""
        G = self._gradient(q)
        if self.ctx is Doubles:
            return frequencies_of(G)
        values = mpmath.eig(mpmath.matrix(G.tolist()), left=False, right=False)
        return sorted(mpmath.sqrt(-mpmath.re(value)) / (2 * mpmath.pi) for value in values)


def gradient(accelerations, mechanism, q, step, order=4):
    """Derivatives of accelerations at rest by the independent coordinates, by central differences."""
    # Of second order the error is step^2, of fourth step^4.
    stencil = {2: ((1, 1, 2),), 4: ((1, 8, 12), (2, -1, 12))}[order]
    columns, free = [], mechanism.independent
    for k in free:
        column = 0
        for offset, factor, divisor in stencil:
            for side in (1, -1):
                near = q.copy()
                near[k] = near[k] + side * offset * step
                near = mechanism.close(near)
                column = column + side * factor * accelerations(near)[free] / (divisor * step)
        columns.append(column)
    return np.array(columns).T


def frequencies_of(G):
    """Frequencies of u'' = G u, Hz; not a number for those that grow."""
    values = np.linalg.eigvals(np.array(G, dtype=float))
    with np.errstate(invalid="ignore"):
        return np.sort(np.sqrt(-values.real)) / (2.0 * math.pi)


class State:
    """A mechanism at q and v: poses, M, h, A, g and the gaps of the loops."""

    def __init__(self, mechanism, q, v):
        self.mechanism, self.q, self.v = mechanism, q, v
        self.ctx = mechanism.ctx
        self.steps = mechanism._steps(q)
        self.poses = [step.pose for step in self.steps]
        self.motions = self._motions()

    def _motions(self):
        """Motions of the origins of all bodies at q'' = 0."""
        zero = self.ctx.array([0, 0, 0])
        motions = []
        for k, step in enumerate(self.steps):
            parent = self.mechanism.parents[k]
            carrier = Motion(zero, zero, zero, zero) if parent < 0 else motions[parent]
            rate = step.axis * self.v[k]
            if self.mechanism.turns[k]:
                at = carrier.at(step.origin - step.parent.p)
                joined = Motion(at.w + rate, at.v, at.dw + cross(at.w, rate), at.dv)
                motions.append(joined.at(step.pose.p - step.origin))
            else:
                at = carrier.at(step.pose.p - step.parent.p)
                motions.append(Motion(at.w, at.v + rate, at.dw, at.dv + 2 * cross(at.w, rate)))
        return motions

    def jacobian(self, body, point):
        """Jacobians (3, n) of a point of a body and of its rotation."""
        v = self.ctx.array(np.zeros((3, self.mechanism.n), dtype=int))
        w = v.copy()
        for k in self.mechanism.chains[body] if body >= 0 else ():
            step = self.steps[k]
            if self.mechanism.turns[k]:
                v[:, k], w[:, k] = cross(step.axis, point - step.origin), step.axis
            else:
                v[:, k] = step.axis
        return v, w

    @cached_property
    def M(self):
        mechanism = self.mechanism
        M = np.diag(mechanism.column("armature"))
        for k, pose in enumerate(self.poses):
            if mechanism.bodies[k]["mass"]:
                v, w = self.jacobian(k, pose.R @ mechanism.com[k] + pose.p)
                I = pose.R @ mechanism.inertia[k] @ pose.R.T
                chain = np.ix_(mechanism.chains[k], mechanism.chains[k])
                v, w = v[:, mechanism.chains[k]], w[:, mechanism.chains[k]]
                M[chain] = M[chain] + mechanism.mass[k] * (v.T @ v) + w.T @ I @ w
        return M

    @cached_property
    def h(self):
        mechanism = self.mechanism
        h = self.ctx.array(np.zeros(mechanism.n, dtype=int))
        for k, pose in enumerate(self.poses):
            if mechanism.bodies[k]["mass"]:
                c = pose.R @ mechanism.com[k]
                v, w = self.jacobian(k, c + pose.p)
                at = self.motions[k].at(c)
                I = pose.R @ mechanism.inertia[k] @ pose.R.T
                moment = I @ at.dw + cross(at.w, I @ at.w)
                h = h + v.T @ (mechanism.mass[k] * (at.dv - mechanism.gravity)) + w.T @ moment
        return h

    def _ends(self):
        for (first, at, second, child_at), weld in zip(
            self.mechanism.ends, self.mechanism.welds, strict=True
        ):
            a = (self.poses[first] if first >= 0 else self.mechanism.base()) @ at
            b = (self.poses[second] if second >= 0 else self.mechanism.base()) @ child_at
            yield first, a, second, b, weld

    @cached_property
    def A(self):
        rows = [self.ctx.array(np.zeros((0, self.mechanism.n), dtype=int))]
        for first, a, second, b, weld in self._ends():
            # Both at one point: where the loop is open, rotations about it count alike.
            (v1, w1), (v2, w2) = self.jacobian(first, a.p), self.jacobian(second, b.p)
            rows += [v2 - v1, w2 - w1] if weld else [v2 - v1]
        return np.concatenate(rows)

    @cached_property
    def rows(self):
        """Rows of A that do not depend on others."""
        return independent(self.A[:, self.mechanism.dependent])[0]

    @cached_property
    def gap(self):
        """Of every row of A: distance, m, and rotation, rad."""
        gaps = [self.ctx.array([])]
        for _, a, _, b, weld in self._ends():
            gaps.append(b.p - a.p)
            if weld:
                gaps.append(sum(cross(a.R[:, k], b.R[:, k]) for k in range(3)) / 2)
        return np.concatenate(gaps)

    @cached_property
    def g(self):
        """Accelerations in the loops at q'' = 0."""
        zero = self.ctx.array([0, 0, 0])
        still = Motion(zero, zero, zero, zero)
        parts = [self.ctx.array([])]
        for first, a, second, b, weld in self._ends():
            one = self.motions[first].at(a.p - self.poses[first].p) if first >= 0 else still
            two = self.motions[second].at(b.p - self.poses[second].p) if second >= 0 else still
            parts += [two.dv - one.dv, two.dw - one.dw] if weld else [two.dv - one.dv]
        return np.concatenate(parts)

    def solve(self, right):
        """Accelerations: M q'' - A^T l = right, A q'' = -g, with the independent rows."""
        rows = self.rows
        A, n, m = self.A[rows], self.mechanism.n, len(rows)
        K = self.ctx.array(np.zeros((n + m, n + m), dtype=int))
        K[:n, :n], K[n:, :n], K[:n, n:] = self.M, A, A.T
        return self.ctx.solve(K, np.concatenate([right, -self.g[rows]]))[:n]
