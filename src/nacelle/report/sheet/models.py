"""Models of the robot: operations, base parameters, natural frequencies, the same in other engines.

Operations are those of all models in their smallest form, beside what is published. Base parameters: how
many there are, and what each is a sum of. Natural frequencies are those of flexible links and drives, or of
a rigid robot on its springs. Verification is what `nacelle verify` compares; the comparison is made
elsewhere (`nacelle.verify`) and handed in as plain data.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters, base_parameters
from nacelle.dynamics.derivatives.linear import linearise
from nacelle.elastic.linear.frequencies import natural_frequencies
from nacelle.elastic.named import ELASTIC_NAMES
from nacelle.errors import NacelleError
from nacelle.model.robot import Robot
from nacelle.page.markup import bullets, element, folded, paragraph, table, text
from nacelle.report.operations import Operations, operation_count
from nacelle.report.plain import linear_data
from nacelle.report.published import published_inputs
from nacelle.report.sheet.content import figures, said_by, short
from nacelle.report.sheet.subject import Subject

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
_WORDS = {
    "inverse_kinematics": "inverse kinematics",
    "jacobian": "Jacobian",
    "inverse_dynamics": "inverse dynamics",
    "forward_dynamics": "forward dynamics",
    "mass_matrix": "mass matrix",
    "regressor": "regressor",
    "elastic_inverse_dynamics": "inverse dynamics, flexible",
    "elastic_forward_dynamics": "forward dynamics, flexible",
}


@dataclass(frozen=True, eq=False)
class Counts:
    """Operation counts of a robot.

    Attributes:
        entries: each with the command that counts it.
        reasons: for every model that was not counted why, in words.
        friction: whether a joint of the robot has friction.
    """

    entries: tuple[tuple[str, Operations], ...]
    reasons: dict[str, str]
    friction: bool

    def data(self) -> dict[str, Any]:
        """All counts by class."""
        return {
            "models": [{"command": command, **count.data()} for command, count in self.entries],
            "reasons": self.reasons,
        }

    def markup(self) -> str:
        """A table of counts with the published ones below their own."""
        about = "" if self.friction else " No joint has friction, so that there is one count for each model."
        iterated = [count for _, count in self.entries if count.iteration is not None]
        parts = [
            paragraph(
                "Geometry and parameters are constants; additions and subtractions are one class, products "
                "and quotients the other, roots, sines and cosines apart." + about
            ),
            operations_table(self.entries),
        ]
        if iterated and iterated[0].iteration is not None:
            parts.append(
                paragraph(
                    "Legs without a closed form are solved by Newton's method; every iteration takes "
                    f"{iterated[0].iteration}, which is not in the counts."
                )
            )
        parts.append(bullets(f"{_WORDS[name]}: {reason}." for name, reason in self.reasons.items()))
        return "".join(parts)


def operations_table(entries: tuple[tuple[str, Operations], ...]) -> str:
    """Operation counts as a table, each with its command and what others have published of it."""
    rows = []
    for command, count in entries:
        name = _WORDS.get(count.model, count.model)
        name += f" from {count.input}" if count.input != "pose" else ""
        name += ", with friction" if count.friction else ""
        listed = "".join(
            element("span", text(f"{entry.total}: {entry.source}; {entry.contains}"), kind="more")
            for entry in count.published
        )
        small = count.count
        apart = [
            f"{number} {what}"
            for number, what in ((small.sqrt, "√"), (small.trig, "sin, cos, atan2"), (small.other, "others"))
            if number
        ]
        rows.append(
            [
                text(name) + element("span", element("code", text(command)), kind="more"),
                str(small.add),
                str(small.mul),
                element("strong", str(small.total)),
                text(", ".join(apart) or "–"),
                listed or "–",
            ]
        )
    return table(["model", "+/−>", "×/÷>", "together>", "apart", "published"], rows)


def counts(subject: Subject) -> Counts:
    """Count the operations of a robot's models."""
    robot, entries, reasons = subject.robot, [], {}
    flexible = any(body.section is not None for body in robot.bodies) or any(
        joint.drive_stiffness for joint in robot.joints
    )
    wanted = [
        (name, friction, source)
        for name, acts in (*MODELS, *((name, True) for name in ELASTIC_NAMES if flexible))
        for friction in ((False, True) if acts and subject.has_friction else (False,))
        # From other inputs than the pose where somebody has published that.
        for source in dict.fromkeys(("pose", *published_inputs(robot.name, name)))
        if friction == subject.has_friction or source == "pose"
    ]
    for name, friction, source in wanted:
        options = [*(["--friction"] if friction else []), *(["--input", source] if source != "pose" else [])]
        command = subject.command("ops", name, *options)
        try:
            entries.append((command, operation_count(robot, name, input=source, friction=friction)))
        except NacelleError as error:
            reasons[name] = str(error)
    return Counts(tuple(entries), reasons, subject.has_friction)


