"""The models that an FMU holds: the robot under forces, a model of a pose, a controller; each with its C.

The C between the emitted functions and the interface (`interface.h`) is written here: what begins, what
evaluates outputs and derivatives, what advances by a step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nacelle.control.blocks.signals import BRIDGED, DESIRED_REFUSED, FINE, MEASURED_REFUSED, STOPPED
from nacelle.control.controller import Controller
from nacelle.emit.c.parts import c_constant
from nacelle.export.about import Package
from nacelle.export.entry import CLOSING_STEP, Entry
from nacelle.export.fmi.description import NamedUnit, QuantityNames, VariableTable
from nacelle.export.loop import gain_fields, memory_fields
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot

STEP = 1e-3
"""Step of Runge-Kutta's method, s, if nothing else is set; that of `nacelle.simulate`, too."""

_OUT_OF_REACH = "the pose is out of reach"


@dataclass(frozen=True)
class FmuModel:
    """A model of an FMU.

    Attributes:
        table: its variables.
        memory: numbers that it keeps in addition to them.
        begin: body of `model_begin`.
        evaluate: body of `model_evaluate`.
        advance: body of `model_advance`.
        model_exchange: whether there is an interface for Model Exchange.
        period: of a sampled model, s.
    """

    table: VariableTable
    memory: int
    begin: str
    evaluate: str
    advance: str
    model_exchange: bool = True
    period: float | None = None


def _unit_pose(package: Package, at: str) -> str:
    """Lines that copy a pose to x, its quaternion brought to unit length."""
    layout = mechanism_of(package.robot).layout
    lines = [
        f"double x[{layout.nx}];",
        f"memcpy(x, {at}, sizeof x);",
    ]
    quaternion = layout.quaternion
    if quaternion is not None:
        # Scaled first: squares neither overflow nor vanish, and no orientation gives NaN.
        loop = f"for (int i = {quaternion.start}; i < {quaternion.stop}; ++i) {{"
        inside = " + ".join(f"x[{k}] * x[{k}]" for k in range(quaternion.start, quaternion.stop))
        lines += [
            "double largest = 0.0;",
            loop,
            "    largest = fmax(largest, fabs(x[i]));",
            "}",
            loop,
            "    x[i] /= largest;",
            "}",
            f"const double length = sqrt({inside});",
            loop,
            "    x[i] /= length;",
            "}",
        ]
    return "\n".join(lines)


def _unwrap_angles(robot: Robot, at: str, call: str) -> str:
    """A call that gives the actuators' coordinates, whose angles then continue those before it.

    Of motors that may turn freely, and whose turns are not counted already: within half a turn of where they
    were when they were last evaluated.
    """
    known = mechanism_of(robot).axes_with_coordinates
    free = [
        k
        for k, actuator in enumerate(robot.actuators)
        if robot.revolute_actuators[k]
        and (actuator.joint, 0) not in known
        and robot.joints_within_drive_limits[actuator.joint].may_turn(0)
    ]
    if not free:
        return call
    two_pi = c_constant(2.0 * math.pi, "double")
    m = len(robot.actuators)
    return _join_lines(
        f"double last[{m}];",
        f"memcpy(last, {at}, sizeof last);",
        call,
        *(f"({at})[{k}] += {two_pi} * floor((last[{k}] - ({at})[{k}]) / {two_pi} + 0.5);" for k in free),
    )


def _join_lines(*texts: str) -> str:
    return "\n".join(text for text in texts if text)


