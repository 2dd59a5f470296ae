"""A robot with flexible links as a plant for `simulate`, and where it rests.

The state is s = [p; y]: positions of the platform, the joints and the elastic coordinates, and the
independent rates y = [q_a'; others]. Inputs are the actuators' forces, or, where their motion is prescribed,
their accelerations; the power is then that of the forces that the motion requires. A feedback measures what
encoders see: coordinates q and rates qd of the actuated joints, which with flexible links are not those of
the rigid robot at the platform's pose.

At rest, where it settles, with its fastest vibration: with the actuators held, the other independent rates z
have accelerations a(p) at positions p and no velocity:

    M_zz z' = -c_z(p)          c_z: weight, springs and strain of the links

At rest a = 0, found by Newton's iteration, dz = -(da/dp)^-1 a with differences for da/dp per step of the
rates. There M_zz z'' = -K z, so that da/dp = -M^-1 K (1/s^2) has the eigenvalues -w^2 of the vibrations, w in
rad/s. A positive one means that the rest pose is not stable: a link has buckled.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from nacelle.dynamics.physics import Physics
from nacelle.elastic.flexible_tree import flexible_tree
from nacelle.elastic.forms import Assembled, ElasticForm, RigidConfiguration, form_of
from nacelle.errors import BucklingError, KinematicsError
from nacelle.kinematics.configuration import configuration, rate_map
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.pose_input import check_poses, check_rates
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.simulation.feedback import LoopModel, refuse_motor_signals
from nacelle.simulation.integration import SuitedSteps
from nacelle.simulation.plant import Plant
from nacelle.simulation.protocol import Event, Labels
from nacelle.simulation.rigid_plant import rigid_labels
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_matrices
from nacelle.spatial.scalar import Array

_DIFFERENCE_STEP = 1e-6
_TOLERANCE, _STEPS = 1e-10, 60


def rest_accelerations(form: ElasticForm, p: Array, physics: Physics) -> Array:
    """Accelerations (n - na,) at rest, at positions p (size,), of the rates but the actuators', held."""
    hold = np.zeros(len(form.robot.actuators))
    return np.asarray(form.inverse(p, np.zeros(form.n), hold, physics)["acceleration"])


def rest_tangent(form: ElasticForm, p: Array, physics: Physics) -> Array:
    """Derivative (others, others) of these accelerations by steps of the rates, by central differences.

    The others are all independent rates but the actuators', which are held: -M^-1 K, 1/s^2.
    """
    na = len(form.robot.actuators)
    columns = []
    for k in range(na, form.n):
        step = np.zeros(form.n)
        step[k] = _DIFFERENCE_STEP
        predicted_state, behind = (
            rest_accelerations(form, form.step_positions(p, sign * step), physics) for sign in (1.0, -1.0)
        )
        columns.append((predicted_state - behind) / (2.0 * _DIFFERENCE_STEP))
    return np.stack(columns, axis=1)


def vibrations(form: ElasticForm, p: Array, physics: Physics) -> tuple[Array, Array]:
    """Vibrations with the actuators held: angular frequencies (m,), rad/s, and how much they stretch links.

    Returns:
        The frequencies, rising, and of the strain energy of each the part (m,) in the stretch of beams; the
        rest of it is in bending, shear, torsion and the springs of drives.
    """
    whole = flexible_tree(form.robot)
    values, shapes = np.linalg.eig(rest_tangent(form, p, physics))
    order = np.argsort(np.abs(values))
    columns = []
    for mode in shapes.T[order]:
        step = np.zeros(form.n)
        # Of a pair of complex modes, which a robot that is not at rest may have, the real part counts.
        step[len(form.robot.actuators) :] = _DIFFERENCE_STEP * np.real(mode) / np.max(np.abs(mode))
        predicted_state, behind = (form.elastic(form.step_positions(p, sign * step)) for sign in (1.0, -1.0))
        columns.append((predicted_state - behind) / (2.0 * _DIFFERENCE_STEP))
    e = np.stack(columns)
    stretch, elsewhere = np.zeros(len(e)), np.zeros(len(e))
    for beam, span in zip(whole.shapes, whole.slices, strict=False):
        part = e[:, span]
        elsewhere += np.einsum("mi,ij,mj->m", part, beam.stiffness, part)
        for along in beam.stretches:
            stretch += along.stiffness * (part @ along.row) ** 2
    for spring, span in zip(whole.springs, whole.slices[len(whole.shapes) :], strict=True):
        elsewhere += spring.stiffness * e[:, span.start] ** 2
    frequencies = np.sqrt(np.abs(values[order]))
    return frequencies, stretch / np.maximum(stretch + elsewhere, np.finfo(float).tiny)


