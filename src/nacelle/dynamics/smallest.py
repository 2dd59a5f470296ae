"""The smallest form of every model: the general form, or the one that was derived by hand for some legs.

Both are written as programs, equal values are made one, and the shorter one is the model: the same program
for the API, for counts and for export, which differ only in the outputs and inputs that they keep. What was
found is kept in the user's cache.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.compile import make_program, remembered
from nacelle.dynamics import functions as tree
from nacelle.dynamics.compact import functions as compact
from nacelle.dynamics.compact.choose import ways
from nacelle.dynamics.compact.model import Choice, applies
from nacelle.dynamics.general import functions as general
from nacelle.dynamics.general import regressor as general_regressor
from nacelle.kinematics.functions import dense_jacobian, inverse_jacobian
from nacelle.kinematics.general.plan import is_served
from nacelle.kinematics.mechanism import mechanism
from nacelle.kinematics.native import native
from nacelle.kinematics.samples import samples_of
from nacelle.kinematics.shapes import of_actuators, of_pose, of_twist, of_unknowns
from nacelle.kinematics.weak import Pivoted
from nacelle.model.robot import Robot
from nacelle.program.cost import cost, count
from nacelle.program.identities.merge import merged
from nacelle.program.program import Program
from nacelle.spatial.physics import physics, sampled
from nacelle.spatial.scalar import Array, pack, sqrt

# How the form derived by hand writes forward dynamics: it needs no search.
FORWARD = Choice("masses", False, False, 0)


def _kept(found: Mapping[str, Array], outputs: str) -> dict[str, Array]:
    """The outputs that are wanted; what has no fixed pivots has the best pivot figure."""
    whole = {"pivot": pack([1.0])[0], **found}
    return {name: whole[name] for name in outputs.split()}


def _form(robot: Robot, form: str, name: str) -> Callable[..., dict[str, Array]]:
    """The physics of a form; where symbols may be any numbers nothing is decided, and the tree is taken."""
    if not robot.is_like_numeric or (form == "general" and not is_served(robot)):
        form = "tree"
    source: Any = {"general": general, "compact": compact, "tree": tree}[form]
    found: Callable[..., dict[str, Array]] = getattr(source, name)
    return found


def _load(robot: Robot, load: Array | None) -> Array:
    return np.zeros(robot.motion.n) if load is None else load


@sampled(samples_of)
@physics(x=of_pose, y=of_unknowns, v=of_twist, a=of_twist, load=of_twist)
def inverse(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    a: Array,
    load: Array | None = None,
    *,
    form: str = "general",
    outputs: str = "force pivot gates",
    **options: Any,
) -> dict[str, Array]:
    """Actuator forces, smallest pivot and margins; `load` (n,) is a force along v from outside."""
    source = _form(robot, form, "inverse")
    found = source(robot, x, y, v, a, _load(robot, load), **options)
    if source is tree.inverse:
        # The tree's figure is the square of a ratio.
        found = {**found, "pivot": sqrt(found["pivot"])}
    return _kept(found, outputs)


@sampled(samples_of)
@physics(x=of_pose, y=of_unknowns, v=of_twist, a=of_twist)
def regressor(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    a: Array,
    *,
    outputs: str = "Y pivot gates",
    **options: Any,
) -> dict[str, Array]:
    """Y (actuators, parameters) with force = Y p, p the robot's `linear_parameters`; pivot and margins."""
    return _regressor("regressor", robot, (x, y, v, a), outputs, options)


@sampled(samples_of)
@physics(x=of_pose, y=of_unknowns, v=of_twist, v_ref=of_twist, a_ref=of_twist)
def reference_regressor(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    v_ref: Array,
    a_ref: Array,
    *,
    outputs: str = "Y pivot gates",
    **options: Any,
) -> dict[str, Array]:
    """Y (actuators, parameters) with J_r^-T Y p = M a_ref + C(x, v) v_ref + g and friction at v."""
    return _regressor("reference_regressor", robot, (x, y, v, v_ref, a_ref), outputs, options)


def _regressor(
    name: str, robot: Robot, state: tuple[Array, ...], outputs: str, options: Mapping[str, Any]
) -> dict[str, Array]:
    served = robot.is_like_numeric and is_served(robot)
    found: dict[str, Array] = getattr(general_regressor if served else tree, name)(robot, *state, **options)
    if not served:
        # The tree's figure is the square of a ratio.
        found = {**found, "pivot": sqrt(found["pivot"])}
    return _kept(found, outputs)


@sampled(samples_of)
@physics(x=of_pose, y=of_unknowns, v=of_twist, tau=of_actuators, load=of_twist)
def forward(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    tau: Array,
    load: Array | None = None,
    *,
    form: str = "general",
    outputs: str = "acceleration pivot gates",
    **options: Any,
) -> dict[str, Array]:
    """The derivative of the reduced twist at actuator forces tau: M dv/dt = A^T tau + load - h."""
    source = _form(robot, form, "forward")
    return _kept(source(robot, x, y, v, tau, _load(robot, load), **options), outputs)


@sampled(samples_of)
@physics(x=of_pose, y=of_unknowns)
def inertia(
    robot: Robot, x: Array, y: Array, *, form: str = "general", outputs: str = "M A pivot gates"
) -> dict[str, Array]:
    """Mass matrix (n, n) along the reduced twist, J_r^-1 (actuators, n) and margins."""
    return _kept(_form(robot, form, "inertia")(robot, x, y), outputs)


