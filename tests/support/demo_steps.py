"""Results of all steps of the demonstration that cost nothing: small, plausible, not computed."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.pose_input import reference_pose
from nacelle.library import load
from nacelle.program.cost import Count
from nacelle.report.demo.circle import CircleRuns, Flight
from nacelle.report.demo.counted import CountedOperations
from nacelle.report.demo.exported import Exported
from nacelle.report.demo.flexible import Flexible
from nacelle.report.demo.identified import Identified
from nacelle.report.demo.step import DONE, DemoStep, Result
from nacelle.report.demo.verified import Agreement, Verified
from nacelle.report.operations import Operations, StageCount
from nacelle.report.published import PRRRP, published


def steps(circle: CircleRuns | None = None) -> list[DemoStep]:
    """All steps, done; the circle may be another one."""
    results: dict[str, Result] = {
        "verified": verified(),
        "counted": counted(),
        "identified": identified(),
        "circle": circle or flown(),
        "exported": exported(),
        "flexible": flexible(),
    }
    return [
        DemoStep(key, f"The step {key}", DONE, 1.5 + k, result)
        for k, (key, result) in enumerate(results.items())
    ]


def verified() -> Verified:
    errors = {"inverse dynamics": 1.1e-14, "forward dynamics": 4e-14, "kinetic energy": 0.0}
    both = (Agreement("pinocchio", "4.1.0", errors), Agreement("mujoco", "4.0.0", errors))
    return Verified("PaLiDA", 20, both, (), ("nacelle verify palida",))


def counted() -> CountedOperations:
    stages = (StageCount("rigid", 400, 574), StageCount("friction", 36, 64))
    operations = Operations(
        "palida",
        "inverse_dynamics",
        "pose",
        True,
        "general",
        Count(add=436, mul=638),
        stages,
        {},
        "everything",
        published("palida", "inverse_dynamics", "pose"),
    )
    return CountedOperations(operations, ("nacelle ops palida --friction",))


def identified() -> Identified:
    time = np.linspace(0.0, 2.0, 100)
    force = 40.0 * np.sin(6.0 * time)
    true = np.array([24.8, 0.3, 38.7])
    return Identified(
        names=("platform.m", "platform.Ixx", "strut<1>.3.tz.coulomb"),
        described=1.05 * true,
        estimates=1.01 * true,
        deviations=np.array([0.1, 0.05, 0.9]),
        true=true,
        score=0.9969,
        samples=3916,
        noise=2.0,
        left={"described": 4.1, "identified": 3.1, "true": 3.3},
        actuator="strut5.drive",
        time=time,
        forces={"measured": force + np.sin(99.0 * time), "described": 1.1 * force, "identified": force},
        commands=("nacelle identify palida nacelle-demo/measured.csv",),
    )


def flown(name: str = "palida") -> CircleRuns:
    """An inclined circle of 0.2 m with errors of 5, 4 and 0.2 mm, for a robot that moves along x, y and z."""
    robot = load(name)
    time = np.linspace(0.0, 2.5, 126)
    angle = 2.0 * np.pi * time / 1.25
    path = 0.2 * np.column_stack([np.cos(angle), 0.87 * np.sin(angle), 0.5 * np.sin(angle)])
    x = np.tile(reference_pose(robot), (len(time), 1))
    desired = x[:, :3] + path
    x[:, :3] = desired
    flights = []
    for label, error in (("sj", 5e-3), ("cf-rb", 4e-3), ("cf-rb-friction", 2e-4)):
        off = error * np.column_stack([np.sin(angle), np.cos(3.0 * angle), np.sin(2.0 * angle)])
        force = 60.0 * np.sin(angle[:, None] + np.arange(6.0))
        flights.append(Flight(label, x, desired + off, 1e-2 * force * error, force))
    return CircleRuns(
        robot, "inclined circle", "a machine", time, desired, tuple(flights), ("nacelle control palida",)
    )


def exported() -> Exported:
    return Exported(
        folder="nacelle-demo/palida-c",
        files=8,
        operations=1096,
        prototype="void palida_inverse_dynamics(\n    const double *x,\n    double *force);",
        compiler="cc",
        verdict="all is well",
        commands=("nacelle export palida --out palida-c", "make -C palida-c test"),
    )


def flexible() -> Flexible:
    sliders, printed = np.array(list(PRRRP)), np.array(list(PRRRP.values()))
    curve = np.linspace(-0.5, 0.5, 41)
    curves = np.array([np.interp(curve, sliders, column) for column in printed.T]).T
    computed = printed + 0.0004
    computed[0, 0] += 1.0
    return Flexible(sliders, printed, computed, 0.9 * printed, curve, curves, ("nacelle modes prrrp",))
