"""Write docs/ruler.md of the results that are kept: `python benchmarks/ruler/page.py`."""

import ast
import json
import math
import statistics
from pathlib import Path

import truth
from collection import ROBOTS

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "ruler.md"
RESULTS = HERE.parent / "results" / "ruler.json"
ARCHITECTURES = ("x86_64", "aarch64")
TITLES = {
    "equations": "Equations in double",
    "mujoco": "MuJoCo",
    "mujoco_stiff": "MuJoCo, stiff",
    "mujoco_warp": "MuJoCo Warp",
    "pinocchio": "Pinocchio",
    "pinocchio_lcaba": "Pinocchio, lcaba",
    "exudyn": "Exudyn",
    "drake": "Drake",
    "dart": "DART",
    "bullet": "Bullet",
    "kamino": "Newton, Kamino",
    "nacelle": "nacelle",
}
NOT_MEASURED = {
    "Gepetto's toolbox-parallel-robots": (
        "the wheel 1.2.0 does not start: it imports `pinocchio.casadi`, which wheels of pin (3.7 to 4.1) lack"
    ),
    "MuJoCo MJX": "the wheel, mujoco-mjx 3.17, is older than the MuJoCo of the ruler, 4.0; not tried",
    "Brax, placo": "wheels exist; not tried",
    "Genesis": "a wheel exists; it needs PyTorch, which is left out for its size",
    "Chrono, MBDyn": "no wheel; `pychrono`, `projectchrono` and `chrono` are names of other packages",
}


def engines_of(results):
    """Engines in the order of the page, of all architectures."""
    measured = {engine for machine in results.values() for engine in machine["engines"]}
    return [engine for engine in TITLES if engine in measured]


def figures(results, machine, engine, key):
    """A figure of all robots that have it."""
    robots = results.get(machine, {}).get("engines", {}).get(engine, {}).get("robots", {})
    return [robot[key] for robot in robots.values() if robot.get(key) is not None]


def digits(values):
    """Median, and the least in brackets."""
    return f"{statistics.median(values):.1f} ({min(values):.1f})" if values else ""


def sizes(values):
    """Median, and the largest in brackets."""
    return f"{_power(statistics.median(values))} ({_power(max(values))})" if values else ""


def _power(value):
    return "0" if value == 0.0 else f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


def accuracy_table(results, machine="x86_64"):
    """Digits of all engines over the robots."""
    rows = ["| | robots | accelerations | forces | energies | frequencies |", "|---|---|---|---|---|---|"]
    for engine in engines_of(results):
        robots = results[machine]["engines"][engine]["robots"].values()
        count = sum(any(key in robot for key in ("frequencies", "accelerations")) for robot in robots)
        keys = ("accelerations", "forces", "energies", "frequencies")
        cells = [digits(figures(results, machine, engine, key)) for key in keys]
        rows.append(f"| {TITLES[engine]} | {count} | {' | '.join(cells)} |")
    return "\n".join(rows)


