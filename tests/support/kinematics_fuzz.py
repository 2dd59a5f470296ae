"""Any sequence of calls of the kinematics of a C package, and what must hold of their results.

Calls are drawn, run by a program in C (under sanitizers), and come back as rows. What is checked is known
without the driver that follows solutions: loops by the tree of the robot, branches by plain Newton steps at
points so close to each other that no other solution is near.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import nacelle
from nacelle.dynamics.jacobian import sample_poses
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.branch import branch_of
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native, compile_native_newton
from nacelle.kinematics.solve import newton_steps
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.kinematics.solve.spheres import has_sphere_solution
from nacelle.model.robot import Robot
from support.cc import SANITIZE, WARNINGS, run_executable

Array = np.ndarray

RESET, FORWARD, INVERSE = 0, 1, 2
OK, OUT_OF_LIMITS, INVALID, UNREACHABLE, ROUNDS = range(5)
FLAGS = (*WARNINGS[:-1], *SANITIZE)

_HARNESS = """\
/* Rows of numbers: the kind of a call and its argument in; status, checks, result and state out. */
#include <stdio.h>
#include <string.h>
#include "NAME.h"

enum { M = NAME_UPPER_DRIVES, NX = NAME_UPPER_POSE, NY = SIZE_Y, W = M > NX ? M : NX };

static int same(const STRUCT *a, const STRUCT *b)
{
    return memcmp(a->q, b->q, sizeof a->q) == 0 && memcmp(a->x, b->x, sizeof a->x) == 0
        SAME_Y && memcmp(&a->margin, &b->margin, sizeof a->margin) == 0
        && memcmp(&a->way, &b->way, sizeof a->way) == 0;
}

static int call(STRUCT *s, int kind, const double *given, int *is_state)
{
    REAL q[M];
    REAL x[NX];
    int status;
    for (int i = 0; i < M; ++i) {
        q[i] = (REAL)(kind == 1 ? given[i] : -77.0);
    }
    for (int i = 0; i < NX; ++i) {
        x[i] = (REAL)(kind == 2 ? given[i] : -77.0);
    }
    if (kind == 0) {
        NAME_kinematics_resetEND(s);
        *is_state = 1;
        return 0;
    }
    status = (kind == 1) ? NAME_forwardEND(s, q, x) : NAME_inverseEND(s, x, q);
    *is_state = (kind == 1) ? memcmp(x, s->x, sizeof x) == 0 : memcmp(q, s->q, sizeof q) == 0;
    return status;
}