def rest_positions(form: ElasticForm, p: Array, physics: Physics) -> Array:
    """Positions at rest under gravity and springs, the actuators where they are.

    Raises:
        BucklingError: if there is no rest pose near, or it is not stable.
    """
    p = form.close_loops(p)
    na = len(form.robot.actuators)
    for _ in range(_STEPS):
        J = rest_tangent(form, p, physics)
        step = np.zeros(form.n)
        step[na:] = -np.linalg.solve(J, rest_accelerations(form, p, physics))
        p = form.step_positions(p, step)
        size = float(np.max(np.abs(step)))
        if not np.isfinite(size) or size > form.robot.size:
            break
        if size < _TOLERANCE * form.robot.size:
            if np.max(np.linalg.eigvals(J).real) > 0.0:
                raise BucklingError(
                    f"{form.robot.name} is not stable at rest in this pose: a flexible link buckles under "
                    "the load that it carries; make it thicker, or start undeformed",
                    float("nan"),
                )
            return p
    raise BucklingError(
        f"{form.robot.name} has no rest pose near this one: a flexible link buckles under the load that it "
        "carries",
        float("nan"),
    )


# ---- the plant


_NO_CONSTANTS = np.zeros(1)
# Steps of the Runge-Kutta method over a vibration are stable below this many radians.
_STABILITY_LIMIT = 2.7
# Ratio of the highest frequency to that of bending above which steps are implicit.
_STIFFNESS_RATIO = 5.0
# A run ends where elastic coordinates are this large: beyond it the beams' theory does not hold.
_MAX_DEFLECTION = 0.3


def elastic_signals(robot: Robot, s: Array, constants: Array, names: Sequence[str]) -> dict[str, Any]:
    """Signals of a robot with flexible links at a state s (size,): q and qd (actuators,) of its encoders."""
    del constants
    refuse_motor_signals(robot, names)
    if set(names) & {"x", "v", "y"}:
        raise KinematicsError(
            "a compiled feedback of a flexible robot measures its encoders (t, q, qd, r); the platform's "
            "pose is no signal of it: give a plain function f(t, x, v) where it is needed"
        )
    form = form_of(robot)
    return {"q": s[form.encoders], "qd": s[form.size : form.size + len(robot.actuators)]}


