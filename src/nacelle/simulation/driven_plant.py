"""Any plant that can be compiled with drives between commands and actuated joints, as a plant.

Its flow is made of that of the plant without them. The state is [s; g; b]: that of the plant, the forces of
the motors whose current loops have a lag, and the deflections of the bristles where there is stiction. With
q, w = q' the coordinates and rates of the actuated joints, as encoders see them, and u the commands

    s' = flow(s, m + A sin(k q + phase) - F(w, b))
    m  = g, or limited(u) where there is no lag           limited(u) = min(max(u, -limit), limit)
    g' = (limited(u) - g) / lag
    b' = w - sigma_0 |w| b / g(w)                         F, b' as in `nacelle.simulation.drives`

What is measured of the plant is traced only where cogging or stiction need it. Energy: the inputs' power is
that of the motors' forces at the joints, m w; what current loops take from the grid is outside. Bristles
store sigma_0 b^2 / 2 and cogging, which is conservative, A cos(k q + phase) / k.

Fixed steps that suit drives: their fastest rates from the mass that each actuated joint moves.

At a state forces tau of the actuators accelerate their joints by W tau, W (actuators, actuators) the mobility
there. Sticking joints, b' = w, have to first order

    w' = -W ((sigma_1 + sigma_2) w + sigma_0 b)           b' = w

and the bristles of a joint that slides at a rate w relax with at most sigma_0 min(|w|, v_b) / F_c.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.kinematics.shapes import actuators_shape
from nacelle.model.robot import Robot
from nacelle.program.identities.values import PreciseInputs
from nacelle.simulation.drives import DriveNumbers, Drives
from nacelle.simulation.feedback import MOTOR, LoopModel
from nacelle.simulation.integration import SuitedSteps
from nacelle.simulation.plant import Plant
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.spatial.physics import check_inputs_with, check_sampler_of, input_shapes, physics
from nacelle.spatial.scalar import Array, Scalar, maximum, minimum, pack


def limit_force(u: Scalar, limit: float) -> Scalar:
    """A command that ends at a force limit, N m or N."""
    return u if limit == float("inf") else minimum(maximum(u, -limit), limit)


@lru_cache(maxsize=64)
def driven_model(plant: LoopModel, drives: DriveNumbers) -> LoopModel:
    """Flow and signals of a plant with its drives; the same functions for the same plant and numbers."""
    lagged, bristled = drives.lagged_actuators, drives.stiction_actuators
    names = (*(["q"] if drives.cogging else []), *(["qd"] if bristled else []))
    size, constant_shape = _shape(plant, 0), _shape(plant, 2)

    def state(robot: Robot) -> tuple[int]:
        return (size(robot)[0] + drives.states,)

    @check_inputs_with(_state_sampler(plant))
    @physics(s=state, u=actuators_shape, constants=constant_shape)
    def driven_flow(robot: Robot, s: Array, u: Array, constants: Array, **options: Any) -> Array:
        (inner,) = size(robot)
        plant_state, motors, bristles = s[:inner], s[inner : inner + len(lagged)], s[inner + len(lagged) :]
        force = [limit_force(u[i], limit) for i, limit in enumerate(drives.limit)]
        motor_rates = [(force[i] - g) / drives.lag[i] for i, g in zip(lagged, motors, strict=True)]
        for i, g in zip(lagged, motors, strict=True):
            force[i] = g
        signals = plant.signals(robot, plant_state, constants, names) if names else {}
        if drives.cogging:
            force = list(pack(force) + drives.cogging_forces(signals["q"]))
        bristle_rates = []
        for (i, model), b in zip(bristled, bristles, strict=True):
            w = signals["qd"][i]
            force[i] = force[i] - model.force(w, b)
            bristle_rates.append(model.bristle_rate(w, b))
        flow = plant.flow(robot, plant_state, pack(force), constants, **options)
        return pack([*flow, *motor_rates, *bristle_rates])

    def driven_signals(robot: Robot, s: Array, constants: Array, names: Sequence[str]) -> dict[str, Any]:
        (inner,) = size(robot)
        others = tuple(name for name in names if name != MOTOR)
        signals = plant.signals(robot, s[:inner], constants, others)
        if MOTOR not in names:
            return signals
        if len(lagged) < len(drives.lag):
            raise KinematicsError(
                f"the forces of the motors of {robot.name} are no signal where current loops have no lag: "
                "they are the commands of the same moment; give all of them a lag, or a bandwidth"
            )
        return {**signals, MOTOR: s[inner : inner + len(lagged)]}

    for function in (driven_flow, driven_signals):
        vars(function)["made_from"] = (*plant, tuple(drives))
    return LoopModel(driven_flow, driven_signals)


def _shape(plant: LoopModel, index: int) -> Callable[[Robot], tuple[int, ...]]:
    """Shape of an input of the plant's flow, by its place, as a function of the robot."""

    def shape(robot: Robot) -> tuple[int, ...]:
        return list((input_shapes(plant.flow, robot) or {}).values())[index]

    return shape


