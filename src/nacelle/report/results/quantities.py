"""What every result holds: its quantities.

There is a function for every class of results, with the name of the class in snake case, by which
`quantities` finds it. Classes are named for type checkers alone, so that drawing one result imports no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nacelle.errors import NacelleError, did_you_mean
from nacelle.report.results import names
from nacelle.report.results.quantity import (
    SAMPLE,
    TIME,
    ResultQuantity,
    make_quantity,
    make_single_quantity,
    spaced_class_name,
)
from nacelle.report.results.units import base_units, row_units
from nacelle.spatial.scalar import Array

if TYPE_CHECKING:
    from nacelle.control.loop.run import ControlRun
    from nacelle.dynamics.derivatives.linear import LinearModel
    from nacelle.dynamics.forward import ForwardDynamics
    from nacelle.dynamics.gravity_balance import GravityBalance
    from nacelle.dynamics.inverse import InverseDynamics
    from nacelle.dynamics.reactions import PeakReactions, Reactions
    from nacelle.dynamics.regressor import Regressor
    from nacelle.dynamics.sizing import Sizing
    from nacelle.elastic.linear.frequencies import FrequencyMap, NaturalFrequencies
    from nacelle.elastic.linear.statics import Buckling, StaticDeflection
    from nacelle.elastic.shaping import ResidualVibration, ShapedMotion
    from nacelle.identification.consistency.consistent import ConsistentParameters
    from nacelle.identification.data.measurement import Measurement
    from nacelle.identification.data.preparation import Samples
    from nacelle.identification.estimation.estimator import Estimator
    from nacelle.identification.excitation.result import Excitation
    from nacelle.identification.experiment.simulated import SimulatedExperiment
    from nacelle.identification.identify import Identification
    from nacelle.identification.validation import Validation
    from nacelle.kinematics.forward import ForwardKinematics
    from nacelle.kinematics.jacobian import Jacobian, Singularities
    from nacelle.kinematics.motion import BodyMotion, JointMotion
    from nacelle.kinematics.solve.inverse import InverseKinematics
    from nacelle.kinematics.tools import ToolPose
    from nacelle.motion.time_optimal import TimeOptimal
    from nacelle.papers.elements.project import ElementProjection
    from nacelle.papers.elements.state import ElementState
    from nacelle.simulation.simulate import Simulation
    from nacelle.trajectory import Trajectory, Waypoints
    from nacelle.vision.observation import Observation


# ---- joints, poses, measures of singularity, motions


# Samples of a trajectory that are drawn, at least.
_SAMPLES = 400
# What the components of variables of the element state are called, and their units.
_COMPONENTS = ("x", "y", "z")


def inverse_kinematics(result: InverseKinematics) -> list[ResultQuantity]:
    """Coordinates of the actuators, and how far legs are from serial singularities."""
    robot = result.robot
    margins = np.asarray(result.margins)
    return [
        make_quantity("actuators", names.actuators(robot, "coordinate"), result.q),
        make_quantity("margins", names.legs(robot, margins.shape[-1]), margins, label="margin of a leg"),
    ]


def forward_kinematics(result: ForwardKinematics) -> list[ResultQuantity]:
    """The poses, and Newton's steps to them."""
    robot = result.robot
    return [
        make_quantity("pose", names.pose(robot.motion, robot), result.x),
        make_single_quantity("iterations", "-", result.iterations),
    ]


def jacobian(result: Jacobian) -> list[ResultQuantity]:
    """How well conditioned the poses are."""
    return [make_single_quantity("inverse condition number", "-", result.conditioning)]


def singularities(result: Singularities) -> list[ResultQuantity]:
    """The measures: 0 at a singularity."""
    serial = np.asarray(result.serial, dtype=float)
    labels = names.legs(result.robot, serial.shape[-1])
    labels = [(f"serial, {name}", unit) for name, unit in labels]
    labels += [("parallel", "-"), ("constraint", "-")]
    platform_measures = [
        np.asarray(part, dtype=float)[..., None] for part in (result.parallel, result.constraint)
    ]
    values = np.concatenate([serial, *platform_measures], axis=-1)
    return [make_quantity("measures", labels, values, label="distance from singularity")]


