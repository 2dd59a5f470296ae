"""Models of the robot: operations, base parameters, natural frequencies, the same in other engines.

Operations are those of all models in their compact form, next to what is published. Base parameters: how
many there are, and what each is a sum of. Natural frequencies are those of flexible links and drives, or of
a rigid robot on its springs. Verification is what `nacelle verify` compares; the comparison is made
elsewhere (`nacelle.verify`) and handed in as plain data.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from nacelle.dynamics.base_parameters.base_parameters import base_parameters
from nacelle.dynamics.derivatives.linear import linearise
from nacelle.elastic.linear.frequencies import natural_frequencies
from nacelle.elastic.named import ELASTIC_NAMES
from nacelle.errors import NacelleError
from nacelle.model.robot import Robot
from nacelle.page.markup import bullets, details, element, escape_text, format_number, paragraph, table
from nacelle.report.operations import Operations, operation_count
from nacelle.report.parameters import base_parts
from nacelle.report.published import published_inputs
from nacelle.report.sheet.content import Content, command_line
from nacelle.report.sheet.subject import Subject
from nacelle.report.table import Part, parts_html
from nacelle.report.vibrations import linear_data, modes_data, modes_parts, pole_table

# ---- operations


# Models that are counted, and whether friction acts in them.
MODELS = (
    ("inverse_kinematics", False),
    ("jacobian", False),
    ("inverse_dynamics", True),
    ("forward_dynamics", True),
    ("mass_matrix", False),
    ("regressor", True),
)


def _model_label(name: str) -> str:
    """Label of a model, such as "inverse dynamics, flexible"."""
    label = name.removeprefix("elastic_").replace("_", " ").replace("jacobian", "Jacobian")
    return f"{label}, flexible" if name in ELASTIC_NAMES else label


def operations_table(entries: Sequence[tuple[str, Operations]]) -> str:
    """Operation counts as a table, each with its command and what others have published of it."""
    rows = []
    for command, count in entries:
        name = _model_label(count.model)
        name += f" from {count.input}" if count.input != "pose" else ""
        name += ", with friction" if count.friction else ""
        published_cell = "".join(
            element("span", escape_text(f"{entry.total}: {entry.source}; {entry.content}"), kind="more")
            for entry in count.published_counts
        )
        small = count.count
        other_counts = [
            f"{number} {what}"
            for number, what in ((small.sqrt, "√"), (small.trig, "sin, cos, atan2"), (small.other, "others"))
            if number
        ]
        rows.append(
            [
                escape_text(name) + element("span", element("code", escape_text(command)), kind="more"),
                str(small.add),
                str(small.mul),
                element("strong", str(small.total)),
                escape_text(", ".join(other_counts) or "–"),
                published_cell or "–",
            ]
        )
    return table(["model", "+/−>", "×/÷>", "together>", "apart", "published"], rows)


def operation_section(subject: Subject) -> Content:
    """Count the operations of a robot's models, with the published counts next to their own."""
    robot, entries, reasons = subject.robot, [], {}
    flexible = any(body.section is not None for body in robot.bodies) or any(
        joint.drive_stiffness for joint in robot.joints
    )
    cases = [
        (name, friction, source)
        for name, acts in (*MODELS, *((name, True) for name in ELASTIC_NAMES if flexible))
        for friction in ((False, True) if acts and subject.has_friction else (False,))
        # From other inputs than the pose where somebody has published that.
        for source in dict.fromkeys(("pose", *published_inputs(robot.name, name)))
        if friction == subject.has_friction or source == "pose"
    ]
    for name, friction, source in cases:
        options = [*(["--friction"] if friction else []), *(["--input", source] if source != "pose" else [])]
        command = subject.command("ops", name, *options)
        try:
            entries.append((command, operation_count(robot, name, input=source, friction=friction)))
        except NacelleError as error:
            reasons[name] = str(error)
    about = "" if subject.has_friction else " No joint has friction, so that there is one count a model."
    page = [
        paragraph(
            "Geometry and parameters are constants; additions and subtractions are one class, products "
            "and quotients the other, roots, sines and cosines apart." + about
        ),
        operations_table(entries),
    ]
    iterations = [count.iteration for _, count in entries if count.iteration is not None]
    if iterations:
        page.append(
            paragraph(
                "Legs without a closed form are solved by Newton's method; every iteration takes "
                f"{iterations[0]}, which is not in the counts."
            )
        )
    page.append(bullets(f"{_model_label(name)}: {reason}." for name, reason in reasons.items()))
    models = [{"command": command, **count.data()} for command, count in entries]
    return Content({"models": models, "reasons": reasons}, "".join(page))


# ---- base parameters


def parameter_section(subject: Subject) -> Content:
    """Find the base parameters of a robot."""
    base = base_parameters(subject.robot)
    command = subject.command("base")
    numbers = {"command": subject.command("show"), "parameters": subject.summary["parameters"]}
    head, table_of_values, *remarks = base_parts(base)
    page = [
        command_line(command),
        parts_html([head, *remarks]),
        details(f"All {len(base)} base parameters and what each is a sum of", parts_html([table_of_values])),
    ]
    return Content({"base": {"command": command, **base.data()}, "numbers": numbers}, "".join(page))


