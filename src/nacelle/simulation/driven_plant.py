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

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.kinematics.shapes import actuators_shape
from nacelle.model.robot import Robot
from nacelle.simulation.drives import DriveNumbers, Drives
from nacelle.simulation.feedback import MOTOR, CompiledPlant, LoopModel
from nacelle.simulation.integration import DEFAULT_STEP
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.protocol import EventGroup, Labels, Plant, require_joints
from nacelle.spatial.physics import input_shapes, physics
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


# ---- the plant


class DrivenPlant(CompiledPlant):
    """A plant with its drives.

    Args:
        plant: a `RigidPlant`, an `ElasticPlant` whose inputs are forces, or another plant that can be
            compiled; a `RigidPlant` of it if a robot is given.
        drives: current loops, force limits, cogging and stiction; force limits of the description alone if
            None.
        tau0: forces of the motors at the start, N m or N, one or one for each actuator, where current
            loops have a lag.

    Raises:
        KinematicsError: if the plant cannot be compiled, or numbers do not fit it.
    """

    def __init__(self, plant: Plant | Robot, drives: Drives | None = None, *, tau0: Any = 0.0) -> None:
        inner: Any = RigidPlant(plant) if isinstance(plant, Robot) else plant
        if not (isinstance(inner, Plant) and hasattr(inner, "loop_parts")):
            raise KinematicsError(
                f"{getattr(inner, 'name', inner)} cannot be compiled with drives: give a robot, a RigidPlant "
                "or an ElasticPlant"
            )
        if drives is not None and not isinstance(drives, Drives):
            raise KinematicsError(f"drives are given as Drives(lag=..., ...), got {drives!r}")
        self.plant: Plant = inner
        self.drives = Drives() if drives is None else drives
        self._inner: CompiledPlant = inner.loop_parts()
        self.numbers = self.drives.numbers(self._inner.robot)
        model = driven_model(self._inner.model, self.numbers)
        super().__init__(self._inner.robot, model, self._inner.options, self._inner.constants)
        first = np.asarray(tau0, dtype=float)
        if first.shape not in ((), (self.inputs,)) or not np.isfinite(first).all():
            raise KinematicsError(
                f"tau0 is a number or one for each of the {self.inputs} actuators, got {tau0!r}"
            )
        self.tau0: Array = np.broadcast_to(first, (self.inputs,)).copy()

    @property
    def labels(self) -> Labels:
        """Names and units of pose, twist and commands."""
        return self.plant.labels

    # ---- states

    def state(self, x: Any, v: Any) -> Array:
        """The state (size,) at a pose x (nx,) and twist v (n,): motors at `tau0`, bristles at zero."""
        motors = self.tau0[self.numbers.lagged_actuators]
        return np.concatenate(
            [self.plant.state(x, v), motors, np.zeros(len(self.numbers.stiction_actuators))]
        )

    def plant_states(self, s: Array) -> Array:
        """States (..., plant's size) of the plant without its drives."""
        return np.asarray(s[..., : self.plant.size])

    def bristles(self, s: Array) -> Array:
        """Deflections of the bristles (..., actuators), rad or m; 0 where there is no stiction."""
        result = np.zeros((*s.shape[:-1], self.inputs))
        indices = [i for i, _ in self.numbers.stiction_actuators]
        result[..., indices] = s[..., self.plant.size + len(self.numbers.lagged_actuators) :]
        return result

    def motor_forces(self, s: Array, u: Array) -> Array:
        """Motors' forces (..., actuators), N m or N, as current sensors see them, at states and commands."""
        limit = np.array(self.numbers.limit)
        force = np.clip(np.broadcast_to(u, (*s.shape[:-1], self.inputs)), -limit, limit)
        lagged, start = self.numbers.lagged_actuators, self.plant.size
        force[..., lagged] = s[..., start : start + len(lagged)]
        return np.asarray(force)

    def encoders(self, s: Array) -> tuple[Array, Array]:
        """Coordinates (rad or m) and rates (..., actuators) of the actuated joints at states (..., size)."""
        signals = self._inner.signals(self.plant_states(s), ("q", "qd"))
        return np.asarray(signals["q"]), np.asarray(signals["qd"])

    def split(self, s: Array) -> tuple[Array, Array]:
        """Reduced poses (..., nx) and twists (..., n), base axes, of states (..., size)."""
        return self.plant.split(self.plant_states(s))

    # ---- what integrators run

    def implicit_step(self, s: Array) -> float:
        """A fixed step, s, of the implicit method that follows plant and current loops at s (size,).

        A quarter of the lags at most. Bristles, which are far faster, follow quasi-statically.
        """
        step: float = self._ask_inner_plant("implicit_step", DEFAULT_STEP, s)
        return min([step, *(_FOLLOWED_FRACTION * self.numbers.lag[i] for i in self.numbers.lagged_actuators)])

    def suited_method(self, s: Array) -> str:
        """The method that suits the plant from a state s (size,) on: its own choice, else "dop853"."""
        return str(self._ask_inner_plant("suited_method", "dop853", s))

    def _ask_inner_plant(self, name: str, otherwise: Any, s: Array, *arguments: float) -> Any:
        """What the plant says of its steps at its own part of a state; `otherwise` if it says nothing."""
        method = getattr(self.plant, name, None)
        return otherwise if method is None else method(self.plant_states(s), *arguments)

    def rates_and_mobility(self, s: Array) -> tuple[Array, Array]:
        """Rates (actuators,) of the actuated joints at a state and their mobility; zero without stiction.

        The mobility W (actuators, actuators) are accelerations per force, rad/s^2 or m/s^2 per N m or N, from
        forces that the drives can give. A plant's derivative is linear in them, and they change its rates
        alone, in which those of the joints are linear.
        """
        count, lagged = self.inputs, self.numbers.lagged_actuators
        if not self.numbers.stiction_actuators:
            return np.zeros(count), np.zeros((count, count))
        f, state, bristles = (
            self.derivative(),
            self.plant_states(s),
            np.zeros(len(self.numbers.stiction_actuators)),
        )

        def plant_rates(force: Array) -> Array:
            return f(np.concatenate([state, force[lagged], bristles]), force)[: len(state)]

        forces, still = np.minimum(1.0, self.numbers.limit), plant_rates(np.zeros(count))
        shifted = np.array([state, *(state + plant_rates(force) - still for force in np.diag(forces))])
        w = self.encoders(shifted)[1]
        return self.encoders(s)[1], np.asarray((w[1:] - w[0]).T / forces)

    def default_step(self, s: Array) -> float:
        """A fixed step (s) that follows the plant, the current loops and the bristles from a state on.

        A quarter of the lags and of what sticking bristles do, half of what sliding ones do.
        """
        steps: list[float] = [self._ask_inner_plant("default_step", DEFAULT_STEP, s)]
        steps += [_FOLLOWED_FRACTION * self.numbers.lag[i] for i in self.numbers.lagged_actuators]
        w, W = self.rates_and_mobility(s)
        sticking, sliding = sticking_rate(self.numbers, W), self._sliding_rate(w, limits=True)
        steps += [_FOLLOWED_FRACTION / sticking] if sticking else []
        steps += [_SLIDING_FRACTION / sliding] if sliding else []
        return min(steps)

    def reason_unstable(self, s: Array, step: float) -> str:
        """Why fixed steps of the Runge-Kutta method from a state would grow; empty if they do not."""
        reason = str(self._ask_inner_plant("reason_unstable", "", s, step))
        if reason:
            return reason
        w, W = self.rates_and_mobility(s)
        rates = {
            "current loops": max(
                (1.0 / self.numbers.lag[i] for i in self.numbers.lagged_actuators), default=0.0
            ),
            "bristles of joints that stick": sticking_rate(self.numbers, W),
            "bristles of joints that slide": self._sliding_rate(w, limits=False),
        }
        what = max(rates, key=lambda name: rates[name])
        if step * rates[what] < _STABILITY_LIMIT:
            return ""
        return (
            f"steps of {step:g} s are unstable: the {what} of {self.name} have a time constant of "
            f"{1.0 / rates[what]:.2g} s; take steps of at most {_STABILITY_LIMIT / rates[what]:.2g} s "
            "(step=None "
            "chooses one), or method='irk5', which is stable with every step"
        )

    def _sliding_rate(self, w: Array, *, limits: bool) -> float:
        """The fastest relaxation of bristles, 1/s, at rates w (actuators,) of the joints and those to come.

        With v_b finite these are all up to the described speed limits, infinite without a limit. With v_b
        infinite they are so only if `limits` count: a run may never come near them.
        """
        fastest = 0.0
        for i, model in self.numbers.stiction_actuators:
            speed = self.robot.actuators[i].speed
            coming = min(speed, model.blend) if limits or np.isfinite(model.blend) else 0.0
            rate = max(abs(float(w[i])), coming if np.isfinite(coming) else 0.0)
            fastest = max(fastest, model.fastest_relaxation(rate))
        return fastest

    def events(self) -> list[EventGroup]:
        """What ends a run of the plant."""
        return [self._driven_event(event) for event in self.plant.events()]

    def _driven_event(self, event: EventGroup) -> EventGroup:
        """An event of the plant as one of the plant with its drives."""
        describe = event.describe
        return EventGroup(
            event.names,
            lambda t, s: event.values(t, self.plant_states(s)),
            None if describe is None else lambda index, s: describe(index, self.plant_states(s)),
        )

    # ---- what results show

    def energies(self, s: Array) -> dict[str, Array]:
        """Kinetic and potential energy (J), power of friction and damping (W) of states (..., size)."""
        energies = dict(self.plant.energies(self.plant_states(s)))
        if not (self.numbers.cogging or self.numbers.stiction_actuators):
            return energies
        q, w = self.encoders(s)
        b = self.bristles(s)
        for i, term in enumerate(self.numbers.cogging):
            energies["potential"] = energies["potential"] + term.potential(q[..., i])
        for i, model in self.numbers.stiction_actuators:
            energies["potential"] = energies["potential"] + model.potential(b[..., i])
            lost = model.dissipation(w[..., i], b[..., i])
            energies["dissipation"] = energies["dissipation"] + lost
        return energies

    def power(self, s: Array, u: Array) -> Array:
        """Power of the motors' forces at the joints (...,) at states (..., size) and commands, W."""
        return self.plant.power(self.plant_states(s), self.motor_forces(s, u))

    def joints(self, s: Array) -> Any:
        """All joints and bodies at states (..., size), where the plant has them."""
        return require_joints(self.plant).joints(self.plant_states(s))

    def motion(self, s: Array) -> Any:
        """Rates of all joints at states (..., size), where the plant has them."""
        return require_joints(self.plant).motion(self.plant_states(s))

    def closure_error(self, s: Array) -> float:
        """What the loops leave open at the worst of some states (N, size), as a pure number."""
        return float(require_joints(self.plant).closure_error(self.plant_states(s)))
