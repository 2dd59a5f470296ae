"""Models evaluated at states: by their programs, and by the tree where fixed pivots are weak.

A program of `model_functions` may eliminate in a fixed order and gives its smallest pivot, a ratio of
lengths. Where that is weak the state is evaluated again by the tree, whose solves choose their pivots.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nacelle.compile import Compiled
from nacelle.dynamics import model_functions, reference
from nacelle.dynamics.external import stack_wrenches
from nacelle.dynamics.reference import is_singular
from nacelle.errors import KinematicsError
from nacelle.kinematics.kinematic_model import dense_jacobian
from nacelle.kinematics.motion import EvaluatedStates, evaluate_function
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.solve.ill_conditioned import PivotedFunction, reevaluate_with_pivoting
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


class MeasuredState(ABC):
    """A state that is given otherwise than by a pose, with its rates: that of the elements ([OAM])."""

    robot: Robot

    @abstractmethod
    def evaluate(self, name: str, options: Mapping[str, Any]) -> EvaluatedStates:
        """Results of "inverse" or "regressor" of `model_functions`, with margins and parallel margins."""


def evaluate_measured(
    name: str, robot: Robot, state: MeasuredState, options: Mapping[str, Any], others: Mapping[str, Any]
) -> EvaluatedStates:
    """Results of a function of `model_functions` at a measured state.

    Args:
        name: "inverse" or "regressor".
        robot: the robot.
        state: its state.
        options: keyword arguments of the function.
        others: inputs that would accompany a pose, which must be None here.

    Raises:
        KinematicsError: if the state is another robot's, or another input is given.
    """
    if state.robot != robot:
        raise KinematicsError(f"the element state is one of {state.robot.name}, not of {robot.name}")
    superfluous = [key for key, value in others.items() if value is not None and not isinstance(value, bool)]
    if superfluous:
        raise KinematicsError(f"with an element state there is no {superfluous[0]}: it has its own rates")
    return state.evaluate(name, options)


# ---- models at poses


def compiled_model(name: str, robot: Robot, **options: Any) -> Compiled:
    """A function of `model_functions`, compiled for a robot."""
    return compile_native(getattr(model_functions, name), robot, **options)


def pivoted_model(name: str, robot: Robot, **options: Any) -> PivotedFunction:
    """What gives the results of a function of `model_functions` by the tree, where fixed pivots are weak."""
    source = dense_jacobian if name == "jacobian" else getattr(reference, name)

    def evaluate(*states: Array) -> Mapping[str, Array]:
        results: dict[str, Array] = compile_native(source, robot, **options)(*states)
        if name == "forward":
            # Forces determine no acceleration there, whatever a solve makes of them.
            M = compile_native(reference.inertia, robot)(*states[:2])["M"]
            results["acceleration"][is_singular(M)] = np.nan
        if "parallel_margin" in results:
            results["pivot"] = np.sqrt(results.pop("parallel_margin"))
        return results

    return evaluate


def parallel_margin(pivot: Array) -> Array:
    """The smallest pivot (...), a ratio, as the margin of the other forms: a squared ratio, at most 1."""
    ratio = np.minimum(pivot, 1.0)
    return np.asarray(ratio * ratio)


def evaluate_states(
    name: str, robot: Robot, states: tuple[Array, ...], flags: Array, **options: Any
) -> dict[str, Array]:
    """Results, parallel margins and margins of states (batch dimensions broadcast); weak states by the tree.

    Args:
        name: a function of `model_functions` that gives a pivot.
        robot: the robot.
        states: its inputs: poses x (..., nx), passive coordinates y (..., ny), and the others.
        flags: of the iteration (...).
        **options: its keyword arguments.
    """
    results = compiled_model(name, robot, **options)(*states)
    results = reevaluate_with_pivoting(robot, results, states, flags, pivoted_model(name, robot, **options))
    margin = parallel_margin(results.pop("pivot"))
    return {**results, "parallel_margin": margin}


def evaluate_at_poses(
    name: str,
    robot: Robot,
    x: Any,
    *others: Array,
    load: Callable[[Array, Array], Array] | None = None,
    guess: Any = None,
    outputs: str | None = None,
    **options: Any,
) -> EvaluatedStates:
    """A function of `model_functions` at poses x (..., nx) and other inputs, flagged as `evaluated` does.

    Args:
        name: the function.
        robot: the robot.
        x: reduced poses (..., nx).
        *others: its other inputs, with checked last dimensions.
        load: gives its last input at (x, y), where that depends on the pose.
        guess: solutions near by, for robots that need iteration.
        outputs: the outputs that are kept; its own choice if None.
        **options: keyword arguments of the function that the tree has too.
    """
    by_tree = pivoted_model(name, robot, **options)
    if outputs is not None:
        options["outputs"] = outputs
    function = getattr(model_functions, name)
    return evaluate_function(
        function, robot, x, *others, load=load, guess=guess, options=options, pivoted=by_tree
    )


def external_load(robot: Robot, x: Array, y: Array, external: Mapping[str, Any] | None) -> Array:
    """External wrenches as a force along the reduced twist L (..., n), N or N m (see `external`)."""
    if not external:
        return np.zeros(robot.motion.n)
    return np.asarray(
        compile_native(reference.project_external_wrenches, robot)(x, y, stack_wrenches(robot, external))
    )
