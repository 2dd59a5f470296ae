"""What a package says of itself: robot, conventions, functions, counts; and its README.

The first part is said in every target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nacelle.emit.names import comment_text
from nacelle.export.entry import Entry, ExportRequest
from nacelle.export.notice import LICENSE
from nacelle.kinematics.margins import NEAR_MARGIN, SINGULAR_MARGIN
from nacelle.model.robot import Robot
from nacelle.program.cost import Count
from nacelle.program.program import Variable

# ---- in every target


CONVENTIONS = (
    "SI units and radians; right-handed frames; all vectors in the axes of the base.",
    "Twists are [v; w]: velocity of the platform's origin, then angular velocity. Accelerations are their "
    "time derivatives. Of a reduced twist the entries that the motion does not have are left out.",
    "Quaternions are quat_xyzw, scalar last, and must have unit length. A rotation matrix takes vectors "
    "from the platform's axes to those of the base.",
    "Forces and torques of actuators are positive along the joint's axis: power = force times rate.",
)


@dataclass(frozen=True, eq=False)
class Package:
    """What is written.

    Attributes:
        name: prefix of all names.
        robot: the robot.
        version: of nacelle.
        request: what is to be exported.
        entries: the functions.
    """

    name: str
    robot: Robot
    version: str
    request: ExportRequest
    entries: Sequence[Entry]

    @property
    def origin(self) -> str:
        """Where the package comes from, in a line of a comment."""
        return (
            f"nacelle {self.version}, robot {comment_text(self.robot.name)}, hash "
            f"{self.robot.as_described.hash[:16]}"
        )

    @property
    def closing_entry(self) -> Entry | None:
        """The step that closes the legs, where they are solved numerically."""
        return next((entry for entry in self.entries if entry.closes), None)


def count_text(count: Count) -> str:
    """A count in plain ASCII: "1023 operations: 480 + or -, 543 * or / (12 of them /), 6 sqrt"."""
    return str(count).replace("+/-", "+ or -").replace("×/÷", "* or /").replace(" ÷)", " of them /)")


def friction_note(request: ExportRequest) -> str:
    """Say what friction counts."""
    if not request.friction:
        return "Friction is left out."
    if request.smooth is None:
        return "Friction counts; the sign of a rate changes at once, and is 0 at rest."
    return (
        f"Friction counts; its sign changes smoothly, tanh(rate / {request.smooth:g}), rates in rad/s or m/s."
    )


def monitoring_notes(entry: Entry) -> list[str]:
    """What a controller has to know of the outputs that it watches."""
    names = {variable.name for variable in entry.program.outputs}
    lines = []
    if "pivot" in names:
        lines.append(
            "pivot: below 1e-2 the fixed pivots of the program lose digits, or the pose is near a parallel "
            "singularity; at 0 there is no result."
        )
    if "margins" in names:
        lines.append(
            f"margins: below {NEAR_MARGIN:g} a leg is near a serial singularity (stretched, folded, an inner "
            f"loop flat), below {SINGULAR_MARGIN:g} its results mean nothing, below 0 it does not "
            "reach, and they "
            "are NaN."
        )
    if "branch" in names:
        lines.append(
            "branch: a negative number says that the legs have come to another assembly than that of the "
            "reference pose."
        )
    return lines


# ---- the README


SELF_TEST_MARK = "<!-- whether the self-test has been run -->"
"""A line of the README, in place of which stands what became of the self-test."""


def escape_markdown(text: str) -> str:
    """Any text as words of a Markdown page that mean nothing else there."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#|!~&$" else c for c in comment_text(text))


def readme_text(package: Package, use: Sequence[str], notes: Mapping[str, str]) -> str:
    """Write the README.

    Args:
        package: what is described.
        use: how it is built, tested and called: paragraphs of Markdown.
        notes: for every entry, by label, what the target has to say of it.
    """
    robot = package.robot
    title = f": {escape_markdown(robot.title)}" if robot.title else ""
    lines = [f"# {package.name}", "", f"Models of the robot {escape_markdown(robot.name)}{title}.", ""]
    lines += [
        f"Written by nacelle {package.version}. Hash of the robot's structure and numbers: `{robot.hash}`.",
        friction_note(package.request),
        _constants(package),
        f"The files may be used for any purpose, linked into programs under any terms: 0BSD, `{LICENSE}`.",
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


def _constants(package: Package) -> str:
    """Say which numbers of the robot are in the code."""
    groups = package.request.parameters
    if not groups:
        return "The robot's geometry, inertia and friction are constants in the code."
    return (
        f"The robot's numbers of {', '.join(groups)} are given at run time, the others are constants in the "
        "code: call the function that ends in `prepare` once for every set of them, and give what it finds, "
        "`prepared`, to the function of a state."
    )


def _section(entry: Entry, note: str) -> list[str]:
    lines = [f"### {entry.label}", "", f"{entry.title[0].upper()}{entry.title[1:]}."]
    if entry.model is not None:
        form = "the equivalent tree" if entry.model.form == "tree" else "the compact form known for it"
        lines += [f"By {form}. The count includes {entry.model.includes}."]
    lines += [note] if note else []
    lines += ["", "| | name | numbers | what it is |", "|---|---|---|---|"]
    for kind, group in (("in", entry.program.inputs), ("out", entry.program.outputs)):
        lines += [f"| {kind} | {_row(variable, entry)} |" for variable in group]
    watched = monitoring_notes(entry)
    return lines + (["", *(f"- {text}" for text in watched)] if watched else [])


def _row(variable: Variable, entry: Entry) -> str:
    shape = " × ".join(map(str, variable.shape)) or "1"
    text = escape_markdown(entry.descriptions.get(variable.name, ""))
    return f"{escape_markdown(variable.name)} | {shape} | {text}"