@sampled(samples_of)
@physics(x=of_pose, y=of_unknowns)
def jacobian(
    robot: Robot, x: Array, y: Array, *, form: str = "general", outputs: str = "J pivot gates"
) -> dict[str, Array]:
    """J_r^-1 (actuators, n), the rates of the actuators from the reduced twist, and margins."""
    if form == "general":
        return _kept(inverse_jacobian(robot, x, y), outputs)
    found = _form(robot, form, "inertia")(robot, x, y)
    return _kept({**found, "J": found["A"]}, outputs)


@sampled(samples_of)
@physics(x=of_pose, y=of_unknowns, v=of_twist)
def bias(
    robot: Robot, x: Array, y: Array, v: Array, *, outputs: str = "h pivot gates", **options: Any
) -> dict[str, Array]:
    """Force along the reduced twist at dv/dt = 0; "M", "A" and the actuators' "drift" on demand."""
    return _kept(_form(robot, "general", "bias")(robot, x, y, v, **options), outputs)


@sampled(samples_of)
@physics(x=of_pose, y=of_unknowns)
def gravity(robot: Robot, x: Array, y: Array, *, outputs: str = "g A pivot gates") -> dict[str, Array]:
    """Force along the reduced twist that holds the robot against gravity, and J_r^-1."""
    return _kept(_form(robot, "general", "gravity")(robot, x, y), outputs)


@sampled(samples_of)
@physics(x=of_pose, y=of_unknowns, v=of_twist)
def energies(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    *,
    outputs: str = "kinetic potential dissipation pivot gates",
    smooth: float | None = None,
) -> dict[str, Array]:
    """Kinetic and potential energy (J), and the power that friction takes (W)."""
    return _kept(_form(robot, "general", "energies")(robot, x, y, v, smooth=smooth), outputs)


def pivoted(name: str, robot: Robot, options: Mapping[str, Any] | None = None) -> Pivoted:
    """What gives the results of a function of this module by the tree, at states where fixed pivots are weak.

    Args:
        name: as in `settings`.
        robot: the robot.
        options: "friction" and "smooth", where the function has them.
    """
    source = dense_jacobian if name == "jacobian" else getattr(tree, name)

    def evaluate(*states: Array) -> Mapping[str, Array]:
        found: dict[str, Array] = native(source, robot, tuple((options or {}).items()))(*states)
        if "pivot" in found:
            # The tree's figure is the square of a ratio.
            found["pivot"] = np.sqrt(found["pivot"])
        return found

    return evaluate


# What decides which form is taken: the inputs and the result that everyone needs.
_DECIDES: dict[str, tuple[Callable[..., Any], tuple[str, ...], str]] = {
    "inverse": (inverse, ("x", "y", "v", "a"), "force"),
    "forward": (forward, ("x", "y", "v", "tau"), "acceleration"),
    "inertia": (inertia, ("x", "y"), "M"),
    "jacobian": (jacobian, ("x", "y"), "J"),
}


def settings(name: str, robot: Robot, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a function of this module with the form that makes its program shortest.

    Args:
        name: "inverse", "forward", "inertia", "jacobian", "bias", "gravity", "energies", "regressor" or
            "reference_regressor".
        robot: the robot.
        options: "friction" and "smooth", where the function has them.
    """
    if name not in _DECIDES:
        return dict(options)
    return {**options, **_settings(name, robot.numeric.alike, tuple(options.items()))}


@lru_cache(maxsize=512)
def _settings(name: str, robot: Robot, options: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    if applies(mechanism(robot)):
        return {"form": "general"}
    text = remembered(
        "form", robot, [name, [list(o) for o in options]], lambda: _search(name, robot, options)
    )
    found: dict[str, Any] = json.loads(text)
    return found


def _search(name: str, robot: Robot, options: tuple[tuple[str, Any], ...]) -> str:
    """The shortest of all ways, by the length of the program before it is minimised."""
    function, inputs, result = _DECIDES[name]
    shapes = {key: shape for key, shape in _shapes(function, robot).items() if key in inputs}

    def traced(way: Mapping[str, Any]) -> Program:
        return make_program(function, robot, shapes, (), False, {**dict(options), "outputs": result, **way})

    hand: list[dict[str, Any]] = [{"form": "compact"}]
    if name == "inverse":
        hand = [{"form": "compact", **vars(choice)} for choice in ways(robot)]
    elif name == "forward":
        hand = [{"form": "compact", **vars(FORWARD)}]
    best = min(hand, key=lambda way: _size(traced(way)))
    samples = samples_of(robot, shapes)
    candidates = [best, {"form": "general"}]
    programs = [traced(way) for way in candidates]
    if samples is not None:
        programs = [merged(program, samples) for program in programs]
    sizes = [_size(program) for program in programs]
    return json.dumps(candidates[sizes.index(min(sizes))])


def _size(program: Program) -> tuple[float, float]:
    return float(count(program).total), cost(program)


def _shapes(function: Callable[..., Any], robot: Robot) -> dict[str, tuple[int, ...]]:
    from nacelle.spatial.physics import input_shapes

    found = input_shapes(function, robot)
    assert found is not None
    return dict(found)
