"""The page of the demonstration: the robot in 3D, what was shown in a list, then a section a step."""

from __future__ import annotations

from collections.abc import Sequence

from nacelle.model.robot import Robot
from nacelle.page.markup import bullets, document, element, paragraph, section, text
from nacelle.report.demo.circle import CircleRuns
from nacelle.report.demo.parts import command_lines
from nacelle.report.demo.space import robot_in_space
from nacelle.report.demo.step import DONE, FAILED, DemoStep

_MARKS = {DONE: "✓", FAILED: "✗"}


def demo_page(robot: Robot, steps: Sequence[DemoStep], version: str) -> str:
    """The whole page, in one file that requests nothing.

    Args:
        robot: the robot that is shown.
        steps: all steps, also those that failed or were not begun.
        version: of nacelle.
    """
    flown = next((step.result for step in steps if isinstance(step.result, CircleRuns)), None)
    name = (robot.title or robot.name).partition(",")[0]
    seconds = sum(step.seconds for step in steps)
    return document(
        f"{name}: from the description to the controller",
        paragraph(
            f"One description of {robot.title or robot.name}, and what follows from it. Everything here "
            f"was computed by nacelle {version} in {seconds:.0f} s; each section ends with the "
            "commands that give its numbers.",
            "lead",
        ),
        element("div", robot_in_space(robot, flown), kind="hero"),
        _verdict(steps),
        _summary(steps),
        *(section(step.key, step.title, _content(step)) for step in steps),
        scripts=("scene3d",),
    )


def _verdict(steps: Sequence[DemoStep]) -> str:
    """Nothing if all is well, else what is missing."""
    bad = [f"{step.title}: {step.message or step.state}" for step in steps if step.state != DONE]
    if not bad:
        return ""
    words = paragraph(f"{len(bad)} of {len(steps)} steps have no result.")
    return element("div", words, bullets(bad), kind="verdict poor")


def _summary(steps: Sequence[DemoStep]) -> str:
    """What was shown, an item a step, with links to the sections."""
    items = []
    for step in steps:
        claim = step.result.claim if step.result else f"{step.state}: {step.message}".rstrip(": ")
        seconds = f" {_MARKS.get(step.state, '–')} {step.seconds:.1f} s" if step.seconds else ""
        link = element("a", text(step.title), href=f"#{step.key}")
        items.append(element("li", link, element("span", text(seconds), kind="quiet"), paragraph(claim)))
    return element("ol", *items, kind="steps")


def _content(step: DemoStep) -> str:
    if step.result is None:
        return paragraph(f"{step.state.capitalize()}: {step.message or 'this step was not begun'}.")
    return "".join(
        [
            paragraph(step.result.claim, "claim"),
            *step.result.content(),
            command_lines(step.result.commands),
        ]
    )