def elastic_plant(
    robot: Robot,
    *,
    prescribed: bool = False,
    friction: bool = True,
    smooth: float | None = None,
    static: bool = False,
    form: str | None = None,
) -> Plant:
    """Make the plant of a robot with flexible links under its actuators.

    Its state is [p; y], positions and independent rates, those of the actuators first. It shows the signals
    `q` and `qd` of the encoders, and `elastic`, the elastic coordinates (..., ne) that `labels` names.

    Args:
        robot: the robot; some of its bodies have a `section` and a `material`.
        prescribed: whether inputs are the actuators' accelerations; else their forces.
        friction: whether friction counts.
        smooth: rate over which Coulomb friction changes its sign; needed by implicit methods.
        static: whether a run starts deformed by gravity at rest; else undeformed.
        form: "condensed", "general" or "assembled" (`nacelle.elastic.forms`); the smallest that there is if
            None.

    Raises:
        KinematicsError: if no link is flexible, or the form does not support the robot.
    """
    model, physics, whole = form_of(robot, form), Physics(friction, smooth), flexible_tree(robot)
    count, mechanism = len(robot.actuators), mechanism_of(robot)

    def parts(s: Array) -> tuple[Array, Array]:
        return s[..., : model.size], s[..., model.size : model.size + model.n]

    def state(x: Any, v: Any) -> Array:
        pose = check_poses(robot, x)[0]
        twist = check_rates(robot, "the twist v", v)
        joints = inverse_kinematics(robot, pose, limits=False)
        now = configuration(robot, pose, joints.y)
        u = np.asarray(rate_map(now) @ twist, dtype=float)
        p, y = model.start(RigidConfiguration(now.motion.poses[1], np.asarray(now.q_tree, dtype=float), u))
        return np.concatenate([rest_positions(model, p, physics) if static else p, y])

    def split(s: Array) -> tuple[Array, Array]:
        p, y = parts(s)
        R = np.broadcast_to(np.eye(3), (*p.shape[:-1], 3, 3))
        if robot.platform_nv == 6:
            R = rotation_matrices(p[..., 3:7] / np.linalg.norm(p[..., 3:7], axis=-1, keepdims=True))
        x, _ = mechanism.chart.coordinates(Pose(R, p[..., :3]))
        for name in robot.motion.joint_names:
            x[..., mechanism.layout.x_index(name)] = model.joint(p, name)
        return x, np.asarray(model.energies(p, y, physics)["rates"])[..., list(mechanism.independent)]

    def elastic(s: Array) -> Array:
        return model.elastic(parts(s)[0])

    def energies(s: Array) -> dict[str, Array]:
        result = model.energies(*parts(s), physics)
        return {name: result[name] for name in ("kinetic", "potential", "dissipation")}

    def forces(s: Array, u: Array) -> Array:
        return np.asarray(model.inverse(*parts(s), u, physics)["force"] if prescribed else u)

    def encoder_rates(s: Array) -> Array:
        return parts(s)[1][..., :count]

    def deflection_margin(t: Array, s: Array) -> Array:
        del t
        return np.asarray(_MAX_DEFLECTION - np.max(np.abs(elastic(s)) / whole.scales, axis=-1))

    def events() -> list[Event]:
        return [Event("a flexible link deforms by more than 30 % of its length", deflection_margin)]

    assembled = None
    if isinstance(model, Assembled):
        assembled = partial(model.derivative, physics=physics, prescribed=prescribed)
    encoders = {"q": lambda s: s[..., model.encoders], "qd": encoder_rates}
    return Plant(
        robot,
        LoopModel(model.programs.flow, elastic_signals),
        (("physics", physics), ("prescribed", prescribed)),
        _NO_CONSTANTS,
        by_parts=assembled,
        labels=_labels(robot, prescribed),
        state=state,
        split=split,
        energies=energies,
        power=lambda s, u: np.asarray(np.sum(forces(s, u) * encoder_rates(s), axis=-1)),
        events=events,
        forces=forces,
        outputs={"elastic": elastic, **({} if prescribed else encoders)},
        suited_steps=lambda s: _suited_steps(model, parts(s)[0], physics),
        reason_uncompiled=_reason_uncompiled(model, prescribed),
    )


def _labels(robot: Robot, prescribed: bool) -> Labels:
    """Names and units of pose, twist and inputs, and names of the elastic coordinates."""
    labels = rigid_labels(robot)._replace(elastic=flexible_tree(robot).names)
    if not prescribed:
        return labels
    joints = [robot.joints[a.joint].primitives[0] for a in robot.actuators]
    inputs = tuple(
        (f"{a.name}.acceleration", "rad/s^2" if primitive.is_rotation else "m/s^2")
        for a, primitive in zip(robot.actuators, joints, strict=True)
    )
    return labels._replace(inputs=inputs)


def _reason_uncompiled(form: ElasticForm, prescribed: bool) -> str:
    """Why a plant of a form cannot be compiled with a feedback; empty if it can."""
    if prescribed:
        return "a feedback gives forces: take a plant with prescribed=False"
    if form is not form_of(form.robot):
        return (
            f"a compiled feedback takes the form that {form.robot.name} has by itself: leave out form="
            f"{form.name!r}, or give a plain function f(t, x, v)"
        )
    if isinstance(form, Assembled):
        return (
            f"{form.robot.name} is too large to be compiled with a feedback: give a plain function f(t, x, v)"
        )
    return ""


def _suited_steps(form: ElasticForm, p: Array, physics: Physics) -> SuitedSteps:
    """Steps (s) that follow the vibrations at positions p (size,).

    Explicit ones follow the fastest vibration, 40 a period; implicit ones the fastest that bends, 20 a
    period. Vibrations with most of their strain energy in the stretch of links follow quasi-statically there,
    which suits links that stretch far faster than they bend.
    """
    frequencies, stretch = vibrations(form, p, physics)
    bends = frequencies[stretch < 0.5]
    fastest = float(np.max(frequencies))
    relevant = float(np.max(bends)) if bends.size else fastest
    return SuitedSteps(
        2.0 * np.pi / fastest / 40.0,
        2.0 * np.pi / relevant / 20.0,
        _STABILITY_LIMIT / fastest,
        f"the fastest vibration of {form.robot.name} has {fastest / 2.0 / np.pi:.4g} Hz",
        "irk5" if fastest > _STIFFNESS_RATIO * relevant else "dop853",
    )