def body_motion(result: BodyMotion) -> list[ResultQuantity]:
    """Speeds of all bodies, and sizes of their accelerations."""
    bodies = [body.name for body in result.robot.bodies]
    both = []
    for key, values, units in (
        ("speeds", result.twist, ("m/s", "rad/s")),
        ("accelerations", result.acceleration, ("m/s^2", "rad/s^2")),
    ):
        parts = [np.linalg.norm(np.asarray(values)[..., part], axis=-1) for part in (slice(3), slice(3, 6))]
        labels = [(name, unit) for unit in units for name in bodies]
        both.append(make_quantity(key, labels, np.concatenate(parts, axis=-1)))
    return both


def joint_motion(result: JointMotion) -> list[ResultQuantity]:
    """Coordinates, rates and accelerations of the actuators."""
    kinds = ("coordinate", "rate", "acceleration")
    return [
        make_quantity(f"{kind}s", names.actuators(result.robot, kind), values)
        for kind, values in zip(kinds, result.actuators, strict=True)
    ]


def tool_pose(result: ToolPose) -> list[ResultQuantity]:
    """Where the tool is, and its orientation."""
    return [
        make_quantity("position", [(name, "m") for name in "xyz"], result.p),
        make_quantity("quaternion", [(f"q{name}", "-") for name in "xyzw"], result.quat_xyzw),
    ]


def trajectory(result: Trajectory) -> list[ResultQuantity]:
    """Pose, twist and acceleration over time."""
    knots = np.asarray(result.knots, dtype=float)
    times = np.unique(np.concatenate([knots, np.linspace(0.0, result.duration, _SAMPLES)]))
    sample, motion = result(times), result.motion
    over = {"x_label": TIME, "x": times}
    return [
        make_quantity("pose", names.pose(motion), sample.x, **over),
        make_quantity("twist", names.twist(motion, "rate"), sample.v, **over),
        make_quantity("acceleration", names.twist(motion, "acceleration"), sample.a, **over),
    ]


def waypoints(result: Waypoints) -> list[ResultQuantity]:
    """The poses, over time where they have times."""
    over = {} if result.times is None else {"x_label": TIME, "x": np.asarray(result.times)}
    return [make_quantity("pose", names.pose(result.motion), result.points, **over)]


def element_state(result: ElementState) -> list[ResultQuantity]:
    """Directions, lengths and angles of the elements; first and second derivatives are left out."""
    labels, columns = [], []
    for variable in result.layout.variables:
        values = np.asarray(result.values[variable.name], dtype=float)
        unit = {"direction": "-", "length": "m", "point": "m"}.get(variable.kind)
        if unit is None:
            joint = result.robot.joints[variable.number]
            unit = "rad" if joint.primitives[0].is_rotation else "m"
        if variable.is_vector:
            value = values[..., 0, :]
            parts = _COMPONENTS if value.shape[-1] == 3 else tuple(str(k) for k in range(value.shape[-1]))
            labels += [(f"{variable.name}.{part}", unit) for part in parts]
            columns.append(value)
        else:
            labels.append((variable.name, unit))
            columns.append(values[..., 0, None])
    joined = np.concatenate(columns, axis=-1) if columns else np.zeros(0)
    return [make_quantity("variables", labels, joined)]


def element_projection(result: ElementProjection) -> list[ResultQuantity]:
    """Standard deviations of the pose."""
    robot = result.state.robot
    deviation = np.sqrt(np.maximum(np.diag(result.covariance), 0.0))
    labels = names.twist(robot.motion, "coordinate", robot)
    return [make_quantity("standard deviations", labels, deviation, label="standard deviation")]


# ---- forces, accelerations, reactions, simulations


def inverse_dynamics(result: InverseDynamics) -> list[ResultQuantity]:
    """Forces of the actuators."""
    return [make_quantity("forces", names.actuators(result.robot), result.tau)]


def forward_dynamics(result: ForwardDynamics) -> list[ResultQuantity]:
    """Accelerations of the nacelle."""
    labels = names.twist(result.robot.motion, "acceleration", result.robot)
    return [make_quantity("acceleration", labels, result.a)]