int main(void)
{
    static STRUCT s, good_calls;
    double in[1 + W];
    NAME_kinematics_resetEND(&s);
    good_calls = s;
    while (fread(in, sizeof in, 1, stdin) == 1) {
        const STRUCT before = s;
        double row[5 + M + NX + NY + 2] = {0.0};
        double *to = row + 5;
        int is_state = 0, twin_state = 0;
        const int status = call(&s, (int)in[0], in + 1, &is_state);
        row[0] = status;
        row[1] = s.count;
        row[2] = is_state;
        /* Without a result the state is what it was; else calls that failed have left no trace in it. */
        if (status > 1) {
            row[3] = same(&s, &before);
        } else {
            const int again = call(&good_calls, (int)in[0], in + 1, &twin_state);
            row[3] = again == status && twin_state && same(&s, &good_calls);
        }
        REAL rates[M], twist[VELOCITIES];
        for (int i = 0; i < VELOCITIES; ++i) {
            twist[i] = (REAL)(0.1 * (i + 1));
        }
        NAME_ratesEND(&s, twist, rates);
        NAME_twistEND(&s, rates, twist);
        row[4] = twist[0];
        for (int i = 0; i < M; ++i) {
            *to++ = s.q[i];
        }
        for (int i = 0; i < NX; ++i) {
            *to++ = s.x[i];
        }
        for (int i = 0; i < NY; ++i) {
            *to++ = STATE_Y;
        }
        *to++ = s.margin;
        *to++ = s.way;
        fwrite(row, sizeof row, 1, stdout);
    }
    return 0;
}
"""


@dataclass(frozen=True, eq=False)
class Calls:
    """Calls in a row, and what they returned.

    Attributes:
        robot: the robot.
        kind: of each call (N,).
        given: actuators' coordinates or pose, filled up (N, W).
        status: what it returned (N,).
        count: evaluations (N,).
        is_state: whether the result is that in the struct, bit for bit (N,).
        is_kept: whether a call that failed left the state, and the calls after it, as they were (N,).
        q, x, y, margin, way: the state behind it.
    """

    robot: Robot
    kind: Array
    given: Array
    status: Array
    count: Array
    is_state: Array
    is_kept: Array
    q: Array
    x: Array
    y: Array
    margin: Array
    way: Array


# ---- calls


def draw_calls(robot: Robot, count: int, seed: int, *, length: int = 20) -> tuple[Array, Array]:
    """Kinds (N,) and arguments (N, W) of calls, `length` of them from reset to reset.

    Poses around the reference, near and far, mirrored, those of quaternions of any length; actuators there,
    turned by whole turns, anywhere; and in one of seven calls numbers that are none, or beyond all use.
    """
    rng = np.random.default_rng([seed, 11])
    mechanism = mechanism_of(robot)
    nx, m = mechanism.layout.nx, len(robot.actuators)
    quaternion = mechanism.layout.quaternion
    base = sample_poses(robot, 64, seed=seed)
    driven = inverse_kinematics(robot, base, limits=False).q
    angles = np.array(mechanism.layout.units) == "rad"
    pose_units = np.where(angles, 1.0, robot.size)
    if quaternion is not None:
        pose_units[quaternion] = 1.0
    drive_units = np.where(robot.revolute_actuators, 1.0, robot.size)
    kind = rng.integers(FORWARD, INVERSE + 1, count)
    given = np.zeros((count, max(nx, m)))
    spread = rng.choice([0.0, 1e-9, 1e-3, 0.1, 0.5, 2.0], (count, 1), p=[0.3, 0.1, 0.2, 0.2, 0.1, 0.1])
    pick = rng.integers(0, len(base), count)
    x = base[pick] + spread * rng.normal(size=(count, nx)) * pose_units
    mirrored = rng.random(count) < 0.05
    x[mirrored] *= rng.choice([-1.0, 1.0], (int(mirrored.sum()), nx))
    if quaternion is not None:
        x[:, quaternion] /= np.linalg.norm(x[:, quaternion], axis=1, keepdims=True)
        scale = rng.choice([1.0, -1.0, 1e-3, 1e6, 0.0, 1e-200, 1e200], count, p=[0.85, *(0.025,) * 6])
        x[:, quaternion] *= scale[:, None]
    q = driven[pick] + spread * rng.normal(size=(count, m)) * drive_units
    turns = 2.0 * np.pi * rng.integers(-2, 3, (count, m)) * np.asarray(robot.revolute_actuators)
    q += np.where(rng.random((count, 1)) < 0.1, turns, 0.0)
    forward = kind == FORWARD
    given[forward, :m], given[~forward, :nx] = q[forward], x[~forward]
    bad = np.flatnonzero(rng.random(count) < 1.0 / 7.0)
    values = rng.choice([np.nan, np.inf, -np.inf, 1e300, -1e300, 1e16, 5e-324, -0.0], bad.size)
    given[bad, rng.integers(0, np.where(forward[bad], m, nx))] = values
    kind[::length] = RESET
    return kind, given


def run_calls(
    robot: Robot, package: Path, name: str, calls: tuple[Array, Array], *, real: str = "double", compiler: str
) -> Calls:
    """Run calls in C, under sanitizers."""
    kind, given = calls
    mechanism = mechanism_of(robot)
    m, nx, ny = len(robot.actuators), mechanism.layout.nx, mechanism.unknown_count
    end = "_f" if real == "float" else ""
    text = _HARNESS
    for word, value in (
        ("STATE_Y", "s.y[i]" if ny else "0.0"),
        ("SAME_Y", "&& memcmp(a->y, b->y, sizeof a->y) == 0" if ny else ""),
        ("SIZE_Y", str(ny)),
        ("VELOCITIES", str(robot.motion.n)),
        ("STRUCT", f"{name}_kinematics{end}"),
        ("NAME_UPPER", name.upper()),
        ("NAME", name),
        ("END", end),
        ("REAL", real),
    ):
        text = text.replace(word, value)
    files = {path.name: path.read_text() for path in sorted(package.glob("include/*.h"))}
    files |= {path.name: path.read_text() for path in sorted(package.glob("src/*.c"))}
    rows = np.ascontiguousarray(np.column_stack([kind.astype(float), given]))
    out = run_executable(files | {"main.c": text}, compiler, FLAGS, rows.tobytes())
    table = np.frombuffer(out).reshape(len(kind), -1)
    q, x, y, margin, way = np.split(table[:, 5:], np.cumsum([m, nx, ny, 1]), axis=1)
    head = table[:, :4].astype(int)
    return Calls(robot, kind, given, *head.T, q, x, y, margin[:, 0], way[:, 0])


# ---- what must hold


@dataclass
class Findings:
    """What does not hold, by what it is: indices of calls."""

    wrong: dict[str, Array] = field(default_factory=dict)

    def add(self, what: str, is_wrong: Array) -> None:
        """Calls (N,) of which something does not hold."""
        if np.any(is_wrong):
            self.wrong[what] = np.flatnonzero(is_wrong)


def before(values: Array) -> Array:
    """The state ahead of each call (N, ...); of the first its own, as that is a reset."""
    return np.concatenate([values[:1], values[:-1]])


def check_calls(calls: Calls) -> Findings:
    """Statuses, states, loops and branches, of calls in double."""
    robot, found = calls.robot, Findings()
    mechanism = mechanism_of(robot)
    m, nx, quaternion = len(robot.actuators), mechanism.layout.nx, mechanism.layout.quaternion
    forward, inverse = calls.kind == FORWARD, calls.kind == INVERSE
    good = (calls.status <= OUT_OF_LIMITS) & (calls.kind != RESET)
    found.add("status", (calls.status < OK) | (calls.status > ROUNDS))
    found.add("result is not the state", ~calls.is_state.astype(bool))
    found.add("a failure leaves traces", ~calls.is_kept.astype(bool))
    found.add("evaluations", (calls.count < 0) | (calls.count > 400))
    used = np.where(
        forward[:, None], np.arange(calls.given.shape[1]) < m, np.arange(calls.given.shape[1]) < nx
    )
    finite = np.all(np.isfinite(calls.given) | ~used, axis=1)
    is_invalid = ~finite
    if quaternion is not None:
        with np.errstate(all="ignore"):
            length = np.sqrt(np.sum(calls.given[:, quaternion] ** 2, axis=1))
        is_invalid |= inverse & ~((length > 1e-150) & np.isfinite(length))
    found.add("invalid input", ((calls.status == INVALID) != is_invalid) & (calls.kind != RESET))
    state = np.column_stack([calls.q, calls.x, calls.y, calls.margin, calls.way])
    found.add("not finite", ~np.all(np.isfinite(state), axis=1))
    found.add("margin", ~(calls.margin > 0.0))
    # The result is that of the argument.
    turned = np.asarray(robot.revolute_actuators)
    off = calls.q - calls.given[:, :m]
    with np.errstate(all="ignore"):
        off -= np.where(turned, 2.0 * np.pi * np.round(off / (2.0 * np.pi)), 0.0)
        found.add(
            "actuators",
            good
            & forward
            & (np.max(np.abs(off), axis=1) > 1e-13 * (1 + np.max(np.abs(calls.given), axis=1))),
        )
        pose = calls.given[:, :nx].copy()
        if quaternion is not None:
            pose[:, quaternion] /= length[:, None]
            pose[:, quaternion] *= np.sign(np.sum(pose[:, quaternion] * calls.x[:, quaternion], axis=1))[
                :, None
            ]
        found.add(
            "pose", good & inverse & (np.max(np.abs(pose - calls.x), axis=1) > 1e-14 * (1 + robot.size))
        )
    found.add("loops", good & ~(loop_errors(calls) <= 1e-11))
    index = np.flatnonzero(good)
    off_branch = np.zeros(len(good), dtype=bool)
    off_branch[index] = ~is_connected(calls, index)
    found.add("branch", off_branch)
    return found


def loop_errors(calls: Calls) -> Array:
    """What closures and actuators leave open (N,), over the robot's size, times the root of the margin."""
    robot = calls.robot
    loops = compile_native(kinematic_model.closure_residuals, robot)(calls.x, calls.y)
    loops = next(iter(loops.values())) if isinstance(loops, dict) else loops
    active = compile_native(kinematic_model.actuator_positions, robot)(calls.x, calls.y)["q"]
    turned = np.asarray(robot.revolute_actuators)
    off = active - calls.q
    off -= np.where(turned, 2.0 * np.pi * np.round(off / (2.0 * np.pi)), 0.0)
    units = np.where(turned, 1.0, robot.size)
    open_ = np.max(np.abs(loops), axis=1, initial=0.0) / min(1.0, robot.size)
    error = np.maximum(open_, np.max(np.abs(off) / units, axis=1)) * np.sqrt(np.minimum(calls.margin, 1.0))
    return np.asarray(error / far_away(calls))


