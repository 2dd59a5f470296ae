"""The experiment of [AGH2005], section V, on a simulated PaLiDA: what a model brings in the loop, and where.

    python examples/computed_force_palida.py [--figures FOLDER] [--sweep]

The machine differs from the description by up to 10 % in all parameters, its drives stick (LuGre), cog and
have current loops of 2 kHz, its encoders count micrometres. Its parameters are identified from a motion that
it makes in closed loop. Then it runs a circle of 0.2 m, inclined by 30 degrees about x, at 1 m/s with samples
of 0.5 ms, forth and back, under single-joint control and under computed force without and with friction.
With --sweep the same is shown from 0.1 to 1.8 m/s, and for less and more friction.
"""

import argparse
from pathlib import Path

import numpy as np

import nacelle
from nacelle.identification.experiment import perturb_parameters

PERIOD, DELAY, CURRENT = 5e-4, 1.5e-4, 2000.0
NAMES = ("sj", "cf-rb", "cf-rb-friction")
SENSORS = nacelle.simulation.Sensors(resolution=1e-6, noise=1e-6)
FORCE_NOISE = 2.0


def machine_of(robot):
    """A machine with the parameters of a robot, whose drives stick, cog and lag."""
    loose = nacelle.simulation.stiction_of(robot, static=1.4)
    drives = nacelle.simulation.Drives(
        bandwidth=CURRENT, stiction=loose.friction, cogging=(3.0, 2.0 * np.pi / 0.03, 0.3)
    )
    return nacelle.simulation.driven_plant(nacelle.simulation.rigid_plant(loose.robot, smooth=1e-3), drives)


def law(model, name):
    """A controller with default gains."""
    lag = 1.0 / (2.0 * np.pi * CURRENT)
    return nacelle.control.controller(model, name, period=PERIOD, delay=DELAY, lag=lag)


def harmonics(robot, seed):
    """A periodic motion of all six coordinates."""
    rng = np.random.default_rng(seed)
    scale = np.array([0.05, 0.05, 0.05, 0.1, 0.1, 0.1]) / np.arange(1.0, 6.0)[:, None]
    amplitudes = 0.5 * scale * rng.normal(size=(2, 5, 6))
    centre = nacelle.reference_pose(robot)
    return nacelle.trajectory.Fourier(centre, *amplitudes, motion=robot.motion, frequency=0.5)


def measured(run, seed):
    """What encoders and currents show of a run, one of four samples."""
    rng = np.random.default_rng(seed)
    q = run.actual_coordinates + SENSORS.noise * rng.normal(size=run.actual_coordinates.shape)
    q = SENSORS.resolution * np.floor(q / SENSORS.resolution + 0.5)
    force = run.acting_forces + FORCE_NOISE * rng.normal(size=q.shape)
    return nacelle.identification.Measurement(run.robot, run.time[::4], q[::4], force[::4])


def circle(robot, speed):
    """The inclined circle, twice forth and twice back, with 5 m/s^2 at the ends."""
    tilt = np.radians(30.0)
    once = nacelle.Circle(
        nacelle.reference_pose(robot),
        0.2,
        motion=robot.motion,
        plane=[0.0, -np.sin(tilt), np.cos(tilt)],
        turns=2,
        speed=speed,
        acceleration=5.0,
        timing="trapezoid",
    )
    return once.then(once.reverse())


def rms(values):
    """Root of the mean of the squares over samples."""
    return np.sqrt(np.mean(np.square(values), axis=0))


def experiment(machine, model, speed):
    """All three controllers along the circle."""
    return nacelle.control.compare(
        machine,
        [law(model, name) for name in NAMES],
        circle(model, speed),
        options=nacelle.control.LoopOptions(sensors=SENSORS, delay=DELAY, seed=3, settle=2.0),
    )


def prediction(run, model):
    """Measured forces of a run, and those of the model without and with friction along the desired motion."""
    x, v, a = circle(model, 1.0)(run.time)
    noise = FORCE_NOISE * np.random.default_rng(4).normal(size=run.acting_forces.shape)
    rigid = nacelle.inverse_dynamics(model, x, v, a, friction=False).tau
    whole = nacelle.inverse_dynamics(model, x, v, a, smooth=1e-3).tau
    return run.acting_forces + noise, rigid, whole


def figures(runs, model, folder):
    """Forces like Fig. 5 and errors like Fig. 6 of the paper, of the first four actuators."""
    from nacelle.report.draw import style

    folder.mkdir(parents=True, exist_ok=True)
    last = runs.runs[-1]
    measured, rigid, whole = prediction(last, model)

    def forces(axis, k):
        axis.plot(last.time, measured[:, k], color=style.QUIET, linewidth=0.8, label="measured")
        style.draw_curve(axis, last.time, rigid[:, k], 1, "rigid body")
        style.draw_curve(axis, last.time, whole[:, k], 0, "rigid body and friction")

    def errors(axis, k):
        for place, run in enumerate(runs.runs):
            style.draw_curve(axis, run.time, 1e3 * run.error[:, k], place, run.label)

    _figure(last.robot, forces, "N", folder / "forces.png")
    _figure(last.robot, errors, "mm", folder / "errors.png")