def regressor(result: Regressor) -> list[ResultQuantity]:
    """Forces by the robot's own parameters."""
    return [make_quantity("forces", names.actuators(result.robot), result.Y @ result.parameters.values)]


def reactions(result: Reactions, **over: Any) -> list[ResultQuantity]:
    """Sizes of the forces and moments that joints transmit."""
    wrench = np.asarray(result.wrench, dtype=float)[..., list(result.robot.described_joints), :]
    force, moment = (np.linalg.norm(wrench[..., part], axis=-1) for part in (slice(3), slice(3, 6)))
    return [
        make_quantity("forces", names.joints(result.robot, "N"), force, **over),
        make_quantity("moments", names.joints(result.robot, "N m"), moment, label="moment", **over),
    ]


def peak_reactions(result: PeakReactions) -> list[ResultQuantity]:
    """The same along a motion."""
    return reactions(result.reactions, x_label=TIME, x=result.times)


def sizing(result: Sizing) -> list[ResultQuantity]:
    """Forces, rates and coordinates of the actuators along a motion."""
    over = {"x_label": TIME, "x": result.times}
    return [
        make_quantity("forces", names.actuators(result.robot), result.tau, **over),
        make_quantity("rates", names.actuators(result.robot, "rate"), result.rate, **over),
        make_quantity("coordinates", names.actuators(result.robot, "coordinate"), result.q, **over),
    ]


def time_optimal(result: TimeOptimal) -> list[ResultQuantity]:
    """The phase plane, and the forces of the actuators over their limits along the motion."""
    motion = result.trajectory
    times = np.unique(np.concatenate([motion.knots, np.linspace(0.0, motion.duration, _SAMPLES)]))
    s, speed, _ = motion.progress(times)
    return _timing_quantities(result, times, s, speed)


def shaped_motion(result: ShapedMotion) -> list[ResultQuantity]:
    """As of the fastest motion, and the natural frequencies along the path."""
    times = np.linspace(0.0, result.duration, _SAMPLES)
    s, speed, _ = result.law(times)
    f = result.frequencies
    return [
        *_timing_quantities(result, times, s, speed),
        make_quantity(
            "frequencies",
            _mode_labels(f.shape[1], "Hz"),
            f,
            label="natural frequency",
            x_label="path s (-)",
            x=result.s,
        ),
    ]


def _timing_quantities(
    result: TimeOptimal | ShapedMotion, times: Array, s: Array, speed: Array
) -> list[ResultQuantity]:
    """The phase plane of a timing, and the forces of the actuators over their limits."""
    labels = [(actuator.name, "-") for actuator in result.robot.actuators]
    used = result.force_use(times)
    return [
        make_single_quantity("phase plane", "1/s", speed, label="speed s'", x_label="path s (-)", x=s),
        make_quantity("forces", labels, used, label="force / limit", x_label=TIME, x=times),
    ]


def residual_vibration(result: ResidualVibration) -> list[ResultQuantity]:
    """Displacement of the platform from rest after the stop."""
    labels = names.pose(result.robot.motion, result.robot)
    over = {"x_label": TIME, "x": result.t}
    return [make_quantity("displacement", labels, result.displacement, label="displacement", **over)]


def gravity_balance(result: GravityBalance) -> list[ResultQuantity]:
    """Forces that hold the poses, before and after."""
    labels = names.actuators(result.robot)
    return [
        make_quantity("before", labels, result.before),
        make_quantity("after", labels, result.after),
    ]


def linear_model(result: LinearModel) -> list[ResultQuantity]:
    """Undamped natural frequencies."""
    values = np.asarray(result.natural_frequencies, dtype=float)
    labels = [(f"mode {k + 1}", "Hz") for k in range(values.shape[-1])]
    return [make_quantity("natural frequencies", labels, values, label="natural frequency")]