# ---- natural frequencies


def frequency_section(subject: Subject) -> Content:
    """Find the natural frequencies of a robot in its reference pose."""
    titles = ("Flexible links and drives, actuators locked", "Rigid robot under constant drive forces")
    makers = {"modes": _modes, "linear": _linear_model}
    data: dict[str, Any] = {}
    page: list[str] = []
    for title, (name, function) in zip(titles, makers.items(), strict=True):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                data[name], parts = function(subject)
            content = command_line(data[name]["command"]) + parts_html(parts)
        except NacelleError as error:
            data[name] = {"reason": str(error)}
            content = paragraph(f"Not computed: {error}.")
        page += [element("h3", title), content]
    return Content(data, "".join(page))


def _modes(subject: Subject) -> tuple[dict[str, Any], list[Part]]:
    """Modes of flexible links with the actuators locked."""
    robot = subject.robot
    if not any(body.section for body in robot.bodies) and not any(j.drive_stiffness for j in robot.joints):
        raise NacelleError("no body has a section and no drive a stiffness: the robot is rigid")
    result = natural_frequencies(robot, subject.reference, modes=6)
    data = {name: modes_data(result)[name] for name in ("locked", "frequencies", "damping", "rigid")}
    return {"command": subject.command("modes"), **data}, modes_parts(result)


def _linear_model(subject: Subject) -> tuple[dict[str, Any], list[Part]]:
    """The linear model, where springs bring the robot back; gravity alone makes no frequency of use."""
    robot, command = subject.robot, subject.command("linearise")
    if not robot.springs and not any(any(joint.springs) for joint in robot.joints):
        raise NacelleError(f"no joint has a spring, so that gravity alone acts on deviations ({command})")
    model = linearise(robot, subject.reference)
    data = linear_data(model)
    entries = {name: data[name] for name in ("poles", "natural_frequencies", "tau", "smooth")}
    return {"command": command, **entries}, [pole_table(model)]


# ---- verification


class EngineComparison(Protocol):
    """What a comparison with other engines gives (`nacelle.verify.Report`)."""

    def as_dict(self) -> dict[str, Any]:
        """The comparison as plain data."""


# Compares a robot with other engines.
Verifier = Callable[[Robot], EngineComparison]


def engine_table(comparison: dict[str, Any]) -> str:
    """The largest relative error of every quantity, an engine a column.

    Args:
        comparison: `nacelle.verify.Report.as_dict()`.
    """
    engines = comparison["engines"]
    entries = [{q["name"]: q for q in engine["quantities"]} for engine in engines]
    names = list(dict.fromkeys(name for by_name in entries for name in by_name))
    rows = []
    for name in names:
        allowed = next(by_name[name]["tolerance"] for by_name in entries if name in by_name)
        rows.append(
            [escape_text(name), f"{allowed:.0e}", *(_error_cell(by_name.get(name)) for by_name in entries)]
        )
    heads = [escape_text(f"{engine['engine']} {engine['version']}") + ">" for engine in engines]
    return table(["largest relative error", "allowed>", *heads], rows)


def _error_cell(quantity: dict[str, Any] | None) -> str:
    if quantity is None:
        return "–"
    error_text = "no number" if quantity["error"] is None else f"{quantity['error']:.1e}"
    return error_text if quantity["ok"] else element("strong", f"{error_text} fails")


def verification_section(subject: Subject, verifier: Verifier | None) -> Content:
    """Compare a robot with other engines: the verdict, and the largest error of every quantity.

    Args:
        subject: the robot.
        verifier: what compares it, such as `nacelle.verify.verify`; None if nothing does.

    Raises:
        NacelleError: if nothing compares it, engines are missing, or the robot cannot be rebuilt there.
    """
    command = subject.command("verify")
    if verifier is None:
        raise NacelleError(
            f"no other engine was asked; {command} compares the robot with Pinocchio and MuJoCo"
        )
    data = verifier(subject.robot).as_dict()
    names = " and ".join(f"{engine['engine']} {engine['version']}" for engine in data["engines"])
    agreement = "agrees with" if data["ok"] else "does not agree with"
    verdict = element(
        "div",
        paragraph(f"nacelle {agreement} {names}."),
        paragraph(
            f"{data['states']} random states of the workspace (seed {data['seed']}), condition number of "
            f"the scaled Jacobian up to {format_number(data['condition'], 3)}."
        ),
        kind=f"verdict {'good' if data['ok'] else 'poor'}",
    )
    notes = [f"{engine['engine']}: {note}." for engine in data["engines"] for note in engine["notes"]]
    page = command_line(command) + verdict + engine_table(data) + bullets(notes)
    return Content({"command": command, **data}, page)
