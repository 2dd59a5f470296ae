"""The help of the command line: commands by subject, each with lines that one can type.

`nacelle --help` lists the subjects, `nacelle COMMAND --help` ends with the examples of the command.
Imports nothing, so that help is there at once.
"""

from __future__ import annotations

# Subject, then command, then examples. A command that is not in the table of commands is left out.
SUBJECTS: dict[str, dict[str, tuple[str, ...]]] = {
    "A robot and its description": {
        "robots": ("nacelle robots",),
        "show": ("nacelle show delta",),
        "new": ("nacelle new hexapod --leg 6-UPS", "nacelle new planar --leg RRR --count 3 --motion xy+rz"),
        "check": ("nacelle check hexapod.yaml",),
        "import": ("nacelle import cassie.xml --out cassie.yaml",),
        "schema": ("nacelle schema > nacelle.schema.json",),
        "draw": ("nacelle draw delta --at z=-600mm --out delta.png",),
        "view": ("nacelle view delta", "nacelle view delta --trajectory circle --out delta-circle.html"),
        "report": ("nacelle report delta --out delta.html",),
    },
    "Kinematics": {
        "ik": ("nacelle ik gough-stewart --at z=750mm --at rx=10deg", "nacelle ik delta --csv poses.csv"),
        "fk": ("nacelle fk fivebar --q left.motor=130deg --q right.motor=50deg",),
        "workspace": ("nacelle workspace delta --over x=-0.4:0.4 --over z=-0.8:-0.4 --out map.png",),
    },
    "Forces and vibrations": {
        "dynamics": ("nacelle dynamics delta --trajectory circle --radius 100mm --duration 1",),
        "reactions": ("nacelle reactions delta --trajectory circle --radius 100mm",),
        "linearise": ("nacelle linearise fivebar",),
        "modes": ("nacelle modes fivebar-flexible",),
        "balance": ("nacelle balance delta --counterweight leg1.arm=-80mm,0,0",),
        "verify": ("nacelle verify delta --against mujoco",),
    },
    "Simulation and control": {
        "simulate": ("nacelle simulate fivebar --until 1 --hold --csv run.csv",),
        "control": ("nacelle control delta --controllers sj,cf-rb",),
        "observe": ("nacelle observe gough-stewart --out seen.png",),
    },
    "Identification": {
        "base": ("nacelle base delta --shared legs",),
        "excite": ("nacelle excite delta --force 80% --out motion.yaml --csv motion.csv",),
        "rehearse": ("nacelle rehearse delta --motion motion.yaml --csv data.csv",),
        "identify": ("nacelle identify delta data.csv --out identified.yaml",),
        "validate": ("nacelle validate identified.yaml data.csv",),
    },
    "Code for a controller": {
        "ops": ("nacelle ops palida --friction",),
        "export": ("nacelle export delta --target c --out delta-c",),
    },
    "First steps": {
        "demo": ("nacelle demo",),
    },
}


def examples(command: str) -> tuple[str, ...]:
    """Lines that show how a command is typed."""
    return next((entries[command] for entries in SUBJECTS.values() if command in entries), ())
