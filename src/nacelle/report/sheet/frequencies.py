"""Natural frequencies: of flexible links and drives, or of a rigid robot on its springs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.dynamics.derivatives.linear import linearise
from nacelle.elastic.linear.frequencies import natural_frequencies
from nacelle.errors import NacelleError
from nacelle.page.markup import element, paragraph, table, text
from nacelle.report.plain import linear_data
from nacelle.report.sheet.content import said_by, short
from nacelle.report.sheet.subject import Subject


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