def _state_sampler(plant: LoopModel) -> Callable[..., Any]:
    """How states of the plant are drawn, with numbers of the drives behind them; as if it had no drives."""
    sampler = check_sampler_of(plant.flow)

    def samples(
        robot: Robot, shapes: Mapping[str, tuple[int, ...]], groups: tuple[str, ...] = ()
    ) -> PreciseInputs | None:
        plants = dict(zip(("s", "u", "constants"), input_shapes(plant.flow, robot) or {}, strict=True))
        renamed = {plants.get(name, name): shape for name, shape in shapes.items()}
        return None if sampler is None else sampler(robot, renamed, groups)

    return samples


# ---- the plant


def driven_plant(plant: Plant | Robot, drives: Drives | None = None, *, tau0: Any = 0.0) -> Plant:
    """Make the plant of a plant with its drives, whose inputs are commands.

    Its `forces` are the motors', as current sensors see them, and it shows `bristles`, their deflections
    (actuators,), rad or m, 0 where there is no stiction. At first these are zero.

    Args:
        plant: of `rigid_plant`, of `elastic_plant` with forces as inputs, or another one that can be
            compiled; the `rigid_plant` of it if a robot is given.
        drives: current loops, force limits, cogging and stiction; force limits of the description alone if
            None.
        tau0: forces of the motors at the start, N m or N, one or one for each actuator, where current
            loops have a lag.

    Raises:
        KinematicsError: if the plant cannot be compiled, or numbers do not fit it.
    """
    inner = rigid_plant(plant) if isinstance(plant, Robot) else plant
    if not isinstance(inner, Plant):
        raise KinematicsError(
            f"{getattr(inner, 'name', inner)} cannot be compiled with drives: give a robot, a rigid_plant or "
            "an elastic_plant"
        )
    if drives is not None and not isinstance(drives, Drives):
        raise KinematicsError(f"drives are given as Drives(lag=..., ...), got {drives!r}")
    drives, parts = Drives() if drives is None else drives, inner.loop_parts()
    numbers, size, count = drives.numbers(parts.robot), parts.size, parts.inputs
    lagged, bristled = numbers.lagged_actuators, [i for i, _ in numbers.stiction_actuators]
    first = np.asarray(tau0, dtype=float)
    if first.shape not in ((), (count,)) or not np.isfinite(first).all():
        raise KinematicsError(f"tau0 is a number or one for each of the {count} actuators, got {tau0!r}")

    def state(x: Any, v: Any) -> Array:
        motors = np.broadcast_to(first, (count,))[lagged]
        return np.concatenate([inner.state(x, v), motors, np.zeros(len(bristled))])

    def bristles(s: Array) -> Array:
        result = np.zeros((*s.shape[:-1], count))
        result[..., bristled] = s[..., size + len(lagged) : size + numbers.states]
        return result

    def forces(s: Array, u: Array) -> Array:
        limit = np.array(numbers.limit)
        force = np.clip(np.broadcast_to(u, (*s.shape[:-1], count)), -limit, limit)
        force[..., lagged] = s[..., size : size + len(lagged)]
        return np.asarray(force)

    def energies(s: Array) -> dict[str, Array]:
        energies = dict(inner.energies(s))
        if not (numbers.cogging or bristled):
            return energies
        encoders, b = inner.signals(s[..., :size], ("q", "qd")), bristles(s)
        for i, term in enumerate(numbers.cogging):
            energies["potential"] = energies["potential"] + term.potential(encoders["q"][..., i])
        for i, model in numbers.stiction_actuators:
            energies["potential"] = energies["potential"] + model.potential(b[..., i])
            lost = model.dissipation(encoders["qd"][..., i], b[..., i])
            energies["dissipation"] = energies["dissipation"] + lost
        return energies

    driven = replace(
        inner,
        model=driven_model(inner.model, numbers),
        exact_jacobian=False,
        state=state,
        energies=energies,
        power=lambda s, u: inner.power(s, forces(s, u)),
        forces=forces,
        outputs={**inner.outputs, "bristles": bristles},
        suited_steps=lambda s: _suited_steps(driven, numbers, s),
        drives=drives,
        inner=inner,
    )
    return driven


# ---- fixed steps that suit drives