def plant_model(package: Package) -> FmuModel:
    """The robot under the forces of its actuators: states and derivatives, and steps of Runge-Kutta's method.

    Args:
        package: of a plant, with the entry "plant_rates" in addition.
    """
    name, robot = package.name, package.robot
    mechanism, names, table = mechanism_of(robot), QuantityNames(robot), VariableTable()
    pose, twist = names.start_names()
    nx, ny = mechanism.layout.nx, mechanism.unknown_count
    table.add("x0", "parameter", pose, "pose at the start", start=mechanism.reference[0])
    table.add("v0", "parameter", twist, "reduced twist at the start", start=[0.0] * len(twist))
    table.add(
        "step",
        "parameter",
        [("step", "s")],
        "longest step of the Runge-Kutta method in co-simulation",
        start=[STEP],
    )
    table.add("force", "input", names.force, "force of an actuator", start=[0.0] * len(names.force))
    table.add("q", "output", names.position, "coordinate of an actuator")
    table.add("qd", "output", names.rate, "rate of an actuator")
    table.add("x", "output", names.pose, "pose of the platform")
    table.add("v", "output", names.twist, "reduced twist of the platform")
    states: list[NamedUnit] = [
        *((f"state.{key}", unit) for key, unit in names.coordinates),
        *((f"state.{key.removeprefix('twist.')}", unit) for key, unit in names.twist),
        *((f"state.y[{k}]", "") for k in range(ny)),
    ]
    table.add_states(states, _STATES)
    y, state = "y, " if ny else "", table.at("state")
    begin = _join_lines(
        _unit_pose(package, table.at("x0")),
        f"double y[{ny}];" if ny else "",
        f"if ({name}_assemble(x{', y' if ny else ''}) != 0) {{",
        f'    return "{_OUT_OF_REACH}";',
        "}",
        f"{name}_plant_state(x, {y}{table.at('v0')}, {state});",
        f"{name}_plant_encoders({state}, {table.at('q')});",
        "return NULL;",
    )
    evaluate = _join_lines(
        f"{name}_plant({state}, {table.at('force')}, {table.at('derivative')});",
        _unwrap_angles(robot, table.at("q"), f"{name}_plant_encoders({state}, {table.at('q')});"),
        f"{name}_plant_rates({state}, {table.at('qd')});",
        f"{name}_plant_pose({state}, {table.at('x')}, {table.at('v')});",
        "return NULL;",
    )
    step = f"values[{table.slices['step'].start}]"
    advance = _join_lines(
        f"if (!({step} > 0.0)) {{",
        '    return "the step is not positive";',
        "}",
        # A step that divides the communication step but for rounding is kept.
        f"const double count = ceil(h / {step} - 1e-9);",
        "const size_t steps = count < 1.0 ? 1 : (size_t)count;",
        "const double part = h / (double)steps;",
        f"if ({name}_plant_rk4({state}, {table.at('force')}, 0, part, steps, 0, NULL, NULL) != 0) {{",
        '    return "the state is not finite";',
        "}",
        "return NULL;",
    )
    assert nx == len(pose)
    return FmuModel(table, 0, begin, evaluate, advance)


_STATES = "pose (a rotation vector from the reference orientation for a quaternion), twist, iterated joints"


def pose_model(package: Package, entry: Entry) -> FmuModel:
    """A model of the pose, such as inverse dynamics: outputs follow from inputs at every instant.

    Args:
        package: of the model; where it has passive coordinates, with the function that starts it.
        entry: the model.
    """
    name, robot = package.name, package.robot
    mechanism, names, table = mechanism_of(robot), QuantityNames(robot), VariableTable()
    iterated = any(variable.name == "y" for variable in entry.program.inputs)
    inputs: Mapping[str, Sequence[NamedUnit]] = {
        "x": names.pose,
        "v": names.twist,
        "a": names.acceleration,
        "tau": names.force,
        "q": names.position,
        "q_dot": names.rate,
    }
    outputs: Mapping[str, Sequence[NamedUnit]] = {"force": names.force, "active": names.position}
    arguments = []
    for variable in entry.program.inputs:
        if variable.name == "y":
            arguments.append("memory")
            continue
        named = inputs.get(variable.name) or _entry_names(variable.name, variable.size)
        start = mechanism.reference[0] if variable.name == "x" else [0.0] * variable.size
        about = entry.descriptions.get(variable.name, "").split(";")[0]
        table.add(variable.name, "input", named, about, start=start)
        arguments.append("x" if variable.name == "x" else table.at(variable.name))
    for variable in entry.program.outputs:
        named = outputs.get(variable.name) or _entry_names(variable.name, variable.size)
        # An input and an output of one name get different names.
        used = {scalar.name for scalar in table.scalars}
        named = [(f"out.{key}" if key in used else key, unit) for key, unit in named]
        table.add(
            f"out {variable.name}", "output", named, entry.descriptions.get(variable.name, "").split(";")[0]
        )
        arguments.append(table.at(f"out {variable.name}"))
    from_pose = "x" in table.slices
    pose = _unit_pose(package, table.at("x")) if from_pose else ""
    begin = close = ""
    if iterated:
        missed = [
            f"    if ({name}_assemble(x, memory) != 0) {{",
            f'        return "{_OUT_OF_REACH}";',
            "    }",
        ]
        begin = _join_lines(pose, "{", *missed, "}")
        close = _join_lines(
            f"if ({name}_{CLOSING_STEP}_newton(memory, x, 1e-12, 20, NULL, 0, NULL, NULL) != 0) {{",
            *missed,
            "}",
        )
    call = f"{name}_{entry.label}({', '.join(arguments)});"
    if "out active" in table.slices:
        # Angles continue those at the start.
        begin = _join_lines(begin or pose, call)
        evaluate = _join_lines(
            pose, close, _unwrap_angles(robot, table.at("out active"), call), "return NULL;"
        )
    else:
        evaluate = _join_lines(pose, close, call, "return NULL;")
    return FmuModel(
        table,
        mechanism.unknown_count if iterated else 0,
        _join_lines(begin, "return NULL;"),
        evaluate,
        "return NULL;",
    )