def simulation(run: Simulation) -> list[ResultQuantity]:
    """Pose, twist, forces, energies since the start and what is missing of them."""
    labels, over = run.plant.labels, {"x_label": TIME, "x": run.t}
    forces = [(name.removesuffix(".force"), unit) for name, unit in labels.inputs]
    listing = [
        make_quantity("pose", list(labels.x), run.x, **over),
        make_quantity("twist", list(labels.v), run.v, **over),
        make_quantity("forces", forces, run.tau, **over),
    ]
    if not run.t.size:
        return listing
    energies = {**{name: run.energies[name] for name in ("kinetic", "potential")}, "together": run.energy}
    energies |= {"work of forces": run.work, "dissipated": run.dissipated_energy}
    # Only changes mean something: heights are counted from anywhere.
    since = np.column_stack([values - values[0] for values in energies.values()])
    energy_labels = [(name, "J") for name in energies]
    listing.append(make_quantity("energies", energy_labels, since, label="energy since start", **over))
    return [*listing, make_single_quantity("balance", "J", run.balance, label="missing energy", **over)]


# ---- flexible robots


_AXES = (("x", "m"), ("y", "m"), ("z", "m"), ("rx", "rad"), ("ry", "rad"), ("rz", "rad"))


def natural_frequencies(result: NaturalFrequencies) -> list[ResultQuantity]:
    """Frequencies and damping ratios of all modes."""
    modes = result.frequencies.shape[-1]
    return [
        make_quantity(
            "frequencies", _mode_labels(modes, "Hz"), result.frequencies, label="natural frequency"
        ),
        make_quantity("damping", _mode_labels(modes, "-"), result.damping, label="damping ratio"),
    ]


def frequency_map(result: FrequencyMap) -> list[ResultQuantity]:
    """Frequencies of all modes over the map."""
    values = np.asarray(result.frequencies, dtype=float)
    return [
        make_quantity("frequencies", _mode_labels(values.shape[-1], "Hz"), values, label="natural frequency")
    ]


def buckling(result: Buckling) -> list[ResultQuantity]:
    """Load factors at which the robot buckles; infinite ones are left open."""
    values = np.asarray(result.factors, dtype=float)
    return [make_quantity("factors", _mode_labels(values.shape[-1], "-"), values, label="load factor")]


def static_deflection(result: StaticDeflection) -> list[ResultQuantity]:
    """Displacement of the platform, forces that hold the robot, and how far the load may grow."""
    return [
        make_quantity("displacement", list(_AXES), result.displacement(), label="displacement"),
        make_quantity("forces", names.actuators(result.robot), result.tau),
        make_single_quantity("load factor", "-", result.factor),
    ]


def _mode_labels(count: int, unit: str) -> list[tuple[str, str]]:
    return [(f"mode {k + 1}", unit) for k in range(count)]


# ---- closed loops, and what cameras see


def control_run(run: ControlRun) -> list[ResultQuantity]:
    """Errors and acting forces of the actuators, and errors of the tool."""
    over = {"x_label": TIME, "x": run.time}
    contour = "rad" if run.is_rotation_only else "m"
    tool = [("tool", "m"), ("turn", "rad"), ("contour", contour)]
    if not run.samples:
        return []
    return [
        make_quantity("errors", names.actuators(run.robot, "coordinate"), run.error, label="error", **over),
        make_quantity(
            "tool",
            tool,
            np.column_stack([run.tool_error, run.rotation_error, run.contour_error]),
            label="error of the tool",
            **over,
        ),
        make_quantity("forces", names.actuators(run.robot), run.acting_forces, **over),
    ]


def observation(seen: Observation) -> list[ResultQuantity]:
    """Standard deviations of the pose that the edges give, and its errors."""
    if seen.pose is None:
        return []
    labels = names.twist(seen.robot.motion, "coordinate", seen.robot)
    listing = [make_quantity("standard deviations", labels, seen.pose.sigma, label="standard deviation")]
    if seen.error is not None:
        listing.append(make_quantity("errors", labels, seen.error, label="error"))
    return listing


# ---- experiments and estimates


def sample_axis(times: Array) -> dict[str, Any]:
    """The axis of samples: time, or their number where several runs follow one another."""
    times = np.asarray(times, dtype=float)
    rising = bool(np.all(np.diff(times) > 0.0)) and bool(np.all(np.isfinite(times)))
    return {"x_label": TIME, "x": times} if rising else {"x_label": SAMPLE}