def motion_table(results, machine="x86_64"):
    """Gaps and energies after a second of free motion."""
    rows = ["| | robots | gap, m | gap, rad | energy |", "|---|---|---|---|---|"]
    for engine in engines_of(results):
        moved = figures(results, machine, engine, "gap_m")
        failed = _failures(results, machine, engine)
        if not moved and not failed:
            continue
        cells = [sizes(figures(results, machine, engine, key)) for key in ("gap_m", "gap_rad", "drift")]
        count = f"{len(moved)}" + (f", {failed} not" if failed else "")
        rows.append(f"| {TITLES[engine]} | {count} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _failures(results, machine, engine):
    robots = results.get(machine, {}).get("engines", {}).get(engine, {}).get("robots", {})
    return sum(
        "failed" in robot or "failed_motion" in robot or ("gap_m" in robot and robot["gap_m"] is None)
        for robot in robots.values()
    )


def time_table(results):
    """Microseconds, and ratios to MuJoCo over the robots that both have; blank where nothing is measured."""
    head = ["| | " + " | ".join(f"{m}: accelerations | step | step / MuJoCo" for m in ARCHITECTURES) + " |"]
    head.append("|---|" + "---|---|---|" * len(ARCHITECTURES))
    for engine in engines_of(results):
        cells = []
        for machine in ARCHITECTURES:
            both = [figures(results, machine, engine, key) for key in ("accelerations_us", "step_us")]
            cells += [f"{statistics.median(values):.0f}" if values else "" for values in both]
            cells.append(_ratio(results, machine, engine))
        head.append(f"| {TITLES[engine]} | {' | '.join(cells)} |")
    return "\n".join(head)


def _ratio(results, machine, engine):
    engines = results.get(machine, {}).get("engines", {})
    ours, base = (engines.get(name, {}).get("robots", {}) for name in (engine, "mujoco"))
    ratios = [
        ours[name]["step_us"]
        / ours[name]["yardstick_us"]
        * base[name]["yardstick_us"]
        / base[name]["step_us"]
        for name in ours
        if ours[name].get("step_us") and base.get(name, {}).get("step_us")
    ]
    return f"{math.exp(statistics.mean(map(math.log, ratios))):.2g}" if ratios else ""


def fourbar_table(results, machine="x86_64"):
    """The frequency of the disputed four-bar in every engine."""
    name = "gazebo-fourbar"
    exact = truth.read(name)["equilibrium"]["frequencies"][0]
    rows = ["| | Hz |", "|---|---|", f"| truth | {exact[:22]} |"]
    for engine in engines_of(results):
        robot = results[machine]["engines"][engine]["robots"].get(name, {})
        if robot.get("lowest_hz"):
            rows.append(f"| {TITLES[engine]} | {robot['lowest_hz']:.14f} |")
    return "\n".join(rows)


def robot_table(results, machine="x86_64"):
    """Digits of accelerations (of frequencies where there are no accelerations) by robot and engine."""
    engines = engines_of(results)
    rows = ["| robot | | dof | loops | " + " | ".join(TITLES[engine] for engine in engines) + " |"]
    rows.append("|---|---|---|---|" + "---|" * len(engines))
    for name, entry in ROBOTS.items():
        record = truth.read(name)
        cells = []
        for engine in engines:
            robot = results[machine]["engines"][engine]["robots"].get(name, {})
            value = robot.get("accelerations")
            rest = robot.get("frequencies")
            cells.append(f"{value:.1f}" if value is not None else f"*{rest:.1f}*" if rest is not None else "")
        size = f"{len(record['independent'])} | {len(record['robot']['loops'])}"
        rows.append(f"| `{name}` | {entry.about} | {size} | {' | '.join(cells)} |")
    return "\n".join(rows)


def settings(results, machine="x86_64"):
    """Settings of every engine, as its adapter says them, with versions."""
    parts = []
    for engine in engines_of(results):
        module = ast.parse((HERE / "engines" / f"{engine}.py").read_text(encoding="utf-8"))
        used = results[machine]["engines"][engine]["versions"]
        names = ", ".join(f"{name} {version}" for name, version in used.items())
        parts.append(f"**{TITLES[engine]}** ({names}, `engines/{engine}.py`). {ast.get_docstring(module)}")
    return "\n\n".join(parts)


def reasons(results, machine="x86_64"):
    """Why engines leave out robots, and where they fail."""
    rows = ["| | robots | why |", "|---|---|---|"]
    for engine in engines_of(results):
        by_reason = {}
        for name, robot in results[machine]["engines"][engine]["robots"].items():
            texts = [text for key, text in robot.items() if key == "unsupported" or key.startswith("failed")]
            if "gap_m" in robot and robot["gap_m"] is None:
                texts.append("the motion grows without bound")
            for text in texts:
                by_reason.setdefault(text, []).append(name)
        for text, names in by_reason.items():
            shown = ", ".join(f"`{name}`" for name in names) if len(names) < 5 else str(len(names))
            rows.append(f"| {TITLES[engine]} | {shown} | {text.replace('|', '/')} |")
    return "\n".join(rows)


def not_measured():
    """Engines that could not be measured, with the reason."""
    return "\n".join(
        ["| | why |", "|---|---|", *(f"| {name} | {why} |" for name, why in NOT_MEASURED.items())]
    )


def page(results):
    """The whole page."""
    text = (HERE / "page.md").read_text(encoding="utf-8")
    machine = results["x86_64"]
    where = f"{machine['date']}, {machine['processor']}, {machine['cores']} cores, x86_64"
    parts = {
        "accuracy": accuracy_table(results),
        "motion": motion_table(results),
        "time": time_table(results),
        "fourbar": fourbar_table(results),
        "robots": robot_table(results),
        "settings": settings(results),
        "reasons": reasons(results),
        "not_measured": not_measured(),
        "where": where,
    }
    for name, part in parts.items():
        text = text.replace("{{" + name + "}}", part)
    return text


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")