def _entry_names(name: str, size: int) -> list[NamedUnit]:
    """Names of the entries of an array without names of their own."""
    return [(name, "")] if size == 1 else [(f"{name}[{k + 1}]", "") for k in range(size)]


def controller_model(package: Package, controller: Controller) -> FmuModel:
    """A controller: samples at its own period, forces held between them."""
    name, robot = package.name, package.robot
    names, table = QuantityNames(robot), VariableTable()
    pose, _ = names.start_names()
    reference = mechanism_of(robot).reference[0]
    memory, gains = memory_fields(controller).size, gain_fields(controller)
    table.add("x0", "parameter", pose, "pose at the start, at rest", start=reference)
    parts: list[NamedUnit] = [
        (key, "")
        for part, size in gains.sizes.items()
        for key, _ in _entry_names(f"gain.{part}", size)[:size]
    ]
    table.add("gains", "parameter", parts, "gain", start=controller.gains, tunable=True)
    table.add("q", "input", names.position, "reading of an actuator", start=controller.coordinates(reference))
    for group, named, what in (
        ("x", names.pose, "desired pose"),
        ("v", names.twist, "desired reduced twist"),
        ("a", names.acceleration, "its derivative"),
    ):
        start = reference if group == "x" else [0.0] * len(named)
        variables = [(f"desired.{key}", unit) for key, unit in named]
        table.add(group, "input", variables, what, start=start)
    table.add("force", "output", names.force, "force of an actuator")
    table.add(
        "status",
        "output",
        [("status", "")],
        f"{FINE} well, {BRIDGED} readings missing and bridged, {STOPPED} stopped, {DESIRED_REFUSED} desired "
        f"motion or {MEASURED_REFUSED} measured state not admissible",
    )
    struct = f"{name}_controller"
    status, period = f"values[{table.slices['status'].start}]", c_constant(controller.period, "double")
    begin = _join_lines(
        _unit_pose(package, table.at("x0")),
        f"{struct} c;",
        f"if ({struct}_reset(&c, x) != 0) {{",
        f'    return "{_OUT_OF_REACH}";',
        "}",
        "memcpy(memory, c.memory, sizeof c.memory);",
        f"memory[{memory}] = 0.0; /* samples taken */",
        f"memory[{memory + 1}] = values[0]; /* time of the first */",
        f"memset({table.at('force')}, 0, {len(names.force)} * sizeof(double));",
        f"{status} = 0.0;",
        "return NULL;",
    )
    arguments = ", ".join(table.at(group) for group in ("q", "x", "v", "a", "force"))
    advance = _join_lines(
        f"{struct} c;",
        "memcpy(c.memory, memory, sizeof c.memory);",
        f"memcpy(c.gains, {table.at('gains')}, sizeof c.gains);",
        # Samples in [t, t + h), whatever rounding makes of their times.
        f"while (memory[{memory + 1}] + memory[{memory}] * {period} < values[0] + h - 1e-6 * {period}) {{",
        f"    {status} = (double){struct}_step(&c, {arguments});",
        f"    memory[{memory}] += 1.0;",
        "}",
        "memcpy(memory, c.memory, sizeof c.memory);",
        "return NULL;",
    )
    return FmuModel(table, memory + 2, begin, "return NULL;", advance, False, controller.period)
