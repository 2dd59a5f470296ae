"""What the robot is: at a glance, its structure and mobility, and what the check warns of.

At a glance: what it is, where its numbers come from, and how it moves. Structure, mobility and the reference
pose are the sections of `nacelle show`.
"""

from __future__ import annotations

from nacelle.errors import MAX_PROBLEMS_LISTED, NacelleError
from nacelle.model.leg import PLATFORM
from nacelle.page.markup import bullets, details, element, escape_text, paragraph, table
from nacelle.report.sheet.content import Content, command_line
from nacelle.report.sheet.subject import Subject, demonstration_motion
from nacelle.report.summary import counts_line
from nacelle.report.table import parts_html
from nacelle.scene.figure import SceneItem, body_points, scene_figure
from nacelle.scene.geometry import robot_geometry
from nacelle.scene.motion import motion_at_rest, poses_along

# ---- the robot at a glance


def robot_section(subject: Subject) -> Content:
    """Draw a robot, moving along the shown motion, and say where its description is from."""
    command, data = subject.command("show"), subject.summary
    keys = ("name", "title", "notes", "sources", "hash", "motion", "gravity", "reference")
    parts = [
        _figure(subject),
        command_line(command),
        paragraph(data["notes"]) if data["notes"] else "",
        parts_html(subject.sections.get("Platform", subject.sections.get("Reference", []))),
        paragraph(f"Hash {data['hash'][:16]}.", "quiet"),
    ]
    if data["sources"]:
        parts.append(element("h3", escape_text("Sources of the description")) + bullets(data["sources"]))
    return Content({"command": command, **{name: data[name] for name in keys}}, "".join(parts))


def _figure(subject: Subject) -> str:
    """The robot in space; why there is no figure where it cannot be drawn."""
    robot = subject.robot
    try:
        times, x = demonstration_motion(robot)
        moves = len(times) > 1
        motion = poses_along(robot, times, x) if moves else motion_at_rest(robot)
        traces = (body_points(motion, PLATFORM),) if moves else ()
        return scene_figure(
            [SceneItem(robot_geometry(robot, motion), motion, traces=traces)],
            caption="From the reference pose along each of its coordinates and back, within limits; turn it "
            "with the mouse or a finger."
            if moves
            else "The reference pose; no motion about it is within limits and away from singularities.",
        )
    except NacelleError as error:
        return paragraph(f"There is no figure: {error}.")


# ---- structure and mobility


def structure_section(subject: Subject) -> Content:
    """Describe the structure of a robot: a line of counts, the legs, and all joints in a folded table."""
    command, data, parts = subject.command("show"), subject.summary, subject.sections
    keys = ("motion", "elements", "legs", "platform", "joints", "loops", "tools", "payload", "modes")
    kind = data["platform"]["kind"]
    platform = "no platform" if kind == "none" else f"{kind} platform"
    page = [
        command_line(command),
        paragraph(f"{counts_line(data)}; {platform}."),
        parts_html([*parts.get("Legs", []), *parts.get("Couplings", [])]),
        details(f"All {len(data['joints'])} joints", parts_html(parts["Joints"])),
    ]
    return Content({"command": command, **{name: data[name] for name in keys}}, "".join(page))


def mobility_section(subject: Subject) -> Content:
    """Give the mobility of a robot.

    Raises:
        NacelleError: if its loops do not close.
    """
    command, mobility = subject.command("show"), subject.summary["mobility"]
    if mobility is None:
        raise NacelleError("the loops do not close in the reference pose")
    data = {"command": command, "mobility": mobility}
    return Content(data, command_line(command) + parts_html(subject.sections["Mobility"]))


# ---- warnings of the check


def problem_section(subject: Subject) -> Content:
    """Give the warnings of the check, or say that it has no warnings."""
    command, count = subject.command("check"), len(subject.problems)
    entries = [problem.as_dict() for problem in subject.problems[:MAX_PROBLEMS_LISTED]]
    data = {"command": command, "count": count, "problems": entries}
    if not entries:
        return Content(
            data, command_line(command) + paragraph("The check of the description warns of nothing.")
        )
    rows = [[escape_text(problem[key]) for key in ("path", "message", "hint")] for problem in entries]
    remark = paragraph(f"{count - len(entries)} more are not listed.") if count > len(entries) else ""
    return Content(data, command_line(command) + table(["place", "warning", "hint"], rows) + remark)