def excitation(result: Excitation) -> list[ResultQuantity]:
    """The pose over time, how much of the limits is used, and the singular values."""
    values = np.asarray(result.singular_values, dtype=float)
    uses = [(f"{use.kind}, {use.name}" if use.name else use.kind, "-") for use in result.uses]
    number = {"x_label": "number of the singular value (-)", "logarithmic": True}
    return [
        trajectory(result.trajectory)[0],
        make_quantity("singular values", [("singular value", "-")], values[:, None], **number),
        make_quantity("uses", uses, [use.use for use in result.uses], label="use of a limit, 1 at the limit"),
    ]


def measurement(result: Measurement) -> list[ResultQuantity]:
    """Measured coordinates and forces of the actuators."""
    over = sample_axis(result.time)
    return [
        make_quantity("coordinates", names.actuators(result.robot, "coordinate"), result.q, **over),
        make_quantity("forces", names.actuators(result.robot), result.tau, **over),
    ]


def samples(result: Samples) -> list[ResultQuantity]:
    """Pose, twist and forces after filtering."""
    robot, over = result.robot, sample_axis(result.time)
    return [
        make_quantity("pose", names.pose(robot.motion, robot), result.motion.x, **over),
        make_quantity("twist", names.twist(robot.motion, "rate", robot), result.motion.v, **over),
        make_quantity("forces", names.actuators(robot), result.tau, **over),
    ]


def simulated_experiment(result: SimulatedExperiment) -> list[ResultQuantity]:
    """True forces of the motors, and how far the coordinates are from the reference."""
    robot, over = result.robot, sample_axis(result.time)
    lengths = names.actuators(robot, "coordinate")
    return [
        make_quantity("forces", names.actuators(robot), result.tau, **over),
        make_quantity("tracking error", lengths, result.tracking_error, label="tracking error", **over),
    ]


def validation(result: Validation) -> list[ResultQuantity]:
    """Measured forces less predicted ones; rows that do not count are zero."""
    labels = list(zip(result.rows, row_units(result.regression), strict=True))
    over = sample_axis(result.regression.time)
    return [
        make_quantity("measured", labels, result.measured, **over),
        make_quantity("residuals", labels, result.residuals, label="residual", **over),
    ]


def estimator(result: Estimator) -> list[ResultQuantity]:
    """The estimates; none before they are fitted."""
    if not hasattr(result, "coef_"):
        return []
    labels = list(zip(result.base_.names, base_units(result.base_), strict=True))
    return [
        make_quantity("estimates", labels, result.coef_),
        make_quantity("standard deviations", labels, result.std_),
    ]


def identification(result: Identification) -> list[ResultQuantity]:
    """The estimates of the base parameters, with their deviations by noise and by geometry."""
    labels = list(zip(result.base.names, base_units(result.base), strict=True))
    return [*estimator(result.estimator), make_quantity("systematic deviations", labels, result.systematic)]


def consistent_parameters(result: ConsistentParameters) -> list[ResultQuantity]:
    """By how many of its own standard deviations each base parameter was moved."""
    labels = [(name, "-") for name in result.base.names]
    return [make_quantity("moved", labels, result.changed_parameters, label="moved by standard deviations")]


# ---- any of them


def quantities(result: Any) -> list[ResultQuantity]:
    """All quantities of a result; none of what has no numbers with names."""
    for parent in type(result).__mro__:
        function = globals().get(spaced_class_name(parent.__name__).replace(" ", "_"))
        if function is not None:
            listing: list[ResultQuantity] = function(result)
            return listing
    return []


def select_quantities(result: Any, keys: tuple[str, ...]) -> list[ResultQuantity]:
    """The quantities of a result with these keys.

    Raises:
        NacelleError: if it has none of such a name.
    """
    by_key = {quantity.key: quantity for quantity in quantities(result)}
    for key in keys:
        if key not in by_key:
            raise NacelleError(f"{type(result).__name__} has no {key!r}; {did_you_mean(key, tuple(by_key))}")
    return [by_key[key] for key in keys]