# ---- base parameters


@dataclass(frozen=True, eq=False)
class Parameters:
    """Base parameters of a robot.

    Attributes:
        command: the command that gives them.
        base: they.
        show: the command that counts all numbers of the robot.
        numbers: how many numbers the robot has, by group.
    """

    command: str
    base: BaseParameters
    show: str
    numbers: dict[str, int]

    def data(self) -> dict[str, Any]:
        """Base parameters as `nacelle base` gives them."""
        return {
            "base": {"command": self.command, **self.base.data()},
            "numbers": {"command": self.show, "parameters": self.numbers},
        }

    def markup(self) -> str:
        """Counts, then the groupings folded."""
        base = self.base
        rows = [
            [text(grouping), short(float(value), 6)]
            for grouping, value in zip(base.groupings, base.values.tolist(), strict=True)
        ]
        nothing = [name for name, effect in base.effects.items() if effect == "no effect"]
        sure = f"The rank has a gap of {base.gap:.0e}"
        if base.structural == len(base):
            sure += " and is what the rules of mechanics leave."
        else:
            sure += f"; the rules of mechanics leave {base.structural}."
        if not base.certain:
            sure += " It is in doubt: some parameters can hardly be distinguished."
        parts = [
            said_by(self.command),
            figures(
                (str(len(base)), "base parameters"),
                (str(len(base.choice.names)), "parameters that take part"),
                (str(len(base.rigid)), "of inertia, rotors, springs"),
                (str(len(base.friction)), "of friction"),
            ),
            paragraph(sure),
            folded(f"All {len(rows)} base parameters and what each is a sum of", _groupings(rows)),
        ]
        if nothing:
            parts.append(folded(f"{len(nothing)} parameters without effect", paragraph(", ".join(nothing))))
        return "".join(parts)


def _groupings(rows: list[list[str]]) -> str:
    return table(["[name]base parameter", "value (SI)>"], rows)


def parameters(subject: Subject) -> Parameters:
    """Find the base parameters of a robot."""
    base = base_parameters(subject.robot)
    return Parameters(subject.command("base"), base, subject.command("show"), subject.summary["parameters"])


