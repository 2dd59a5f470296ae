"""The actuators' forces as a linear form in the parameters: force = Y p.

The wrench of a body is linear in its ten parameters [m, h (3,), I (6,)] about its origin, body axes:

    f = m a + T h,    n = h x a + I w' + w x (I w),    T h = w' x h + w x (w x h)

a (3,) acceleration of the origin less gravity, w (3,) angular velocity. Friction is linear in its
coefficients ([AGH2005] (24), (25)), springs in k and k q_0, rotors in i^2 J. All are projected by matrices
that depend on the motion alone, so the actuator forces are

    Gamma = Y(x, v, dv/dt) p        Y (actuators, parameters)        [CB1997] (34), [AGH2005] (17)-(20)

With a reference, M dv_r/dt + C v_r + g takes the place of the inertial forces (`reference_motion`). Columns
that are always zero or depend on others are what `base_parameters` leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.dynamics import evaluation
from nacelle.dynamics.base_parameters.choice import ParameterSet, choose_parameters, column_options
from nacelle.dynamics.evaluation import MeasuredState, evaluate_measured
from nacelle.dynamics.inverse import flag_parallel_singularities
from nacelle.dynamics.physics import Physics
from nacelle.errors import KinematicsError
from nacelle.kinematics.flags import Flagged, has_failed
from nacelle.kinematics.motion import EvaluatedStates, solve_loops
from nacelle.kinematics.pose_input import check_rates, check_twist_and_derivative
from nacelle.model.linear_parameters import LinearParameters, linear_parameters
from nacelle.model.robot import Robot
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array


@dataclass(frozen=True, eq=False, repr=False)
class Regressor(Flagged, Plottable):
    """The linear form of the actuators' forces.

    Attributes:
        robot: the robot.
        x: poses (..., nx).
        y: passive coordinates, solved numerically (..., ny).
        Y: (..., actuators, parameters) with force = Y p; SI units.
        parameters: names and values of p, in the order of the columns.
        margins: how far every leg is from a serial singularity (..., legs), as in `inverse_kinematics`.
        parallel_margin: how far the pose is from a parallel singularity (...): a squared ratio, 1 at best.
        flags: for every state what was found (`Flag`).
    """

    robot: Robot
    x: Array
    y: Array
    Y: Array
    parameters: LinearParameters
    margins: Array
    parallel_margin: Array
    flags: Array


def regressor(
    robot: Robot,
    x: Any,
    v: Any = None,
    a: Any = None,
    *,
    v_ref: Any = None,
    a_ref: Any = None,
    friction: bool = True,
    smooth: float | None = None,
    guess: Any = None,
    parameters: ParameterSet | None = None,
    shared: object = None,
) -> Regressor:
    """Find Y (actuators, parameters) with force = Y p at a motion of the platform.

    tau = Y(x, v, a) p.

    With a reference the forces are those of M a_ref + C(x, v) v_ref + g along the reduced twist, for control
    with adapted parameters: M' - 2 C is skew-symmetric. Friction is that of the motion v, springs that of
    the pose.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame; or an `ElementState`, which has
            its rates.
        v: reduced twists (..., n), m/s and rad/s in base axes; zero if None.
        a: their derivatives (..., n), m/s^2 and rad/s^2 in base axes; zero if None.
        v_ref: reduced twists of a reference (..., n), in the place of a; zero if only `a_ref` is given.
        a_ref: derivatives of the reference (..., n); zero if only `v_ref` is given.
        friction: whether friction counts; its columns are zero if not.
        smooth: rate (rad/s, m/s) over which Coulomb friction changes its sign smoothly; at once if None.
        guess: solutions near by, as in `inverse_dynamics`.
        parameters: those that have columns: `base_parameters(robot)`; all linear parameters if None.
        shared: legs that share their parameters, as in `base_parameters`; their columns are added up,
            those of mirrored legs with signs. As the description says if None; False for all columns.

    Returns:
        Matrix Y (..., actuators, parameters), N or N m for one SI unit of each parameter, with margins and
        flags.

    Raises:
        KinematicsError: if shapes are wrong, both a and a reference are given, or a single state is not
            finite.
        UnreachableError: if a single pose is out of reach; in a batch it is flagged, with NaN.
        SingularError: if a single pose is a parallel singularity; in a batch it is flagged, with NaN.
    """
    referred = v_ref is not None or a_ref is not None
    if referred and a is not None:
        raise KinematicsError("give the acceleration a, or a reference v_ref and a_ref, not both")
    if parameters is not None and shared is not None:
        raise KinematicsError("give parameters, or legs that share theirs, not both")
    if parameters is None and (shared is not None or robot.shared is not None):
        parameters = choose_parameters(robot, "nothing", shared)
    options = {"physics": Physics(friction, smooth), **column_options(parameters)}
    if isinstance(x, MeasuredState):
        others = {"twist v": v, "acceleration a": a, "reference v_ref": v_ref, "reference a_ref": a_ref}
        return _flag_regressor(
            robot, evaluate_measured("regressor", robot, x, options, others | {"guess": guess}), parameters
        )
    v, a = check_twist_and_derivative(robot, v, a)
    name = "regressor"
    rates: tuple[Array, ...] = (v, a)
    if referred:
        still = np.zeros(robot.motion.n)
        v_ref = check_rates(robot, "the reference v_ref", still if v_ref is None else v_ref)
        a_ref = check_rates(robot, "the reference a_ref", still if a_ref is None else a_ref)
        name, rates = "reference_regressor", (v, v_ref, a_ref)
    poses, y, flags = solve_loops(robot, x, *rates, guess=guess)
    results = evaluation.evaluate_states(name, robot, (poses, y, *rates), flags, **options)
    return _flag_regressor(robot, EvaluatedStates(poses, y, results, flags), parameters)


def _flag_regressor(robot: Robot, at: EvaluatedStates, parameters: ParameterSet | None) -> Regressor:
    """The regressor with flags, and what its columns belong to."""
    poses, y, results, flags = at
    margin = results.pop("parallel_margin")
    flags = flag_parallel_singularities(robot, poses, y, results, margin, flags)
    results["Y"][has_failed(flags)] = np.nan
    columns = linear_parameters(robot)
    if parameters is not None:
        columns = LinearParameters(parameters.names, parameters.values)
    return Regressor(robot, poses, y, results["Y"], columns, results["margins"], margin, flags)