def _figure(robot, draw, unit, path):
    """A picture of the first four actuators, one below the other."""
    from nacelle.report.draw import style
    from nacelle.report.draw.canvas import new_figure, save_figure

    figure = new_figure(7.0, 7.6, shown=False)
    axes = figure.subplots(4, 1, sharex=True)
    for k, axis in enumerate(axes):
        draw(axis, k)
        axis.set_ylabel(f"{robot.actuators[k].name} ({unit})")
        style.plain_axes(axis)
    axes[-1].set_xlabel("time (s)")
    style.shared_legend(figure, axes[0])
    path.unlink(missing_ok=True)
    save_figure(figure, path, step=5)


def show(runs):
    """Print errors of all actuators, and of the tool."""
    for run in runs.runs:
        errors = " ".join(f"{1e3 * value:7.3f}" for value in rms(run.error))
        print(f"{run.label}: {errors} mm; tool {1e3 * float(rms(run.tool_error)):.3f} mm", flush=True)


def accelerating(run):
    """Samples of the ramps at the ends."""
    v = circle(run.robot, 1.0)(run.time)
    along = np.abs(np.einsum("ij,ij->i", v.v, v.a)) / np.maximum(np.linalg.norm(v.v, axis=1), 1e-9)
    return along > 2.5


def ways(run):
    """Samples forth, and samples back."""
    forth = run.time < 0.5 * (run.time[-1] + PERIOD)
    return forth, ~forth


def sweep(cad, machine, model):
    """Speeds, and ratios of friction to inertia."""
    print("speed (m/s), rms error of the tool (mm) sj, cf-rb, cf-rb-friction, most force over limit")
    for speed in (0.1, 0.2, 0.5, 1.0, 1.4, 1.8):
        runs = experiment(machine, model, speed)
        tool = " ".join(f"{1e3 * float(rms(run.tool_error)):7.3f}" for run in runs.runs)
        most = max(float(np.max(np.abs(run.commanded_forces) / run.limits)) for run in runs.runs)
        said = "; ".join(run.notes[0] for run in runs.runs[:1] if run.notes)
        print(f"speed {speed}: {tool}; {most:.2f} {said}", flush=True)
    print("friction over that of the description, rms of friction over that of rigid forces, tool as above")
    for factor in (0.1, 0.3, 1.0):
        rubbed = rubbing(cad, factor)
        runs = experiment(machine_of(perturb_parameters(rubbed, 10.0, seed=7, alike=True)), rubbed, 1.0)
        tool = " ".join(f"{1e3 * float(rms(run.tool_error)):7.3f}" for run in runs.runs)
        _, rigid, whole = prediction(runs.runs[0], rubbed)
        share = float(np.mean(rms(whole - rigid)) / np.mean(rms(rigid - rigid.mean(axis=0))))
        print(f"friction {factor}: {share:.2f}; {tool}", flush=True)


def rubbing(robot, factor):
    """The robot with all its friction times a factor."""
    own = nacelle.dynamics.linear_parameters(robot)
    rubs = np.array([name.endswith(("coulomb", "viscous")) for name in own.names])
    return nacelle.dynamics.with_linear_parameters(robot, np.where(rubs, factor, 1.0) * own.values)


def main():
    """Run the experiment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figures", type=Path, help="folder for the figures")
    parser.add_argument("--sweep", action="store_true", help="speeds and ratios of friction too")
    options = parser.parse_args()
    cad = nacelle.load("palida")
    machine = machine_of(perturb_parameters(cad, 10.0, seed=7, alike=True))

    motion = nacelle.control.closed_loop(
        machine,
        law(cad, "cf-rb-friction"),
        harmonics(cad, 5),
        options=nacelle.control.LoopOptions(sensors=SENSORS, delay=DELAY, seed=1, settle=2.0, repeat=4),
    )
    result = nacelle.identification.identify(cad, measured(motion, 2), shared="legs", assume="zeros")
    model = result.to_robot("palida-identified")
    print(f"identified: {len(result.base)} base parameters, R^2 {result.fit.score:.5f}")

    runs = experiment(machine, model, 1.0)
    show(runs)
    forces, rigid, whole = prediction(runs.runs[-1], model)
    for label, values in (("rigid body", rigid), ("with friction", whole)):
        left = 100.0 * np.mean(rms(forces - values) / rms(forces))
        print(f"prediction {label}: {left:.1f} % of the force is left")
    for label, where in zip(("forth", "back"), ways(runs.runs[0]), strict=True):
        change = [rms(run.error[where]) for run in runs.runs[:2]]
        worse = [a.name for a, old, new in zip(model.actuators, *change, strict=True) if new > old]
        print(f"one way, {label}: rigid compensation alone is worse for {', '.join(worse) or 'none'}")
    ramp = accelerating(runs.runs[0])
    sj, rigid_law = (run.error for run in runs.runs[:2])
    for label, where in (("accelerating", ramp), ("at constant speed", ~ramp)):
        gain = 1.0 - np.mean(rms(rigid_law[where])) / np.mean(rms(sj[where]))
        print(f"rigid compensation {label}: {100.0 * gain:.0f} % less error")
    if options.figures is not None:
        figures(runs, model, options.figures)
    if options.sweep:
        sweep(cad, machine, model)


if __name__ == "__main__":
    main()
