"""The target `linuxcnc`: a folder with a kinematics module, a simulated machine, and a README."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nacelle.errors import ExportError
from nacelle.export.about import Package, escape_markdown
from nacelle.export.c.kinematics import kinematics_tolerances
from nacelle.export.c.package import package_code
from nacelle.export.entry import KINEMATICS
from nacelle.export.linuxcnc.axes import unit_name
from nacelle.export.linuxcnc.machine import Machine
from nacelle.export.linuxcnc.module import REASONS, component_name, geometry_names, hal_name, module_source
from nacelle.export.target import ExportTarget
from nacelle.export.vectors import TOLERANCES, ReferenceVectors

_README = """\
# {comp}

Kinematics of the robot {robot} for LinuxCNC, and a simulated machine around them.
Written by nacelle {version}. Hash of the robot's structure and numbers: `{hash}`.

| file | what it is |
|---|---|
| `{comp}.comp` | the kinematics module, one file |
| `{name}.ini`, `{name}.hal`, `{name}.tbl` | a simulated machine: what is commanded is measured |
| `{name}.ngc` | a program: lines, arcs and rotations around the reference pose |

## Building and running

    sudo halcompile --install {comp}.comp
    linuxcnc {name}.ini

`halcompile` is in the package `linuxcnc-uspace-dev`. The module is for user space (uspace) and computes in
double.

## Axes and joints

| axis | coordinate | unit | at the reference pose |
|---|---|---|---|
{axes}

{orientation}| joint | actuator | unit | home |
|---|---|---|---|
{joints}

Joints are the coordinates of the actuators. The machine homes where it stands, at the reference pose: with
real drives give each joint its switch, and `HOME_OFFSET` so that the joint reads the actuator's coordinate.
Limits of joints are those of the description. Limits of axes say how far each alone moves from the reference
pose; what lies within them and cannot be reached the kinematics refuse.

## Pins

| pin of `{pins}` | what it is |
|---|---|
| `inverse.status`, `forward.status` | what the last call returned, below |
| `inverse.margin`, `forward.margin` | smallest reach margin of a leg: 0 at a serial singularity |
| `inverse.way`, `forward.way` | way to the nearest limit of a joint or drive, rad or m |
| `inverse.count`, `forward.count` | evaluations of the last call |
| `worst-count` | most evaluations of a call since `clear` |
| `refused`, `reason` | whether a pose was refused, and the status; kept until the input `clear` is true |

| status | meaning |
|---|---|
{reasons}

From 2 on a pose is refused, and at status 1, too, unless the parameter `ignore-limits` is 1. Then LinuxCNC
stops the motion or does not begin it, and shows the reason as a message. A result is connected with the last
good one, so the platform never changes its assembly unseen. Until all joints are homed the forward kinematics
may have no result.

`loadrt {comp} trace_file=/tmp/calls trace_calls=100000` keeps the first calls and writes them when the
module is unloaded, doubles in rows: 0 forward, 1 inverse; status; X Y Z A B C U V W; the joints.

{geometry}## License

These files are under 0BSD, `LICENSE.txt`: use them as you like. The module says `license "GPL"`, since it
is linked into LinuxCNC, which is under the GPL; 0BSD permits that.
"""

_ORIENTATION = """\
The orientation is R = Rz(C) Ry(B) Rx(A), which takes vectors from the platform's axes to those of the base.
Near B = 90 degrees A and C turn about the same axis: stay away from it.

"""


_GEOMETRY = """\
## Geometry

The geometry of the robot are parameters of HAL in m and rad, here with the numbers of the description:

| parameter of `{pins}` | value |
|---|---|
{rows}

Set them (`setp`) in the HAL file or while the machine is not homed, then set `geometry.apply` to 1: the
module takes them all at once and starts from the reference pose; `geometry.status` is 0 or 1 then. Numbers
with which that pose is out of reach are refused. Limits and homes in the INI file stay those of the
description.

"""


@dataclass(frozen=True)
class LinuxcncTarget(ExportTarget):
    """A kinematics module for LinuxCNC in double, with a simulated machine.

    Attributes:
        parameters: "geometry" for the free numbers of the geometry (`robot.numbers`) as parameters of HAL.
            Constants if empty. Default empty.

    Raises:
        ExportError: if other numbers are to be parameters.
    """

    name = "linuxcnc"
    models = (KINEMATICS,)
    parameters: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        if self.parameters not in ((), "", "geometry", ("geometry",), ["geometry"]):
            raise ExportError(
                f"kinematics depend on no numbers but those of the geometry: {self.parameters!r} cannot be "
                "parameters of HAL, geometry can"
            )

    def files(self, package: Package, references: Mapping[str, ReferenceVectors]) -> dict[str, str]:
        """All files."""
        component = component_name(package)
        machine = Machine(package.robot, component, package.name)
        tolerances = kinematics_tolerances(package, references, TOLERANCES)
        code = package_code(package, ("double",), batch=False, tolerances=tolerances)
        pins = hal_name(component)
        return {
            f"{component}.comp": module_source(package, code),
            **machine.files(pins),
            "README.md": _readme(package, machine, pins),
        }


def _readme(package: Package, machine: Machine, pins: str) -> str:
    robot = package.robot
    home = zip(machine.axes, machine.home, strict=True)
    axes = [
        f"| {axis.letter} | {escape_markdown(axis.coordinate)} | {axis.unit_name} | {value:.4f} |"
        for axis, value in home
    ]
    joints = [
        f"| {k} | {escape_markdown(actuator.name)} | {unit_name(turns)} | {value:.4f} |"
        for k, (actuator, turns, value) in enumerate(
            zip(robot.actuators, robot.revolute_actuators, machine.joint_home, strict=True)
        )
    ]
    free = len([axis for axis in machine.axes if axis.letter in "ABC"]) == 3
    names = geometry_names(package)
    values = robot.numbers.vector(*package.request.parameters) if names else ()
    rows = [
        f"| `geometry.{name.replace('_', '-')}` | {value:.9g} |"
        for name, value in zip(names, values, strict=True)
    ]
    return _README.format(
        geometry=_GEOMETRY.format(pins=pins, rows="\n".join(rows)) if names else "",
        comp=machine.module,
        name=machine.name,
        pins=pins,
        robot=escape_markdown(robot.name),
        version=package.version,
        hash=robot.hash,
        axes="\n".join(axes),
        joints="\n".join(joints),
        orientation=_ORIENTATION if free else "",
        reasons="\n".join(f"| {status} | {text} |" for status, text in REASONS.items()),
    )