# ---- natural frequencies


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Natural frequencies of a robot in its reference pose.

    Attributes:
        modes: of flexible links with the actuators locked, with the command; or the reason.
        linear: of the rigid robot under constant forces, with the command; or the reason.
        parts: for each mode what deforms most, in words.
    """

    modes: dict[str, Any]
    linear: dict[str, Any]
    parts: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """Frequencies, Hz, and damping ratios."""
        return {"modes": self.modes, "linear": self.linear}

    def markup(self) -> str:
        """A table of modes, and one of the poles."""
        return (
            element("h3", "Flexible links and drives, actuators locked")
            + self._modes()
            + element("h3", "Rigid robot under constant drive forces")
            + self._linear()
        )

    def _modes(self) -> str:
        if "reason" in self.modes:
            return paragraph(f"Not computed: {self.modes['reason']}.")
        rows = []
        for k, frequency in enumerate(self.modes["frequencies"]):
            ratio = self.modes["damping"][k]
            rigid = k < self.modes["rigid"]
            rows.append(
                [
                    str(k + 1),
                    "0" if rigid else short(frequency, 5, "Hz"),
                    short(ratio, 4) if ratio and np.isfinite(ratio) else "–",
                    text("rigid motion" if rigid else self.parts[k]),
                ]
            )
        return said_by(self.modes["command"]) + table(
            ["mode", "frequency>", "damping ratio>", "strain energy"], rows
        )

    def _linear(self) -> str:
        if "reason" in self.linear:
            return paragraph(f"Not computed: {self.linear['reason']}.")
        rows = [
            [
                short(pole["real"], 5),
                short(abs(pole["imaginary"]), 5),
                short(pole["frequency"], 5, "Hz") if pole["imaginary"] else "–",
                short(pole["damping"], 4),
            ]
            for pole in self.linear["poles"]
            if pole["imaginary"] >= 0.0
        ]
        return said_by(self.linear["command"]) + table(
            ["real part 1/s>", "imaginary part rad/s>", "frequency>", "damping ratio>"], rows
        )


def frequencies(subject: Subject) -> Frequencies:
    """Find the natural frequencies of a robot in its reference pose."""
    modes, parts = _modes(subject)
    return Frequencies(modes, _linear(subject), parts)


def _modes(subject: Subject) -> tuple[dict[str, Any], tuple[str, ...]]:
    robot = subject.robot
    if not any(body.section for body in robot.bodies) and not any(j.drive_stiffness for j in robot.joints):
        return {"reason": "no body has a section and no drive a stiffness: the robot is rigid"}, ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            result = natural_frequencies(robot, subject.reference, modes=6)
    except NacelleError as error:
        return {"reason": str(error)}, ()
    energy = result.strain_energy
    parts = []
    for k in range(result.frequencies.shape[-1]):
        most = [b for b in np.argsort(-energy[:, k])[:2] if energy[b, k] > 0.05]
        parts.append(", ".join(f"{result.parts[b]} {100.0 * energy[b, k]:.0f} %" for b in most))
    data = {
        "command": subject.command("modes"),
        "locked": result.locked,
        "frequencies": result.frequencies.tolist(),
        "damping": result.damping.tolist(),
        "rigid": int(result.rigid),
    }
    return data, tuple(parts)


def _linear(subject: Subject) -> dict[str, Any]:
    """The linear model, where springs bring the robot back; gravity alone makes no frequency of use."""
    robot = subject.robot
    if not robot.springs and not any(any(joint.springs) for joint in robot.joints):
        poles = subject.command("linearise")
        return {"reason": f"no joint has a spring, so that gravity alone acts on deviations ({poles})"}
    try:
        data = linear_data(linearise(robot, subject.reference))
    except NacelleError as error:
        return {"reason": str(error)}
    kept = ("poles", "natural_frequencies", "tau", "smooth")
    return {"command": subject.command("linearise"), **{name: data[name] for name in kept}}


# ---- verification


class EngineComparison(Protocol):
    """What a comparison with other engines gives (`nacelle.verify.Report`)."""

    def as_dict(self) -> dict[str, Any]:
        """The comparison as plain data."""


# Compares a robot with other engines.
Verifier = Callable[[Robot], EngineComparison]


@dataclass(frozen=True, eq=False)
class Engines:
    """A comparison with other engines.

    Attributes:
        command: the command that makes it.
        numbers: what it prints.
    """

    command: str
    numbers: dict[str, Any]

    def data(self) -> dict[str, Any]:
        """The comparison as `nacelle verify` gives it."""
        return {"command": self.command, **self.numbers}

    def markup(self) -> str:
        """The verdict, and the largest error of every quantity beside what is allowed."""
        data = self.numbers
        names = " and ".join(f"{engine['engine']} {engine['version']}" for engine in data["engines"])
        words = "agrees with" if data["ok"] else "does not agree with"
        verdict = element(
            "div",
            paragraph(f"nacelle {words} {names}."),
            paragraph(
                f"{data['states']} random states of the workspace (seed {data['seed']}), condition number of "
                f"the scaled Jacobian up to {short(data['condition'], 3)}."
            ),
            kind=f"verdict {'good' if data['ok'] else 'poor'}",
        )
        notes = [f"{engine['engine']}: {note}." for engine in data["engines"] for note in engine["notes"]]
        return said_by(self.command) + verdict + engine_table(data) + bullets(notes)


def engine_table(comparison: dict[str, Any]) -> str:
    """The largest relative error of every quantity, an engine a column.

    Args:
        comparison: `nacelle.verify.Report.as_dict()`.
    """
    engines = comparison["engines"]
    entries = [{q["name"]: q for q in engine["quantities"]} for engine in engines]
    names = list(dict.fromkeys(name for listed in entries for name in listed))
    rows = []
    for name in names:
        allowed = next(listed[name]["tolerance"] for listed in entries if name in listed)
        rows.append([text(name), f"{allowed:.0e}", *(_error(listed.get(name)) for listed in entries)])
    heads = [text(f"{engine['engine']} {engine['version']}") + ">" for engine in engines]
    return table(["largest relative error", "allowed>", *heads], rows)


def _error(quantity: dict[str, Any] | None) -> str:
    if quantity is None:
        return "–"
    shown = "no number" if quantity["error"] is None else f"{quantity['error']:.1e}"
    return shown if quantity["ok"] else element("strong", f"{shown} fails")


def engines(subject: Subject, verifier: Verifier | None) -> Engines:
    """Compare a robot with other engines.

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
    return Engines(command, verifier(subject.robot).as_dict())
