"""Adaptive control in the parameters of the linear form (Slotine and Li; [CB1997] (34), (45)).

Along the reduced twist v a robot obeys M v' + C v + g + f(v) = J^T force, f friction, J the actuators'
Jacobian. Its linear form along a reference is J^T Y p = M a_ref + C v_ref + g + f(v_ref), with M' - 2 C
skew-symmetric. With the sliding variable s = v_ref - v (`sliding`) the law is

    force = Y p^ + J^-T K s            dp^/dt = P Y^T J s

(of redundant robots the smallest forces that do the work of K s). With p~ = p^ - p the loop is

    M s' + C s + K s + (f(v_ref) - f(v)) = - J^T Y p~

and of V = s^T M s / 2 + p~^T P^-1 p~ / 2, since s^T (M' - 2 C) s = 0,

    V' = - s^T K s - s^T (f(v_ref) - f(v)) - s^T J^T Y p~ + p~^T P^-1 dp^/dt  <=  - s^T K s

The term of friction is not negative since friction grows with the rate. J s is the sliding variable of the
actuators. V falls until s is zero.

This is `along="reference"`. Noise of v is then in Y and in s alike, and the mean of their product drives
masses and viscous friction up, without end where the robot rests. By default parameters are therefore adapted
by Y_d, at the pose but with v_d and a_d (`along="desired"`; desired compensation: N. Sadegh, R. Horowitz,
Int. J. of Robotics Research 9(3), 1990), and friction is that at v_d, so that it does not chatter at rest:

    dp^/dt = P Y_d^T J s        V' <= - s^T K s - s^T J^T (Y - Y_d) p~

Y - Y_d is of the order of e and s: a part |p~| / |p| of what K s is, and K prevails while M^ is less than
about twice M. Where friction changes its sign, what v_d and v differ by is a disturbance.

What keeps it in bounds in a real loop:

- projection: parameters stay within bounds, by the projection that lets V not grow (`_within`);
- dead zone: what a count of the encoders makes of J s does not count;
- excitation: the mean square of the forces that each parameter at its scale makes, over those of the robot,
  is followed with a forgetting time; a parameter that is hardly felt is frozen;
- step: the rate of adaptation along s, (J s)^T Y P Y^T J s over s^T K s, is kept below a part of the loop's;
- parameters rest where readings are missing or a drive is at its limit.

The parameters are base parameters beta = K z (`nacelle.dynamics.base_parameters`): no column of the linear
form depends on others. Bodies of the platform take part even if they have no mass, so that a payload does.
Legs that are described alike share their parameters.

What a parameter may be wrong by is counted in its *scale*. Of a body with the mass m and the radius of
gyration r about its origin the scales are m, m r and m r^2, of friction, rotors and springs the values
themselves, and that of a base parameter is the sum over what is in it. A payload adds its own.

All of them are adapted with one time constant. While parameters p^ are wrong by p~ = p^ - p, the sliding
variable s of a loop with the damping K, along the reduced twist, settles at

    s = - K^-1 J^T Y p~

Y the linear form and J the actuators' Jacobian. Adapted by dp^/dt = P Y^T J s, the error decays as

    dp~/dt = - P G p~        G = mean over a motion of Y^T J K^-1 J^T Y

p~^T G p~ is the power, W, that wrong parameters put into the sliding variable. With P = G^-1 / t every
combination of parameters has the time constant t. What a motion hardly feels is left alone: with S the scales
of the parameters,

    P = S (S G S + r g I)^-1 S / t        g = the largest eigenvalue of S G S

so that a combination with less than the part r of the power of the one that is felt most adapts more slowly.

The sliding variable: a reference that leads back to the desired motion, and how far the twist is from it.

With the displacement e from the pose to the desired one along the twist (`pose_difference`),

    v_ref = v_d + l e        a_ref = a_d + l e'        s = v_ref - v

l the rate, rad/s, at which e decays while s is zero. J.-J. E. Slotine, W. Li: On the adaptive control of
robot manipulators. Int. J. of Robotics Research 6(3), 1987.

Of a rotation by t about n, base axes, e = 2 sin(t/2) n is twice the vector part of the quaternion from the
orientation to the desired one; from its derivative, with c = cos(t/2),

    e' = c (w_d - w) + (w_d + w) x e / 2
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nacelle.control.blocks.admissible import setpoint_memory, setpoint_memory_at_rest
from nacelle.control.blocks.desired import FRICTION_SMOOTHING
from nacelle.control.blocks.pose import (
    OBSERVER_FILTER_RATIO,
    PLATFORM_GAINS,
    PredictedPlatform,
    desired_mid_sample,
    displace_pose,
    estimate_platform,
    least_forces,
    platform_gains,
    platform_memory,
    platform_memory_after,
    platform_memory_at_rest,
    platform_mid_sample,
    pose_difference,
)
from nacelle.control.blocks.signals import limit_forces, replace_infinite_limits
from nacelle.control.kind import ADAPTIVE_LABELS, ControlLaw, ControlStep, DesiredMotion, Tuning, VectorLayout
from nacelle.dynamics import model_functions
from nacelle.dynamics.base_parameters.base_parameters import BaseParameters, base_parameters
from nacelle.dynamics.base_parameters.choice import column_options
from nacelle.dynamics.base_parameters.sampling import generic_states
from nacelle.dynamics.forward import mass_matrix
from nacelle.dynamics.physics import WITHOUT_FRICTION, Physics
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.numbers import INERTIA_NAMES
from nacelle.model.robot import Robot, body_parameters
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.scalar import (
    Array,
    Scalar,
    absolute,
    cross,
    divide,
    dot,
    maximum,
    minimum,
    pack,
    sqrt,
    where,
)

# Powers of the length in the units of a body's ten parameters.
_LENGTHS = (0, 1, 1, 1, 2, 2, 2, 2, 2, 2)
# Radius of gyration over the robot's size where a description gives a mass alone.
_RADIUS = 0.1
# The least part of the model's value that a sum of positive quantities keeps.
_MIN_FRACTION = 0.05


@lru_cache(maxsize=32)
def adapted_parameters(robot: Robot, shared: Any = None) -> BaseParameters:
    """The base parameters that are adapted.

    Args:
        robot: the model.
        shared: as in `base_parameters`; if None as the description says, or legs that are described alike.
    """
    names = linear_parameters(robot).names
    platform = {robot.bodies[body].name for body in robot.platform.bodies}
    massless = {body.name for body in robot.bodies if body.massless} - platform
    without = [name for name in names if name.rpartition(".")[0] in massless]
    values = linear_parameters(robot).values
    without += [n for n, v in zip(names, values, strict=True) if n.endswith(".rotor_inertia") and v == 0.0]
    if shared is None and robot.shared is None:
        shared = "legs"
    return base_parameters(robot, assume=["nothing", *without], shared=shared)


def parameter_scales(robot: Robot, base: BaseParameters, payload: float) -> Array:
    """The scale of every base parameter (base parameters,), SI units."""
    scales = np.abs(linear_parameters(robot).values)
    order = {name: k for k, name in enumerate(linear_parameters(robot).names)}
    for index, body in enumerate(robot.bodies):
        if f"{body.name}.m" in order:
            ten = body_parameters(robot, index)
            extra = payload if index in robot.platform.bodies else 0.0
            sizes = _body_scales(ten, extra, robot.size)
            for part, size in zip(INERTIA_NAMES, sizes, strict=True):
                scales[order[f"{body.name}.{part}"]] = size
    # A chosen parameter of several legs has one scale.
    chosen = np.array([scales[group].max() for group in base.choice.groups()])
    return np.asarray(np.abs(base.K) @ chosen)


def _body_scales(ten: Array, payload: float, size: float) -> Array:
    """Scales of the ten parameters of a body."""
    mass = float(ten[0])
    radius = math.sqrt(max(0.0, 0.5 * float(ten[4] + ten[6] + ten[9])) / mass) if mass > 0.0 else 0.0
    radius = radius if radius > 0.0 else _RADIUS * size
    return np.array([(mass + payload) * radius**power for power in _LENGTHS])


def default_payload(robot: Robot) -> float:
    """The mass of a payload that is thought of if nothing is said, kg.

    That of the platform; if it has none the heaviest of the bodies.
    """
    masses = [float(body_parameters(robot, k)[0]) for k in range(1, len(robot.bodies))]
    platform = sum(float(body_parameters(robot, k)[0]) for k in robot.platform.bodies)
    return platform if platform > 0.0 else max(masses, default=0.0)


class Bounds(NamedTuple):
    """Lower and upper bounds of base parameters (base parameters,)."""

    lower: Array
    upper: Array


def parameter_bounds(base: BaseParameters, scale: Array, margin: float) -> Bounds:
    """Bounds: the model's values, and `margin` scales to both sides.

    Sums of positive quantities (masses, moments of inertia about axes, friction, rotors, springs) stay above
    a small part of the model's value.
    """
    values = base.values
    lower, upper = values - margin * scale, values + margin * scale
    positive = np.array([_is_positive(name) for name in base.choice.names])
    for i, row in enumerate(base.K):
        acting = np.flatnonzero(row)
        if positive[acting].all() and (row[acting] > 0.0).all():
            lower[i] = max(lower[i], _MIN_FRACTION * values[i])
    return Bounds(lower, upper)


def _is_positive(name: str) -> bool:
    """Whether a linear parameter cannot be negative."""
    part = name.rpartition(".")[2]
    if part in INERTIA_NAMES:
        return part in ("m", "Ixx", "Iyy", "Izz")
    return part != "stiffness*rest"


# ---- how fast parameters are adapted: one time constant for all of them


# The part r of the largest power below which parameters adapt more slowly.
RIDGE = 1e-5
# Samples of a desired motion that are used, evenly.
_SAMPLES = 500


class RegressorSamples(NamedTuple):
    """How parameters are felt at N motions: Y (N, actuators, parameters) and J (N, actuators, n)."""

    Y: Array
    J: Array


def regressors_along_motion(
    robot: Robot, base: BaseParameters, rows: Array, smooth: float
) -> RegressorSamples:
    """Linear forms Y and Jacobians J_r^-1 at samples of a desired motion [x; v; a] (N, nx + 2 n)."""
    chosen = rows[np.unique(np.linspace(0, len(rows) - 1, _SAMPLES).astype(int))]
    nx, n = mechanism_of(robot).layout.nx, robot.motion.n
    x, v, a = chosen[:, :nx], chosen[:, nx : nx + n], chosen[:, nx + n :]
    return _regressor_samples(robot, base, (x, inverse_kinematics(robot, x, limits=False).y, v, a), smooth)


def _regressor_samples(
    robot: Robot, base: BaseParameters, states: tuple[Array, ...], smooth: float
) -> RegressorSamples:
    batches = (from_samples(part, 1) for part in states)
    Y = model_functions.regressor(
        robot, *batches, outputs="Y", physics=Physics(smooth=smooth), **column_options(base)
    )["Y"]
    J = compile_native(inverse_jacobian, robot)(*states[:2])["J"]
    return RegressorSamples(np.broadcast_to(to_samples(Y), (len(J), *Y.shape)), J)


def gram_matrix(samples: RegressorSamples, K: Array) -> Array:
    """G (parameters, parameters) for a damping K (n, n)."""
    load = np.swapaxes(samples.J, -1, -2) @ samples.Y
    return np.asarray(np.mean(np.swapaxes(load, -1, -2) @ np.linalg.solve(K, load), axis=0))


def adaptation_gain(G: Array, scale: Array, time_constant: float) -> Array:
    """P = S (S G S + r g I)^-1 S / t (parameters, parameters), symmetric and positive definite.

    Args:
        G: mean over a motion of Y^T J K^-1 J^T Y (parameters, parameters).
        scale: S, scales of the parameters (parameters,), SI units.
        time_constant: t, s.
    """
    scaled = G * scale * scale[:, None]
    largest = float(np.linalg.eigvalsh(scaled)[-1])
    inverse = np.linalg.inv(scaled + RIDGE * largest * np.eye(len(scale)))
    P = inverse * scale * scale[:, None] / time_constant
    return np.asarray(0.5 * (P + P.T))


# ---- the sliding variable


class Sliding(NamedTuple):
    """The reference v_ref, a_ref (n,) and the sliding variable s (n,), along the reduced twist."""

    v_ref: Array
    a_ref: Array
    s: Array


def sliding_variable(
    robot: Robot, motion: DesiredMotion, predicted_state: PredictedPlatform, rate: Scalar
) -> Sliding:
    """v_ref = v_d + l e, a_ref = a_d + l e' and s = v_ref - v (n,), m/s and rad/s, base axes.

    Args:
        robot: the robot.
        motion: the desired x, v_d and a_d.
        predicted_state: pose, unknowns and twist v of the platform when the force will act.
        rate: l, rad/s.
    """
    e = pose_difference(robot, motion.x, predicted_state.x, predicted_state.y)
    v_ref = motion.v + rate * e
    a_ref = motion.a + rate * _error_rate(robot, e, motion.v, predicted_state.v)
    return Sliding(v_ref, a_ref, v_ref - predicted_state.v)


def _error_rate(robot: Robot, e: Array, v_d: Array, v: Array) -> Array:
    """The derivative e' (n,)."""
    off = v_d - v
    angular = mechanism_of(robot).layout.angular
    if mechanism_of(robot).layout.quaternion is None or angular is None:
        return off
    rotation = e[angular]
    c = sqrt(maximum(1.0 - 0.25 * dot(rotation, rotation), 0.0))
    turning = c * off[angular] + 0.5 * cross(v_d[angular] + v[angular], rotation)
    return pack([*off[: angular.start], *turning, *off[angular.stop :]])


