"""A robot for notebooks: what it is, its actuators, and a small picture."""

from __future__ import annotations

import base64
import io
import math

from nacelle.errors import NacelleError
from nacelle.kinematics.legs.leg_type import leg_type
from nacelle.model.robot import Robot
from nacelle.page.markup import element, number, table, text

_MOST = 24
# Inches, and dots an inch.
_SIZE, _DOTS = (4.2, 3.4), 90


def robot_page(robot: Robot) -> str:
    """Name, legs, motion and actuators of a robot, beside its picture."""
    head = element("p", element("b", text(robot.name)), text(f" {robot.title}" if robot.title else ""))
    types = [leg_type(robot, leg).name for leg in robot.legs]
    inertias = [body.inertia for body in robot.bodies[1:]] + [load.inertia for load in robot.payload]
    mass = sum(float(ten[0]) for ten in inertias)
    facts = {
        "legs": f"{len(types)}: {', '.join(dict.fromkeys(types))}" if types else "none",
        "motion": robot.motion.name,
        "moving bodies": f"{len(robot.bodies) - 1}, {number(mass)} kg",
        "joints": f"{len(robot.joints)}, {len(robot.actuators)} of them driven",
        "hash": robot.hash[:16],
    }
    rows = [(text(name), text(value)) for name, value in facts.items()]
    parts = [head, table(("robot", ""), rows), _actuators(robot)]
    return element("div", element("div", *parts), _picture(robot), kind="nacelle")


def _actuators(robot: Robot) -> str:
    rows = []
    for actuator, turns in zip(robot.actuators, robot.revolute_actuators, strict=True):
        length, speed, force = ("rad", "rad/s", "N m") if turns else ("m", "m/s", "N")
        low, high = actuator.position
        stroke = (
            "free" if not (math.isfinite(low) or math.isfinite(high)) else f"{low:.4g} to {high:.4g} {length}"
        )
        limits = [f"{number(actuator.speed)} {speed}", f"{number(actuator.force)} {force}"]
        rows.append(
            (text(actuator.name), text(stroke), *(limit.replace("unbounded ", "free ") for limit in limits))
        )
    more = len(rows) - _MOST
    end = [(f"… {more} more", "", "", "")] if more > 0 else []
    return table(("actuator", "stroke", "speed up to>", "force up to>"), [*rows[:_MOST], *end])


def _picture(robot: Robot) -> str:
    """The robot in its reference pose; in words why there is none."""
    from nacelle.report.draw.canvas import enlarge, new_axes
    from nacelle.report.draw.robot import plot_scene
    from nacelle.scene.placed import scene

    try:
        view = scene(robot)
        ax = new_axes(flat=view.across is not None, size=_SIZE, shown=False)
        plot_scene(view, ax)
        enlarge(ax)
        buffer = io.BytesIO()
        ax.figure.figure.savefig(buffer, format="png", dpi=_DOTS, metadata={"Software": None})
    except NacelleError as error:
        return element("p", text(f"no picture: {error}"))
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<img alt="{text(robot.name)}" src="data:image/png;base64,{data}">'
