"""Studies of the drives on a GPU: a thread is a variant, and folds within the program.

For each state in turn one kernel reads what every variant has folded so far and writes it anew,

    f = forces and rates at the state,     peak <- max(peak, |f|),     sum <- sum + w f^2,
    least <- min(least, [margin, pivot^2]),     way <- min(way, way to the limits of the actuators),

so that nothing of a state is kept: a variant's traffic is its prepared numbers and its folds. For robots
whose legs have closed forms, and for quantities of the drives and masses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nacelle.compile import CudaOptions, Parametric, compile_function
from nacelle.dynamics import model_functions
from nacelle.dynamics.physics import Physics
from nacelle.errors import CompileError
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.limits import actuator_limits, has_limit
from nacelle.kinematics.margins import NEAR_MARGIN, SINGULAR_MARGIN
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.samples import input_samples
from nacelle.kinematics.shapes import pose_shape, twist_shape, unknowns_shape
from nacelle.model.robot import Robot
from nacelle.spatial.physics import draw_inputs_with, gather_arguments, physics
from nacelle.spatial.scalar import Array, Scalar, maximum, minimum, pack
from nacelle.studies.channels import States
from nacelle.studies.quantities import LARGEST, DriveQuantity

# Beyond a limit by more than this, rad or m, a joint is out of it.
_SLACK = 1e-9
_LEAST = 2


def _largest_shape(quantities: Sequence[DriveQuantity]) -> int:
    return sum(len(quantity.drives) for quantity in quantities if quantity.how == LARGEST)


def _sums_shape(quantities: Sequence[DriveQuantity]) -> int:
    return sum(len(quantity.drives) for quantity in quantities if quantity.how != LARGEST)


class Folds(NamedTuple):
    """What a variant has folded so far, and the weight of the next state.

    Attributes:
        weight: of the state (1,).
        largest: folds of largest numbers (m,), of all drives of all quantities.
        sums: folds of weighted sums (k,).
        least: smallest margin and squared pivot (2,).
        way: smallest way to a limit of an actuator (1,), rad or m.
    """

    weight: Array
    largest: Array
    sums: Array
    least: Array
    way: Array


@draw_inputs_with(input_samples)
@physics(x=pose_shape, y=unknowns_shape, v=twist_shape, a=twist_shape)
@gather_arguments(Folds, len(Folds._fields))
def folded_state(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    a: Array,
    folds: Folds,
    *,
    quantities: tuple[DriveQuantity, ...],
    physics: Physics,
) -> dict[str, Array]:
    """Folds with one more state: "largest_next" (m,), "sums_next" (k,), "margins" (2,), "way_next" (1,).

    Args:
        robot: the robot.
        x: reduced pose (nx,).
        y: passive coordinates; none.
        v: reduced twist (n,).
        a: its derivative (n,).
        folds: so far.
        quantities: what is folded.
        physics: what forces include.
    """
    channels: dict[str, Array] = {}
    figures: list[list[Scalar]] = [[], [], []]
    if any("force" in quantity.channels for quantity in quantities):
        inverse = model_functions.inverse(robot, x, y, v, a, physics=physics)
        channels["force"] = inverse["force"]
        figures[0], figures[1] = list(inverse["margins"]), [inverse["pivot"] * inverse["pivot"]]
    motion = kinematic_model.joint_motions(robot, x, y, v, a)
    channels["rate"] = motion["active_rate"]
    figures[0] = figures[0] or list(motion["margins"])
    low, high = actuator_limits(robot.numeric)
    for k, q in enumerate(motion["active"]):
        figures[2] += [q - low[k]] if np.isfinite(low[k]) else []
        figures[2] += [high[k] - q] if np.isfinite(high[k]) else []
    entries: dict[str, list[Scalar]] = {"largest": list(folds.largest), "sums": list(folds.sums)}
    offsets = {"largest": 0, "sums": 0}
    for quantity in quantities:
        for value in quantity.numbers(channels, maximum):
            fold = "largest" if quantity.how == LARGEST else "sums"
            k = offsets[fold]
            old = entries[fold][k]
            entries[fold][k] = maximum(old, value) if fold == "largest" else old + folds.weight[0] * value
            offsets[fold] += 1
    lowest = [*folds.least, *folds.way]
    for k, values in enumerate(figures):
        for value in values:
            lowest[k] = minimum(lowest[k], value)
    return {
        "largest_next": pack(entries["largest"]),
        "sums_next": pack(entries["sums"]),
        # Forms differ in margins and pivots: by this name they are not compared.
        "margins": pack(lowest[:_LEAST]),
        "way_next": pack(lowest[_LEAST:]),
    }


class DeviceFolds:
    """Quantities of the drives of many variants, found on a device.

    Args:
        robot: the nominal robot.
        groups: groups of its numbers that variants have their own of.
        quantities: of one motion.
        physics: what forces include.
        limits: whether limits are checked; of actuators alone.
        options: how CUDA is written.

    Raises:
        CompileError: if legs are solved by iteration, or passive joints have limits that are to be checked.
        DeviceError: if there is no device, or no CuPy.
    """

    def __init__(
        self,
        robot: Robot,
        groups: tuple[str, ...],
        quantities: tuple[DriveQuantity, ...],
        *,
        physics: Physics,
        limits: bool = True,
        options: CudaOptions | None = None,
    ) -> None:
        mechanism = mechanism_of(robot)
        if mechanism.unknown_count:
            raise CompileError(
                f"legs of {robot.name} are solved by iteration: its studies run on the processor"
            )
        driven = {actuator.joint for actuator in robot.actuators}
        limited = [joint.name for j, joint in enumerate(robot.joints) if has_limit(joint) and j not in driven]
        if limits and limited:
            raise CompileError(
                f"{robot.name} has limits of passive joints ({limited[0]}, ...), which studies check on the "
                "processor alone: set limits: false, or leave the device out"
            )
        self.quantities, self._limits = quantities, limits
        sizes = {"weight": 1, "largest": _largest_shape(quantities), "sums": _sums_shape(quantities)}
        shapes = {name: shape(robot) for name, shape in vars(folded_state)["physics_inputs"].items()}
        program = compile_function(
            folded_state,
            robot,
            inputs={
                **shapes,
                **{name: (size,) for name, size in sizes.items()},
                "least": (_LEAST,),
                "way": (1,),
            },
            parameters=groups,
            options={"quantities": quantities, "physics": physics},
            target=options or CudaOptions(),
        )
        assert isinstance(program, Parametric)
        self.program = program

    def fold(self, numbers: Any, states: States, weights: Array) -> Mapping[str, Any]:
        """Folds of variants over states.

        Args:
            numbers: of the variants on the device (N, k), those of an entry side by side.
            states: the states.
            weights: of each (S,).

        Returns:
            "largest" (N, m), "sums" (N, k), "least" (N, 2) and "way" (N, 1) on the device.
        """
        from nacelle.emit.cuda.device import cupy

        cp, count = cupy(), len(numbers)
        body = self.program.body
        start = {"largest": 0.0, "sums": 0.0, "least": np.inf, "way": np.inf}
        folds = []
        for _ in range(2):
            # Room for an entry's variants side by side; rows begin at multiples of 16 bytes.
            folds.append({name: cp.empty((*body.inputs[name], count + count % 2)) for name in start})
        for name, value in start.items():
            folds[0][name][...] = value
        inputs = {name: cp.asarray(getattr(states, name)) for name in ("x", "v", "a")}
        inputs["weight"] = cp.asarray(weights[:, None])
        now = {name: cp.empty(array.shape[1:]) for name, array in inputs.items()}
        prepared = self.program.prologue(numbers)
        launches = []
        for first, second in ((0, 1), (1, 0)):
            buffers = {name: array[:, :count].T for name, array in folds[first].items()}
            for name, array in folds[second].items():
                buffers["margins" if name == "least" else f"{name}_next"] = array[:, :count].T
            launches.append(body.bind(prepared=prepared, **now, **buffers))
        for s in range(len(states)):
            for name, array in inputs.items():
                now[name][...] = array[s]
            launches[s % 2]()
        return {name: array[:, :count].T for name, array in folds[len(states) % 2].items()}

    def results(self, folds: Mapping[str, Any]) -> dict[int, Array]:
        """The quantities (N,), by their offsets among `quantities`, from folds; NaN where one has failed."""
        flags = self.flags(folds)
        bad = (flags & int(Flag.UNREACHABLE | Flag.SINGULAR)) != 0
        result, offsets = {}, {"largest": 0, "sums": 0}
        for k, quantity in enumerate(self.quantities):
            fold = "largest" if quantity.how == LARGEST else "sums"
            first, offsets[fold] = offsets[fold], offsets[fold] + len(quantity.drives)
            values = quantity.finish(_host(folds[fold])[:, first : offsets[fold]])
            result[k] = np.where(bad, np.nan, values)
        return result

    def flags(self, folds: Mapping[str, Any]) -> Array:
        """Flags of every variant over all states (N,)."""
        margin, pivot = _host(folds["least"]).T
        way = _host(folds["way"])[:, 0]
        worst = np.minimum(margin, pivot)
        flags = np.where(margin >= 0.0, 0, int(Flag.UNREACHABLE))
        reached = flags == 0
        flags |= np.where(reached & ~(worst >= SINGULAR_MARGIN), int(Flag.SINGULAR), 0)
        flags |= np.where(
            reached & (worst >= SINGULAR_MARGIN) & (worst < NEAR_MARGIN), int(Flag.NEAR_SINGULAR), 0
        )
        if self._limits:
            flags |= np.where(reached & ~(way >= -_SLACK), int(Flag.OUT_OF_LIMITS), 0)
        return flags


def _host(array: Any) -> Array:
    return np.asarray(array.get() if hasattr(array, "get") else array)