# ---- adaptive control in the parameters of the linear form (Slotine and Li; [CB1997] (34), (45))


ALONG = ("desired", "reference")
# Rate of adaptation along s over the rate of the loop, at most.
ADAPTATION_RATE_FRACTION = 0.25
# Forgetting time of the excitation over the time constant of adaptation.
FORGETTING_RATIO = 5.0
# Part of a robot's forces below which a parameter at its scale is not felt.
EXCITATION_THRESHOLD = 1e-3
# Counts of an encoder over a turn, or over the robot's size, if nothing is said.
DEFAULT_COUNTS = 2**20
# Sweeps of projections on the bounds in a sample.
SWEEPS = 2
# Divisors are at least this, which single precision still has.
_TINY = 1e-36


@dataclass(frozen=True)
class Adaptive(ControlLaw):
    """Adaptive control in base parameters.

    The first four shape the program; the others are for tuning.

    Attributes:
        shared: legs that share their parameters, as in `base_parameters`; if None as the description says, or
            those that are described alike.
        along: whether parameters are adapted by Y along the "desired" motion or along the "reference".
        smooth: rate over which Coulomb friction changes its sign, rad/s or m/s.
        adapts: whether parameters are adapted; else they stay those of the model.
        time_constant: of adaptation, s.
        resolution: of the encoders, rad or m, or what their noise is if that is more; of it follows the dead
            zone. If None a turn, or the robot's size, has 2^20 counts.
        margin: how far parameters may be from those of the model, in their scales.
        payload: the largest mass that the platform takes up, kg; if None as much as its own.
    """

    uses_mass_matrix: ClassVar[bool] = True
    labels: ClassVar[dict[str, str]] = ADAPTIVE_LABELS
    shared: Any = None
    along: str = "desired"
    smooth: float = FRICTION_SMOOTHING
    adapts: bool = True
    time_constant: float = field(default=0.2, repr=False, compare=False)
    resolution: float | None = field(default=None, repr=False, compare=False)
    margin: float = field(default=2.0, repr=False, compare=False)
    payload: float | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            KinematicsError: if one cannot be used.
        """
        if self.along not in ALONG:
            raise KinematicsError(
                f"adaptation goes along {' or '.join(map(repr, ALONG))}; {did_you_mean(self.along, ALONG)}"
            )
        for what in ("smooth", "time_constant", "margin"):
            if not (math.isfinite(getattr(self, what)) and getattr(self, what) > 0.0):
                raise KinematicsError(f"{what} of adaptive control is above zero, got {getattr(self, what)}")
        for what in ("resolution", "payload"):
            value = getattr(self, what)
            if value is not None and not (math.isfinite(value) and value >= 0.0):
                raise KinematicsError(f"{what} of adaptive control is not negative, got {value}")

    @property
    def name(self) -> str:
        """`adaptive`."""
        return "adaptive"

    @property
    def feedback_law(self) -> ControlLaw:
        """The same with the parameters of the model and its friction aside: adaptation is slower."""
        return dataclasses.replace(self, adapts=False, along="desired")

    def parameters(self, robot: Robot) -> BaseParameters:
        """The parameters that are adapted."""
        return adapted_parameters(robot, self.shared)

    def parameter_names(self, robot: Robot) -> tuple[str, ...]:
        """Names of the parameters that are adapted."""
        return tuple(self.parameters(robot).names)

    def memory(self, robot: Robot) -> VectorLayout:
        """The platform, the desired motion, the parameters, and how strongly each was felt."""
        count = len(self.parameters(robot))
        desired = setpoint_memory(robot) | {"a_d": robot.motion.n}
        return VectorLayout(**platform_memory(robot), **desired, parameters=count, excitation=count)

    def gains(self, robot: Robot) -> VectorLayout:
        """Rates, damping, adaptation, bounds, dead zone, what excitation is counted in, limits."""
        count, n, m = len(self.parameters(robot)), robot.motion.n, len(robot.actuators)
        return VectorLayout(
            **PLATFORM_GAINS,
            rate=1,
            decay=1,
            damping=n * n,
            adaptation=count * count,
            lower=count,
            upper=count,
            dead_zone=m,
            scale=count,
            typical=m,
            forgetting=1,
            unfelt=1,
            fastest=1,
            limit=m,
        )

    def step(
        self, robot: Robot, z: dict[str, Array], q: Array, motion: DesiredMotion, k: dict[str, Array]
    ) -> ControlStep:
        """Forces (actuators,), N or N m, and the memory of the next sample; as in `ControlLaw.step`."""
        platform = estimate_platform(robot, z, q, k)
        predicted_state = platform_mid_sample(robot, platform, z["acceleration"] + platform.unmodelled, k)
        coming = desired_mid_sample(z, motion, k)
        t = k["delay"][0] + 0.5 * k["period"][0]
        x_d = displace_pose(robot, motion.x, platform.y, t * (motion.v + (0.5 * t) * motion.a))
        slide = sliding_variable(robot, coming._replace(x=x_d), predicted_state, k["rate"][0])
        n = robot.motion.n
        Y, effective = self._regressors(robot, predicted_state, slide, coming)
        load = k["damping"].reshape(n, n) @ slide.s
        J = np.asarray(inverse_jacobian(robot, predicted_state.x, predicted_state.y)["J"])
        unlimited_force = Y @ z["parameters"] + least_forces(J, load)
        force = limit_forces(unlimited_force, k["limit"])
        memory = platform_memory_after(z, platform, slide.a_ref + k["decay"][0] * slide.s)
        memory |= {"a_d": motion.a, "parameters": z["parameters"], "excitation": z["excitation"]}
        if self.adapts:
            excitation = _excitation(effective, z["excitation"], k)
            resting = maximum(platform.missed[0], platform.stopped[0])
            for effort, most in zip(unlimited_force, k["limit"], strict=True):
                resting = maximum(resting, where(absolute(effort) - most, 1.0, 0.0))
            power = dot(slide.s, load)
            parameters = _adapt_parameters(
                effective, J @ slide.s, z["parameters"], excitation, k, resting=resting, power=power
            )
            memory |= {"parameters": parameters, "excitation": excitation}
        return ControlStep(force, memory, predicted_state)

    def _regressors(
        self, robot: Robot, predicted_state: PredictedPlatform, slide: Sliding, desired: DesiredMotion
    ) -> tuple[Array, Array]:
        """Y (actuators, parameters) of the forces, and that by which parameters are adapted."""
        base = self.parameters(robot)
        options = column_options(base)
        at = (robot, predicted_state.x, predicted_state.y)
        inertial = model_functions.reference_regressor(
            *at, predicted_state.v, slide.v_ref, slide.a_ref, outputs="Y", physics=WITHOUT_FRICTION, **options
        )["Y"]
        rates = (desired.v, desired.a)
        if self.along == "reference":
            rates = (slide.v_ref, np.zeros(len(slide.v_ref)))
        rubbing = Physics(smooth=self.smooth)
        rubbed = model_functions.regressor(*at, *rates, outputs="Y", physics=rubbing, **options)["Y"]
        friction_columns = set(base.friction)
        columns = [(rubbed if i in friction_columns else inertial)[:, i] for i in range(len(base))]
        Y = np.stack(columns, axis=1)
        return Y, Y if self.along == "reference" else np.asarray(rubbed)

    def start(self, robot: Robot, x: Array, y: Array) -> dict[str, Any]:
        """At rest, with the parameters of the model, each of which counts as felt."""
        return {
            **platform_memory_at_rest(x, y),
            **setpoint_memory_at_rest(robot, x, y),
            "a_d": 0.0,
            "parameters": self.parameters(robot).values,
            "excitation": 1.0,
        }

    def tune_gains(self, robot: Robot, tuning: Tuning) -> dict[str, Any]:
        """Gains: s and the error decay at w = 2 pi bandwidth, K = w M at the reference pose.

        Raises:
            KinematicsError: if the mass matrix of the model is not positive definite there.
        """
        w = 2.0 * math.pi * tuning.bandwidth
        base = self.parameters(robot)
        scale = parameter_scales(
            robot, base, default_payload(robot) if self.payload is None else self.payload
        )
        lower, upper = parameter_bounds(base, scale, self.margin)
        M = mass_matrix(robot, mechanism_of(robot).reference[0])
        if not np.linalg.eigvalsh(M)[0] > 0.0:
            raise KinematicsError(f"the mass matrix of {robot.name} is not positive definite: {M.tolist()}")
        # At motions all over the workspace, at speeds with inertial forces of the order of weights.
        samples = _regressor_samples(robot, base, generic_states(robot), self.smooth)
        return {
            **platform_gains(tuning, OBSERVER_FILTER_RATIO * tuning.bandwidth),
            "rate": w,
            "decay": w,
            "damping": w * M.ravel(),
            "lower": lower,
            "upper": upper,
            "dead_zone": w * self._resolution(robot),
            "scale": scale,
            "forgetting": 1.0 - math.exp(-tuning.period / (FORGETTING_RATIO * self.time_constant)),
            "unfelt": EXCITATION_THRESHOLD**2,
            "fastest": ADAPTATION_RATE_FRACTION * w,
            "limit": replace_infinite_limits(tuning.limits),
            **self._adaptation_gains(base, samples, w * M, scale),
        }

    def for_motion(self, robot: Robot, k: dict[str, Array], rows: Array) -> dict[str, Any]:
        """The gain of adaptation with which all that a motion feels has the time constant."""
        base, n = self.parameters(robot), robot.motion.n
        samples = regressors_along_motion(robot, base, rows, self.smooth)
        return self._adaptation_gains(base, samples, k["damping"].reshape(n, n), k["scale"])

    def _adaptation_gains(
        self, base: BaseParameters, samples: RegressorSamples, K: Array, scale: Array
    ) -> dict[str, Any]:
        """Gains that follow from how parameters are felt."""
        typical = np.sqrt(np.mean(np.square(samples.Y @ base.values), axis=0))
        return {
            "adaptation": adaptation_gain(gram_matrix(samples, K), scale, self.time_constant).ravel(),
            # A drive that a motion does not load counts as the others.
            "typical": np.where(typical > 0.0, typical, np.max(typical) or 1.0),
        }

    def _resolution(self, robot: Robot) -> Array:
        """Resolution of the encoders (actuators,), rad or m."""
        if self.resolution is not None:
            return np.full(len(robot.actuators), float(self.resolution))
        return np.where(robot.revolute_actuators, 2.0 * math.pi, robot.size) / DEFAULT_COUNTS


def _excitation(Y: Array, before: Array, k: dict[str, Array]) -> Array:
    """Mean squares (parameters,) of the forces of each parameter at its scale, over the robot's own."""
    parts = Y * k["scale"] / k["typical"][:, None]
    return pack(
        [
            mean_square + k["forgetting"][0] * (dot(part, part) - mean_square)
            for mean_square, part in zip(before, parts.T, strict=True)
        ]
    )