def far_away(calls: Calls) -> Array:
    """What rounding counts relative to (N,): 1, or how many robot sizes away the pose is."""
    return 1.0 + np.max(np.abs(calls.x), axis=1) / calls.robot.size


def is_connected(calls: Calls, index: Array, *, pieces: Sequence[int] = (32, 256, 4096, 40_000)) -> Array:
    """Whether results of calls are what plain Newton steps along their ways lead to."""
    left, connected = index, np.zeros(len(calls.kind), dtype=bool)
    for count in pieces:
        connected[left] = _walk(calls, left, count)
        left = left[~connected[left]]
        if not left.size:
            break
    if left.size:
        connected[left] = _has_signs_of_reference(calls, left)
    return connected[index]


def _walk(calls: Calls, index: Array, pieces: int) -> Array:
    """Whether steps at so many points of the straight way from the state ahead lead to the result."""
    robot = calls.robot
    mechanism = mechanism_of(robot)
    nx, quaternion = mechanism.layout.nx, mechanism.layout.quaternion
    bodies = compile_native(kinematic_model.body_poses, robot)
    ahead = Calls(robot, *(before(np.asarray(value)) for value in list(vars(calls).values())[1:]))
    result = np.zeros(len(index), dtype=bool)
    for kind in (FORWARD, INVERSE):
        at = np.flatnonzero(calls.kind[index] == kind)
        k = index[at]
        if not k.size:
            continue
        if kind == FORWARD:
            solver = compile_native_newton(newton_steps.pose_step, robot)
            p0, p1, y = ahead.q[k], calls.q[k], np.column_stack([ahead.x[k], ahead.y[k]])
        elif mechanism.unknown_count:
            solver = compile_native_newton(newton_steps.loop_closing_step, robot)
            p0, p1, y = ahead.x[k], calls.x[k], ahead.y[k]
        else:
            result[at] = _is_inverse_of_python(calls, k)
            continue
        alive = np.ones(len(k), dtype=bool)
        for t in np.linspace(0.0, 1.0, pieces + 1)[1:]:
            p = (1.0 - t) * p0 + t * p1
            if kind == INVERSE and quaternion is not None:
                p[:, quaternion] /= np.linalg.norm(p[:, quaternion], axis=1, keepdims=True)
            solution = solver.solve(y, p, tolerance=1e-11, max_iterations=12)
            alive &= solution.status == 0
            y = np.ascontiguousarray(np.where(alive[:, None], solution.y, y))
        # Bodies are compared, not unknowns: rods may spin idly, and quaternions have two signs.
        if kind == FORWARD:
            x, y = y[:, :nx].copy(), np.ascontiguousarray(y[:, nx:])
            if quaternion is not None:
                x[:, quaternion] /= np.linalg.norm(x[:, quaternion], axis=1, keepdims=True)
        else:
            x = calls.x[k]
        first, second = (bodies(*state)["p"] for state in ((x, y), (calls.x[k], calls.y[k])))
        off = np.abs(first - second).reshape(len(k), -1) / robot.size
        result[at] = alive & (np.max(off, axis=1, initial=0.0) < 1e-5)
    return result


