"""Loads: what a standard motion and gravity require of the actuators, and what joints transmit.

Actuators are listed with their limits and what a standard motion requires of them, then masses and inertia,
what gravity requires of the drives in the reference pose, and what joints transmit there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nacelle.dynamics.reactions import peak_reactions
from nacelle.dynamics.sizing import size_motors
from nacelle.errors import NacelleError
from nacelle.page.markup import element, paragraph
from nacelle.report.loads import (
    reaction_parts,
    reactions_data,
    sizing_data,
    sizing_parts,
    travel_line,
)
from nacelle.report.results.panels import panels_of
from nacelle.report.results.quantities import select_quantities
from nacelle.report.sheet.content import Content, command_line, long_table, panel_chart
from nacelle.report.sheet.subject import Subject
from nacelle.report.table import parts_html
from nacelle.trajectory import Line

# At rest a few samples say everything.
_REST_OPTIONS = ("--trajectory", "rest", "--rate", "10")


def actuator_section(subject: Subject) -> Content:
    """List the actuators of a robot and what the standard motion requires of them, with forces over time."""
    show, actuators = subject.command("show"), subject.summary["actuators"]
    limits = {"command": show, "actuators": actuators}
    head = command_line(show)
    if actuators:
        head += parts_html(subject.sections["Actuators"]) + element("h3", "Loads on a standard motion")
    else:
        head += paragraph("The robot has no actuator.")
    try:
        motion = subject.motion
    except NacelleError as error:
        sentence = f"There is no standard motion: {error}."
        data = {"limits": limits, "motion": {"reason": str(error)}}
        return Content(data, head + (paragraph(sentence) if actuators else ""))
    command = subject.command("dynamics", *motion.arguments)
    loads = {"command": command, **sizing_data(motion.sizing)}
    sentence = f"{motion.description}, from rest to rest, friction included."
    charts = [
        panel_chart(panel, "Drive forces along the standard motion")
        for panel in panels_of(select_quantities(motion.sizing, ("forces",)))
    ]
    page = [
        command_line(command),
        paragraph(sentence[:1].upper() + sentence[1:]),
        parts_html([*sizing_parts(motion.sizing), travel_line(motion.sizing)]),
        *charts,
    ]
    return Content(
        {"limits": limits, "motion": {"words": motion.description, "loads": loads}},
        head + ("".join(page) if actuators else ""),
    )


def mass_section(subject: Subject) -> Content:
    """Weigh a robot, and say what its drives hold and its joints transmit at rest in the reference pose."""
    robot, data, show = subject.robot, subject.summary, subject.command("show")
    rest = Line(subject.reference, subject.reference, motion=robot.motion, duration=1.0)
    hold_data, held_page = _loads_at_rest(
        subject.command("dynamics", *_REST_OPTIONS),
        lambda: size_motors(robot, rest, rate=10.0),
        sizing_data,
        sizing_parts,
    )
    carried, carried_page = _loads_at_rest(
        subject.command("reactions", *_REST_OPTIONS),
        lambda: peak_reactions(robot, rest, rate=10.0),
        reactions_data,
        reaction_parts,
    )
    bodies = [body["mass"] for body in data["bodies"]]
    weight = sum(bodies) * sum(value * value for value in data["gravity"]) ** 0.5
    (body_table,) = subject.sections["Bodies"]
    page = [
        command_line(show),
        paragraph(
            f"The moving bodies have {sum(bodies):.4g} kg together and weigh {weight:.4g} N; "
            f"{bodies.count(0.0)} of {len(bodies)} are massless."
        ),
        long_table("Bodies", body_table),
        element("h3", "Held against gravity at the reference pose"),
        held_page,
        element("h3", "Joint reactions at rest in the reference pose"),
        carried_page,
    ]
    numbers = {"command": show, "bodies": data["bodies"], "gravity": data["gravity"]}
    return Content({"bodies": numbers, "hold": hold_data, "reactions": carried}, "".join(page))


def _loads_at_rest(
    command: str, compute: Callable[[], Any], data: Callable[..., Any], parts: Callable[..., Any]
) -> tuple[dict[str, Any], str]:
    """Loads at rest as data and for the page; or why they are not determined."""
    try:
        result = compute()
    except NacelleError as error:
        return {"reason": str(error)}, paragraph(f"Not determined: {error}.")
    return {"command": command, **data(result)}, command_line(command) + parts_html(parts(result))
