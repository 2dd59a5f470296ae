"""What drives the joints of a URDF: a closure file, transmissions, ros2_control, or limits of effort.

The first of these that says anything counts. A `SimpleTransmission` with the reduction n turns the motor n
times for a turn of the joint; Drake's rotor inertia J behind it is n^2 J at the joint.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nacelle.exchange.fields import finite_numbers, number_attribute
from nacelle.exchange.graph import ExchangeReport, Link, Motor
from nacelle.exchange.names import Names
from nacelle.exchange.urdf.gepetto import Side
from nacelle.exchange.xml import Element


@dataclass(frozen=True, eq=False)
class _Drive:
    """A motor at a joint of the file."""

    joint: str
    name: str
    gear: float
    rotor: float
    place: Element
    sure: bool = True


def driven(
    root: Element, joints: Sequence[Link], by_name: dict[str, Link], side: Side, report: ExchangeReport
) -> list[Link]:
    """The joints with their motors.

    Args:
        root: the document.
        joints: joints of the graph.
        by_name: the last of them for each joint of the file.
        side: what the closure file says.
        report: of what is left out.
    """
    elements = {element.get("name"): element for element in root.named("joint")}
    drives = _of_side(side, elements)
    if drives is None:
        drives = [*_transmissions(root, report), *_ros2_control(root)]
    if not drives and side.motors is None:
        drives = _of_effort(elements, by_name)
    motors: dict[str, Link] = {}
    names = Names()
    for drive in drives:
        link = by_name.get(drive.joint)
        if link is None:
            raise drive.place.fault(f"there is no joint {drive.joint!r} to drive")
        if len(link.axes) != 1:
            raise drive.place.fault(f"the joint {drive.joint!r} is {link.kind}, which a motor cannot drive")
        if link.name in motors:
            continue
        name = names.new(drive.name, link.name) if drive.name != drive.joint else link.name
        motors[link.name] = _with_motor(link, drive, elements[drive.joint], name)
    return [motors.get(link.name, link) for link in joints]


def _with_motor(link: Link, drive: _Drive, element: Element, name: str) -> Link:
    limit = element.first("limit")
    force = number_attribute(limit, "effort", 0.0, math.inf) or math.inf
    speed = number_attribute(limit, "velocity", 0.0, math.inf) or math.inf
    motor = Motor(name, abs(drive.gear), abs(force), abs(speed), drive.sure)
    return replace(link, axes=(replace(link.axes[0], motor=motor, armature=drive.gear**2 * drive.rotor),))


def _of_side(side: Side, elements: dict[str, Element]) -> list[_Drive] | None:
    if side.motors is None:
        return None
    for node in side.motors:
        if node.value not in elements:
            raise side.fault(node, f"the URDF has no joint {node.value!r} to drive")
    return [
        _Drive(str(node.value), str(node.value), 1.0, 0.0, elements[str(node.value)]) for node in side.motors
    ]


def _transmissions(root: Element, report: ExchangeReport) -> Iterator[_Drive]:
    for element in root.named("transmission"):
        joints, actuators = element.named("joint"), element.named("actuator")
        kind = element.get("type") or next((child.text.strip() for child in element.named("type")), "")
        if len(joints) != 1 or len(actuators) > 1:
            report.lost(
                f"the transmission {element.get('name')!r} ({kind}) left out: its joints are driven directly"
            )
        for joint in joints:
            gear = _gear([*actuators[:1], joint, element]) if len(joints) == 1 else 1.0
            inner = actuators[0].first("drake:rotor_inertia") if len(actuators) == 1 else None
            outer = actuators[0].first("drake:gear_ratio") if len(actuators) == 1 else None
            yield _Drive(
                joint.get("name"),
                (actuators[0].get("name") if len(actuators) == 1 else "") or joint.get("name"),
                number_attribute(outer, "value", gear),
                number_attribute(inner, "value", 0.0),
                joint,
            )


def _gear(places: Sequence[Element]) -> float:
    """The reduction, wherever one of the versions of the format has it."""
    for place in places:
        for tag in ("mechanicalReduction", "mechanical_reduction"):
            found = place.first(tag)
            if found is not None:
                value = float(finite_numbers(found, found.text, 1, f"<{tag}>")[0])
                if value == 0.0:
                    raise found.fault("a reduction of zero")
                return value
    return 1.0


def _ros2_control(root: Element) -> Iterator[_Drive]:
    for system in root.named("ros2_control"):
        for joint in system.named("joint"):
            if joint.named("command_interface"):
                yield _Drive(joint.get("name"), joint.get("name"), 1.0, 0.0, joint)


def _of_effort(elements: dict[str, Element], by_name: dict[str, Link]) -> list[_Drive]:
    """Joints with a limit of effort that neither mimic another nor are said to depend on others (URDF+)."""
    drives = []
    for name, element in elements.items():
        free = element.first("mimic") is None and element.get("independent", "true").lower() != "false"
        if (
            free
            and len(by_name[name].axes) == 1
            and number_attribute(element.first("limit"), "effort", 0.0, math.inf) > 0.0
        ):
            drives.append(_Drive(name, name, 1.0, 0.0, element, sure=False))
    return drives