def _adapt_parameters(
    Y: Array,
    rates: Array,
    before: Array,
    excitation: Array,
    k: dict[str, Array],
    *,
    resting: Scalar,
    power: Scalar,
) -> Array:
    """The parameters (parameters,) after a sample.

    Args:
        Y: the linear form (actuators, parameters).
        rates: the actuators' sliding variable J s (actuators,).
        before: the parameters before it.
        excitation: of the parameters (parameters,).
        k: gains.
        resting: above zero where parameters rest.
        power: s^T K s.
    """
    counted = pack(
        [r - minimum(maximum(r, -zone), zone) for r, zone in zip(rates, k["dead_zone"], strict=True)]
    )
    mask = pack([where(value - k["unfelt"][0], 1.0, 0.0) for value in excitation])
    P = k["adaptation"].reshape(len(before), len(before))
    gradient = mask * (Y.T @ counted)
    step = mask * (P @ gradient)
    speed = dot(gradient, step)
    part = minimum(1.0, divide(k["fastest"][0] * power, maximum(speed, _TINY)))
    part = where(resting, 0.0, part)
    return _project_on_bounds(before + (k["period"][0] * part) * step, mask, P, k)


def _project_on_bounds(p: Array, mask: Array, P: Array, k: dict[str, Array]) -> Array:
    """Parameters within their bounds (parameters,): projected on one bound after the other.

    A projection on p_i <= upper_i that is the shortest in the metric P^-1 goes along the column P e_i,

        p - P e_i (p_i - upper_i) / P_ii

    and brings p nearer to every point that meets the bound, the true parameters among them: V does not grow.
    What is left after some sweeps over all bounds is cut off.
    """
    lengths = [divide(1.0, maximum(P[i, i], _TINY)) for i in range(len(p))]
    for _ in range(SWEEPS):
        for i, (low, high) in enumerate(zip(k["lower"], k["upper"], strict=True)):
            over = maximum(p[i] - high, 0.0) + minimum(p[i] - low, 0.0)
            p = p - (over * lengths[i]) * (mask * P[:, i])
    limits = zip(p, k["lower"], k["upper"], strict=True)
    return pack([minimum(maximum(value, low), high) for value, low, high in limits])