def _is_inverse_of_python(calls: Calls, index: Array) -> Array:
    """Whether actuators are those of `inverse_kinematics`."""
    q = inverse_kinematics(calls.robot, calls.x[index], limits=False).q
    off = q - calls.q[index]
    turned = np.asarray(calls.robot.revolute_actuators)
    off -= np.where(turned, 2.0 * np.pi * np.round(off / (2.0 * np.pi)), 0.0)
    return np.asarray(np.max(np.abs(off), axis=1) < 1e-9 * far_away(calls)[index])


def _has_signs_of_reference(calls: Calls, index: Array) -> Array:
    """Whether the determinants of legs and platform have the signs of the reference: of poses that spheres
    give, which no way from the state ahead leads to."""
    robot = calls.robot
    if not has_sphere_solution(mechanism_of(robot)):
        return np.zeros(len(index), dtype=bool)
    return parallel_signs(robot, calls.x[index], calls.y[index]) & _is_inverse_of_python(calls, index)


def parallel_signs(robot: Robot, x: Array, y: Array) -> Array:
    """Whether det J_r^-1 has the sign that it has at the reference (N,); branches of legs likewise."""
    x0, y0 = mechanism_of(robot).reference
    J = compile_native(kinematic_model.inverse_jacobian, robot)
    with np.errstate(all="ignore"):
        same = np.sign(np.linalg.det(J(x, y)["J"])) == np.sign(np.linalg.det(J(x0, y0)["J"]))
    if branch_of(robot).size:
        same &= np.all(compile_native(kinematic_model.branch_signs, robot)(x, y) > 0.0, axis=1)
    return np.asarray(same)


def export_kinematics(
    robot: Robot, folder: Path, precision: str = "double", parameters: str = ""
) -> tuple[Path, str]:
    """A package with kinematics alone: its folder, its prefix."""
    target = nacelle.io.CTarget(precision=precision, parameters=parameters, self_test=False)
    done = nacelle.export(robot, "kinematics", out=folder, target=target)
    return done.out, done.name
