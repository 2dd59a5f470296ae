"""The robot at a glance: what it is, where its numbers come from, and how it moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nacelle.errors import NacelleError
from nacelle.model.leg import PLATFORM
from nacelle.page.markup import bullets, element, paragraph, text
from nacelle.report.sheet.content import said_by, short
from nacelle.report.sheet.motion import shown_motion
from nacelle.report.sheet.subject import Subject
from nacelle.scene.figure import SceneItem, body_points, scene_figure
from nacelle.scene.geometry import robot_geometry
from nacelle.scene.motion import poses_along, still


@dataclass(frozen=True, eq=False)
class About:
    """A robot at a glance.

    Attributes:
        command: the command that shows it.
        summary: what that command prints.
        figure: markup of the figure in space; empty if there is none.
        moves: whether the figure moves.
        reason: why there is no figure, in words.
    """

    command: str
    summary: dict[str, Any]
    figure: str
    moves: bool
    reason: str

    def data(self) -> dict[str, Any]:
        """Name, title, sources and reference pose."""
        kept = ("name", "title", "notes", "sources", "hash", "motion", "gravity", "reference")
        return {"command": self.command, **{name: self.summary[name] for name in kept}}

    def markup(self) -> str:
        """The figure, notes, reference pose and sources."""
        data = self.summary
        position = " ".join(short(value) for value in data["reference"]["position"])
        turned = " ".join(short(value) for value in data["reference"]["quat_xyzw"])
        gravity = " ".join(short(value) for value in data["gravity"])
        parts = [
            self.figure or paragraph(f"There is no figure: {self.reason}."),
            said_by(self.command),
            paragraph(data["notes"]) if data["notes"] else "",
            paragraph(
                f"Reference pose: position {position} m, quaternion x y z w {turned}; gravity {gravity} "
                f"m/s²; hash {data['hash'][:16]}.",
                "quiet",
            ),
        ]
        if data["sources"]:
            parts.append(element("h3", text("Sources of the description")) + bullets(data["sources"]))
        return "".join(parts)


def about(subject: Subject) -> About:
    """Draw a robot, moving along the shown motion."""
    robot, command = subject.robot, subject.command("show")
    try:
        times, x = shown_motion(robot)
        moves = len(times) > 1
        motion = poses_along(robot, times, x) if moves else still(robot)
        traces = (body_points(motion, PLATFORM),) if moves else ()
        figure = scene_figure(
            [SceneItem(robot_geometry(robot, motion), motion, traces=traces)],
            caption="From the reference pose along each of its coordinates and back, within limits; turn it "
            "with the mouse or a finger."
            if moves
            else "The reference pose; no motion about it is within limits and away from singularities.",
        )
    except NacelleError as error:
        return About(command, subject.summary, "", False, str(error))
    return About(command, subject.summary, figure, moves, "")
