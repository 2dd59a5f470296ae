"""The README of a package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nacelle.emit.names import remark
from nacelle.export.about import CONVENTIONS, Package, friction_words, watch_words
from nacelle.export.entry import Entry
from nacelle.export.vectors import ClosedLegs
from nacelle.program.program import Variable

TRIAL = "<!-- whether the self-test has been run -->"
"""A line of the README, in place of which stands what became of the self-test."""


def plain(text: str) -> str:
    """Any text as words of a Markdown page that mean nothing else there."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#|!~&$" else c for c in remark(text))


def readme(package: Package, use: Sequence[str], notes: Mapping[str, str]) -> str:
    """Write the README.

    Args:
        package: what is described.
        use: how it is built, tested and called: paragraphs of Markdown.
        notes: for every entry, by label, what the target has to say of it.
    """
    robot = package.robot
    title = f": {plain(robot.title)}" if robot.title else ""
    lines = [f"# {package.name}", "", f"Models of the robot {plain(robot.name)}{title}.", ""]
    lines += [
        f"Written by nacelle {package.version}. Hash of the robot's structure and numbers: `{robot.hash}`.",
        friction_words(package.wanted),
        _constants(package),
        "",
        *use,
        "",
        "## Conventions",
        "",
        *(f"- {text}" for text in CONVENTIONS),
        "",
        "## Functions",
        "",
        "Every function is straight-line code without loops: the count is the worst case and every case.",
        "Products and quotients count alike, negations do not count; roots, trigonometry, signs and the rest",
        "(min, max, choice, tanh, exp, floor, absolute values) are listed apart.",
        "",
        "| function | total | + − | × ÷ | of them ÷ | sqrt | trig | sign | other |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for entry in package.entries:
        n = entry.count
        lines.append(
            f"| `{entry.label}` | {n.total} | {n.add} | {n.mul} | {n.div} | {n.sqrt} | {n.trig} | {n.sign} "
            f"| {n.other} |"
        )
    for entry in package.entries:
        lines += ["", *_section(entry, notes.get(entry.label, ""))]
    return "\n".join(lines) + "\n"


def closed_words(closed: ClosedLegs, precisions: Sequence[str]) -> list[str]:
    """Say how exactly an iteration knows what it finds."""
    least, most = float(np.min(closed.condition)), float(np.max(closed.condition))
    known = ", ".join(f"{closed.known(real):.1e} in {real}" for real in precisions)
    return [
        "Loops are closed to the tolerance, relative to the robot's size, and y is known to the tolerance "
        "times its condition: by how much y moves where the loops open by that size. At the states of the "
        f"self-test the condition is {least:.2g} to {most:.2g}; it grows towards a singularity of a leg. The "
        "self-test tolerates for every unknown and state twice the tolerance and the rounding of a gap, "
        f"times the condition: at worst {known} (rad, m)."
    ]


def _constants(package: Package) -> str:
    """Say which numbers of the robot are in the code."""
    given = package.wanted.parameters
    if not given:
        return "The robot's geometry, inertia and friction are constants in the code."
    return (
        f"The robot's numbers of {', '.join(given)} are given at run time, the others are constants in the "
        "code: call the function that ends in `prepare` once for every set of them, and give what it finds, "
        "`prepared`, to the function of a state."
    )


def _section(entry: Entry, note: str) -> list[str]:
    lines = [f"### {entry.label}", "", f"{entry.title[0].upper()}{entry.title[1:]}."]
    if entry.model is not None:
        form = "the equivalent tree" if entry.model.form == "tree" else "the smallest form known for it"
        lines += [f"By {form}. The count includes {entry.model.includes}."]
    lines += [note] if note else []
    lines += ["", "| | name | numbers | what it is |", "|---|---|---|---|"]
    for kind, group in (("in", entry.program.inputs), ("out", entry.program.outputs)):
        lines += [f"| {kind} | {_row(variable, entry)} |" for variable in group]
    watched = watch_words(entry)
    return lines + (["", *(f"- {text}" for text in watched)] if watched else [])


def _row(variable: Variable, entry: Entry) -> str:
    shape = " × ".join(map(str, variable.shape)) or "1"
    return f"{plain(variable.name)} | {shape} | {plain(entry.words.get(variable.name, ''))}"
