"""Which axes of LinuxCNC move a platform, and the C that takes one into the other.

LinuxCNC has nine axes: X Y Z and U V W in mm, A B C in degrees. They stand for the coordinates of a motion:

    x y z         X Y Z
    rx ry rz      A B C: an angle about an axis of the base; of two of them the tilt vector; of all three
                  R = Rz(C) Ry(B) Rx(A), which takes vectors of the platform to the base
    other angles  the first free ones of C A B
    other lengths the first free ones of U V W
"""

from __future__ import annotations

from dataclasses import dataclass

from nacelle.errors import ExportError
from nacelle.kinematics.pose_input import is_angle
from nacelle.model.platform import AXES
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot

LETTERS = "XYZABCUVW"
"""The axes in LinuxCNC's order."""

# What LinuxCNC's EmcPose calls them.
_FIELDS = dict(zip(LETTERS, ("tran.x", "tran.y", "tran.z", "a", "b", "c", "u", "v", "w"), strict=True))

_POSE_OF = """\
/* The reduced pose x, m and rad, at LinuxCNC's axes, mm and degrees. */
static void pose_of(const EmcPose *world, double *x)
{{
{lines}}}

/* LinuxCNC's axes at a reduced pose. */
static void axes_of(const double *x, EmcPose *world)
{{
{back}}}
"""

_QUATERNION = """\
    const double a = 0.5 * RADIAN * world->a;
    const double b = 0.5 * RADIAN * world->b;
    const double c = 0.5 * RADIAN * world->c;
    x[{k}] = sin(a) * cos(b) * cos(c) - cos(a) * sin(b) * sin(c);
    x[{k1}] = cos(a) * sin(b) * cos(c) + sin(a) * cos(b) * sin(c);
    x[{k2}] = cos(a) * cos(b) * sin(c) - sin(a) * sin(b) * cos(c);
    x[{k3}] = cos(a) * cos(b) * cos(c) + sin(a) * sin(b) * sin(c);
"""

_ANGLES = """\
    const double *e = x + {k};
    const double r11 = 1.0 - 2.0 * (e[1] * e[1] + e[2] * e[2]);
    const double r21 = 2.0 * (e[0] * e[1] + e[2] * e[3]);
    const double r31 = 2.0 * (e[0] * e[2] - e[1] * e[3]);
    const double r32 = 2.0 * (e[1] * e[2] + e[0] * e[3]);
    const double r33 = 1.0 - 2.0 * (e[0] * e[0] + e[1] * e[1]);
    world->a = near_angle(atan2(r32, r33) / RADIAN, world->a);
    world->b = atan2(-r31, sqrt(r11 * r11 + r21 * r21)) / RADIAN;
    world->c = near_angle(atan2(r21, r11) / RADIAN, world->c);
"""

_NEAR = """\
/* An angle in degrees, of those whole revolutions apart the one nearest to another. */
static double near_angle(double angle, double near)
{
    return angle - 360.0 * floor((angle - near) / 360.0 + 0.5);
}

"""


@dataclass(frozen=True)
class MachineAxis:
    """An axis of LinuxCNC.

    Attributes:
        letter: what it is called.
        coordinate: the coordinate of the motion that it stands for.
        index: where that is in the reduced twist.
        angle: whether it is in degrees (and rad), else in mm (and m).
    """

    letter: str
    coordinate: str
    index: int
    angle: bool

    @property
    def unit_name(self) -> str:
        """What it counts in."""
        return unit_name(self.angle)

    @property
    def unit(self) -> float:
        """Its units per SI unit: degrees per rad, mm per m."""
        return unit_of(self.angle)


def unit_name(angle: bool) -> str:
    """What LinuxCNC counts in."""
    return "degrees" if angle else "mm"


def unit_of(angle: bool) -> float:
    """LinuxCNC's units per SI unit: degrees per rad, mm per m."""
    return 57.29577951308232 if angle else 1000.0


def machine_axes(robot: Robot) -> tuple[MachineAxis, ...]:
    """The axes that move a robot, in LinuxCNC's order.

    Raises:
        ExportError: if there are not enough of them.
    """
    names = robot.motion.coordinates
    letters = {name: LETTERS[AXES.index(name)] for name in names if name in AXES}
    for name in names:
        if name in letters:
            continue
        choices = "CAB" if is_angle(robot, name) else "UVW"
        free = [letter for letter in choices if letter not in letters.values()]
        if not free:
            raise ExportError(
                f"LinuxCNC has the rotary axes A B C, and the linear ones U V W besides X Y Z: the motion "
                f"{robot.motion.name} has more, {name} is left over"
            )
        letters[name] = free[0]
    axes = [MachineAxis(letters[name], name, k, is_angle(robot, name)) for k, name in enumerate(names)]
    return tuple(sorted(axes, key=lambda axis: LETTERS.index(axis.letter)))


def axes_source(robot: Robot) -> str:
    """C functions from LinuxCNC's axes to the reduced pose, and back."""
    layout = layout_of(robot.motion)
    lines, back = "", ""
    for axis in machine_axes(robot):
        if layout.quaternion is not None and axis.letter in "ABC":
            continue
        field, entry = _FIELDS[axis.letter], f"x[{layout.x_index(axis.coordinate)}]"
        lines += f"    {entry} = world->{field} {'* RADIAN' if axis.angle else '/ 1000.0'};\n"
        back += f"    world->{field} = {entry} {'/ RADIAN' if axis.angle else '* 1000.0'};\n"
    if layout.quaternion is None:
        return _POSE_OF.format(lines=lines, back=back)
    k = layout.quaternion.start
    lines += _QUATERNION.format(k=k, k1=k + 1, k2=k + 2, k3=k + 3)
    return _NEAR + _POSE_OF.format(lines=lines, back=back + _ANGLES.format(k=k))