# Steps of the Runge-Kutta method are stable below this many time constants, or radians of a vibration.
_STABILITY_LIMIT = 2.7
# Part of the time constant of lags and sticking bristles that a step is by default; of sliding bristles,
# which need not be followed but must not grow.
_FOLLOWED_FRACTION, _SLIDING_FRACTION = 0.25, 0.5


def sticking_rate(drives: DriveNumbers, W: Array) -> float:
    """The fastest rate of joints that stick, 1/s or rad/s; 0 if none has stiction."""
    if not drives.stiction_actuators:
        return 0.0
    indices = [i for i, _ in drives.stiction_actuators]
    stiffness = np.array([model.stiffness for _, model in drives.stiction_actuators])
    damping = np.array([model.damping + model.viscous for _, model in drives.stiction_actuators])
    mobility, n = W[np.ix_(indices, indices)], len(indices)
    A = np.block([[-mobility * damping, -mobility * stiffness], [np.eye(n), np.zeros((n, n))]])
    return float(np.max(np.abs(np.linalg.eigvals(A))))


def sliding_rate(robot: Robot, drives: DriveNumbers, w: Array, *, limits: bool) -> float:
    """The fastest relaxation of bristles, 1/s, at rates w (actuators,) of the joints and those to come.

    With v_b finite these are all up to the described speed limits, infinite without a limit. With v_b
    infinite they are so only if `limits` count: a run may never come near them.
    """
    fastest = 0.0
    for i, model in drives.stiction_actuators:
        speed = robot.actuators[i].speed
        coming = min(speed, model.blend) if limits or np.isfinite(model.blend) else 0.0
        rate = max(abs(float(w[i])), coming if np.isfinite(coming) else 0.0)
        fastest = max(fastest, model.fastest_relaxation(rate))
    return fastest


def rates_and_mobility(plant: Plant, drives: DriveNumbers, s: Array) -> tuple[Array, Array]:
    """Rates (actuators,) of the actuated joints at a state and their mobility; zero without stiction.

    The mobility W (actuators, actuators) are accelerations per force, rad/s^2 or m/s^2 per N m or N, from
    forces that the drives can give. A plant's derivative is linear in them, and they change its rates
    alone, in which those of the joints are linear.
    """
    count, inner = plant.inputs, plant.inner
    if inner is None or not drives.stiction_actuators:
        return np.zeros(count), np.zeros((count, count))
    f, state, bristles = plant.derivative(), s[: inner.size], np.zeros(len(drives.stiction_actuators))

    def plant_rates(force: Array) -> Array:
        return f(np.concatenate([state, force[drives.lagged_actuators], bristles]), force)[: len(state)]

    forces, still = np.minimum(1.0, drives.limit), plant_rates(np.zeros(count))
    shifted = np.array([state, *(state + plant_rates(force) - still for force in np.diag(forces))])
    w = inner.signals(shifted, ("q", "qd"))["qd"]
    return w[0], np.asarray((w[1:] - w[0]).T / forces)


def _suited_steps(plant: Plant, drives: DriveNumbers, s: Array) -> SuitedSteps:
    """Steps that follow plant, current loops and bristles from a state on.

    A quarter of the lags and of what sticking bristles do, half of what sliding ones do, which are far faster
    and follow quasi-statically in implicit steps.
    """
    inner = plant.inner
    steps = SuitedSteps() if inner is None or inner.suited_steps is None else inner.suited_steps(s)
    lags = [_FOLLOWED_FRACTION * drives.lag[i] for i in drives.lagged_actuators]
    w, W = rates_and_mobility(plant, drives, s)
    sticking = sticking_rate(drives, W)
    sliding = sliding_rate(plant.robot, drives, w, limits=True)
    explicit = [steps.explicit, *lags]
    explicit += [_FOLLOWED_FRACTION / sticking] if sticking else []
    explicit += [_SLIDING_FRACTION / sliding] if sliding else []
    steps = steps._replace(explicit=min(explicit), implicit=min([steps.implicit, *lags]))
    rates = {
        "current loops": max((1.0 / drives.lag[i] for i in drives.lagged_actuators), default=0.0),
        "bristles of joints that stick": sticking,
        "bristles of joints that slide": sliding_rate(plant.robot, drives, w, limits=False),
    }
    what = max(rates, key=lambda name: rates[name])
    if rates[what] <= _STABILITY_LIMIT / steps.longest:
        return steps
    time = 1.0 / rates[what]
    fastest = f"the {what} of {plant.name} have a time constant of {time:.2g} s"
    return steps._replace(longest=_STABILITY_LIMIT * time, fastest=fastest)
