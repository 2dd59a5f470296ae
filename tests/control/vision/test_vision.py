"""Vision: camera file, comparison, deviation, feedback, law, loop, path, plant, rendered, sight."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np
import pytest

import nacelle
from nacelle.control.kind import DesiredMotion
from nacelle.control.loop.run import rms
from nacelle.control.scenario.fit import round_path
from nacelle.control.vision.camera_file import read_camera
from nacelle.control.vision.comparison import (
    Case,
    Circumstances,
    VisualFeedbackBench,
    VisualFeedbackComparison,
    compare_visual_feedback,
)
from nacelle.control.vision.plant import Deviation, anchor_projectors, deviating_plant, deviating_robot
from nacelle.control.vision.sight import ModelEdges, RenderedEdges, TrueCamera, edge_sigma
from nacelle.control.vision.visual_feedback import VisualController, law_of_observed_platform
from nacelle.dynamics.equilibrium import equilibrium
from nacelle.errors import DescriptionError, KinematicsError
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.simulation.digital_controller import DigitalController, mark_interpreted
from nacelle.simulation.plant import Plant
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.vision.camera import Camera, Exposure, Shutter
from nacelle.vision.cylinders import visible_cylinders
from nacelle.vision.image.pixel_model import PixelModel, edge_coverage
from nacelle.vision.scene import RobotScenery

# ---- Cameras written in YAML, and what is said of wrong ones

GOOD = """
position: 0 100 800 mm
looks at: 0 100 0 mm
up: y
size: [640, 480]
field: 40 deg
distortion: [-0.1, 0.02, 0, 0, 0]
shutter: {rate: 200 Hz, exposure: 1 ms, latency: 3 ms, clock offset: -2 ms}
pixels: {blur: 1, read noise: 4}
"""


def test_what_is_written_is_what_there_is() -> None:
    written = read_camera(GOOD)
    camera = written.camera(nacelle.load("fivebar"))
    np.testing.assert_allclose(camera.pose.p, [0.0, 0.1, 0.8])
    np.testing.assert_allclose(camera.pose.R, np.diag([1.0, -1.0, -1.0]), atol=1e-15)
    np.testing.assert_allclose(camera.project([0.0, 0.1, 0.0]), [319.5, 239.5])
    # The shorter side sees 40 degrees, without distortion.
    assert camera.focal[0] == pytest.approx(240.0 / np.tan(np.radians(20.0)))
    shutter, pixels = written.shutter, written.pixels
    assert (shutter.rate, shutter.latency, shutter.clock_offset) == (200.0, 3e-3, -2e-3)
    assert (pixels.blur, pixels.read_noise, pixels.leg) == (1.0, 4.0, 200.0)


def test_focal_and_centre_in_pixels() -> None:
    text = "position: 0 0 1 m\nlooks at: 0 0 0 m\nup: y\nfocal: [900, 910]\ncentre: [500, 520]\n"
    camera = read_camera(text).camera(nacelle.load("fivebar"))
    assert camera.focal == (900.0, 910.0)
    np.testing.assert_allclose(camera.project([0.1, 0.0, 0.0]), [590.0, 520.0])


def test_without_a_position_it_sees_all_legs() -> None:
    robot = nacelle.load("fivebar")
    camera = read_camera({"size": [512, 512]}).camera(robot)
    assert camera.size == (512, 512)
    assert nacelle.vision.observe(robot, camera=camera).view.usable == (0, 1, 2, 3)


# ---- Robots that are not their models: which anchors can be moved, and what parallelograms stay


@pytest.mark.parametrize(
    ("name", "free"), [("fivebar", 2), ("3rrr", 2), ("prrrp", 2), ("delta", 3), ("3rps", 3)]
)
def test_anchors_move_in_the_directions_that_the_loops_allow(name: str, free: int) -> None:
    robot = nacelle.load(name)
    for projector in anchor_projectors(robot):
        assert np.linalg.matrix_rank(projector, tol=1e-6) == free
        np.testing.assert_allclose(projector @ projector, projector, atol=1e-12)


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "delta", "gough-stewart"])
def test_a_moved_robot_is_a_robot_whose_anchors_are_elsewhere(name: str) -> None:
    robot = nacelle.load(name)
    x = nacelle.reference_pose(robot)
    deviation = Deviation.sample(robot, 3, anchors=1e-4, lengths=1e-4)
    true = inverse_kinematics(deviating_robot(robot, deviation.numbers(robot)), x, limits=False)
    assert int(true.flags) == 0
    # Small deviations act on the actuators in proportion.
    half = Deviation(0.5 * deviation.anchors, 0.5 * deviation.lengths, deviation.zeros)
    some = inverse_kinematics(deviating_robot(robot, half.numbers(robot)), x, limits=False).q
    q = inverse_kinematics(robot, x, limits=False).q
    np.testing.assert_allclose(some - q, 0.5 * (true.q - q), atol=1e-6)
    assert np.max(np.abs(true.q - q)) > 2e-5


def test_fivebar_by_hand() -> None:
    """Both anchors displaced alike carry the whole robot along; a longer leg is a robot with longer bars."""
    robot = nacelle.load("fivebar")
    x, d = nacelle.reference_pose(robot), np.array([2e-3, -1e-3, 0.0])
    g = np.concatenate([d, d, np.zeros(2)])
    there = inverse_kinematics(deviating_robot(robot, g), x + d[:2], limits=False).q
    np.testing.assert_allclose(there, inverse_kinematics(robot, x, limits=False).q, atol=1e-12)
    longer = deviating_robot(robot, np.concatenate([np.zeros(6), [1e-2, 1e-2]]))
    names = robot.numbers.names("geometry")
    scale = np.array([1.0 if name == "half_base" else 1.01 for name in names])
    other = robot.with_numbers(scale * robot.numbers.vector("geometry"), "geometry")
    one, two = (inverse_kinematics(each, x, limits=False).q for each in (longer, other))
    np.testing.assert_allclose(one, two, atol=1e-12)
    assert np.max(np.abs(one - inverse_kinematics(robot, x, limits=False).q)) > 1e-3


def test_a_base_that_warms_grows_from_its_middle() -> None:
    robot = nacelle.load("delta")
    growing = Deviation.sample(robot, 0, growth=1e-4)
    assert not np.any(growing.numbers(robot))
    d = growing.numbers(robot, 2.0)[:9].reshape(3, 3)
    np.testing.assert_allclose(d.sum(axis=0), 0.0, atol=1e-15)
    anchors = np.array([robot.joint(f"leg{k}.shoulder") for k in (1, 2, 3)])
    places = np.array([robot.joints[j].frame_predecessor.p for j in anchors])
    np.testing.assert_allclose(d, 2e-4 * (places - places.mean(axis=0)), atol=1e-15)


@pytest.mark.slow
def test_a_stated_offset_of_the_clock_and_predicted_bodies() -> None:
    """The observer in the loop: clocks that differ by what is stated change nothing."""
    robot = nacelle.load("fivebar")
    camera = Camera.look_at([0.0, 0.14, 0.0], [0.0, 0.14, 0.77], up=(0.0, 1.0, 0.0))
    bench = VisualFeedbackBench(robot, camera=camera, path=round_path(robot, 0.2), settle=0.1)
    case = Circumstances(anchors=1e-4)
    plant, looking = deviating_plant(robot, bench.deviation(case, 1)), bench.visual_feedback(case, 1)
    laws, errors = [], []

    class Recorded(VisualController):
        def digital(self, *arguments, **options) -> DigitalController:
            laws.append(super().digital(*arguments, **options))
            return laws[-1]

    for offset in (0.0, 0.02):  # ten periods of the shutter
        own = replace(looking, shutter=replace(looking.shutter, clock_offset=offset))
        law = Recorded(**vars(bench.law), feedback=own, plant=plant)
        run = nacelle.control.closed_loop(
            plant, law, bench.path, options=nacelle.control.LoopOptions(settle=bench.settle, step=5e-4)
        )
        errors.append(rms(run.tool_error))
    assert max(errors) < 2e-5
    np.testing.assert_allclose(errors[1], errors[0], rtol=0.5)
    # What the observer expects to see is what is there: bars where they truly are, anchors included.
    end = run.simulation.states[-1]
    expected = laws[-1].function.observer.bodies(run.simulation.t[-1])
    true = tuple(plant.signals(end, ("R", "p")).values())
    for cylinder in bench.cylinders:
        pixels = [camera.project(np.stack(cylinder.ends_in_base(*bodies))) for bodies in (expected, true)]
        across = np.array([[0.0, -1.0], [1.0, 0.0]]) @ (pixels[1][1] - pixels[1][0])
        off = (pixels[0] - pixels[1]) @ across / np.linalg.norm(across)
        assert np.max(np.abs(off)) < 0.03


# ---- The law at an observed platform is the law of the encoders at the platform that these find


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fivebar", "3rps"])
def test_forces_are_those_of_computed_torque(name: str) -> None:
    robot = nacelle.load(name)
    x = nacelle.reference_pose(robot)
    law = nacelle.control.controller(robot, "ct-cartesian", period=1e-3, friction=True)
    observed, memory = compile_native(law_of_observed_platform(law.kind), robot), law.start(x)
    seen = memory
    fields, n = law.kind.memory(robot), robot.motion.n
    q = law.coordinates(x)
    rng = np.random.default_rng(2)
    for _ in range(2):  # later samples of encoders learn what the model lacks
        # The encoders find the platform where it is; the observer hands the same over.
        motion = DesiredMotion(x, 0.1 * rng.normal(size=n), rng.normal(size=n))
        force, memory = law.step(memory, q, motion)
        parts = fields.split(memory)
        memory = fields.join(parts | {"unmodelled": 0.0})
        outputs = observed(seen, parts["x"], parts["v"], np.concatenate(motion), law.gains)
        seen = outputs["memory"]
        np.testing.assert_allclose(outputs["force"], force, rtol=1e-6, atol=1e-9)
        a = seen[fields.slice_of("acceleration")]
        np.testing.assert_allclose(a, parts["acceleration"], rtol=1e-6, atol=1e-9)


# ---- The loop by itself: readings, and that it is the loop of a robot without deviation


@pytest.fixture(scope="module")
def robot() -> nacelle.Robot:
    return nacelle.load("fivebar")


@pytest.mark.slow
def test_a_robot_that_is_its_model_moves_as_it(robot: nacelle.Robot) -> None:
    law = nacelle.control.controller(robot, "ct-cartesian", period=1e-3, friction=True)
    plants = (deviating_plant(robot, Deviation.zero(robot)), rigid_plant(robot, smooth=1e-3))
    one, two = (
        nacelle.control.closed_loop(
            plant, law, round_path(robot, 0.2), options=nacelle.control.LoopOptions(settle=0.02, step=5e-4)
        )
        for plant in plants
    )
    np.testing.assert_allclose(one.x, two.x, atol=1e-9)
    np.testing.assert_allclose(one.estimated_poses, one.x, atol=1e-4)
    assert rms(one.tool_error) < 1e-4
    for what in ("energy", "work", "dissipated_energy"):
        energies = (getattr(run.simulation, what) for run in (one, two))
        np.testing.assert_allclose(*energies, atol=1e-9)


def test_encoders_count_from_wrong_zeros(robot: nacelle.Robot) -> None:
    off = dataclasses.replace(Deviation.zero(robot), zeros=np.array([0.01, -0.02]))
    plant, x = deviating_plant(robot, off), nacelle.reference_pose(robot)
    q = nacelle.inverse_kinematics(robot, x).q + off.zeros
    np.testing.assert_allclose(plant.signals(plant.state(x, np.zeros(2)), ("q",))["q"], q, atol=1e-12)


@pytest.mark.parametrize("name", ["fivebar", "3rps", "gough-stewart"])
def test_it_is_round_within_reach_and_ends_at_rest(name: str) -> None:
    """A path that fits any robot."""
    robot = nacelle.load(name)
    path = round_path(robot, 0.4)
    samples = nacelle.trajectory.sample_trajectory(robot, path, np.linspace(0.0, path.duration, 50))
    assert bool(np.all(nacelle.inverse_kinematics(robot, samples.x).ok))
    np.testing.assert_allclose(samples.v[[0, -1]], 0.0, atol=1e-12)
    np.testing.assert_allclose(samples.x[0], samples.x[-1], atol=1e-12)
    assert np.max(np.ptp(samples.x, axis=0)) > 0.01


# ---- The true robot against the simulation of a robot with these numbers folded in


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "gough-stewart", "quattro"])
def test_it_moves_as_a_simulated_robot(name: str) -> None:
    robot = nacelle.load(name)
    x = nacelle.reference_pose(robot)
    deviation = Deviation.sample(robot, 0, anchors=1e-3, lengths=1e-3)
    true = deviating_robot(robot, deviation.numbers(robot))
    force = 1.5 * equilibrium(true, x) + 0.2
    plant = deviating_plant(robot, deviation)
    own, run = (
        nacelle.simulate(
            each, x, tau=force, until=0.05, integration=nacelle.simulation.Integration("rk4", step=5e-4)
        )
        for each in (plant, rigid_plant(true, smooth=1e-3))
    )
    assert np.max(np.abs(own.x[-1] - x)) > 1e-5
    np.testing.assert_allclose(own.x[-1], run.x[-1], atol=1e-13)
    np.testing.assert_allclose(own.v[-1], run.v[-1], atol=1e-11)
    joints = inverse_kinematics(true, own.x[-1], limits=False)
    np.testing.assert_allclose(plant.signals(own.states[-1], ("q",))["q"], joints.q, atol=1e-11)
    R, p = plant.signals(own.states[-1], ("R", "p")).values()
    np.testing.assert_allclose(p, joints.bodies.p, atol=1e-11)
    # Rods between spherical joints may spin: what is seen of them are their axes.
    for cylinder in visible_cylinders(robot):
        one, two = cylinder.ends_in_base(R, p), cylinder.ends_in_base(*joints.bodies)
        np.testing.assert_allclose(one, two, atol=1e-10)


@pytest.fixture(scope="module")
def camera() -> Camera:
    return Camera.look_at([0.0, 0.14, 0.0], [0.0, 0.14, 0.77], up=(0.0, 1.0, 0.0), size=(400, 400))


def test_images_and_their_model_have_the_same_statistics(robot: nacelle.Robot, camera: Camera) -> None:
    """At one pose: normals of rendered edges scatter as their covariance says, and as the model's."""
    pixels, scenery = PixelModel(read_noise=4.0), RobotScenery(robot)
    true = scenery.bodies()
    exposure = Exposure(0.0, 0.0, (1,))
    rendered = RenderedEdges(robot, camera, pixels, seed=1)
    model = ModelEdges(scenery.at(camera), pixels, seed=1)
    runs = {
        source: [source.edges(exposure, true, lambda: true) for _ in range(30)]
        for source in (rendered, model)
    }
    normals, covariances = {}, {}
    for source, edges in runs.items():
        normals[source] = np.array([[edge.normal for edge in both] for both in edges])
        covariances[source] = np.array([[edge.covariance for edge in both] for both in edges]).mean(axis=0)
    for side in (0, 1):
        one, two = (covariances[source][side] for source in (rendered, model))
        # The fit leaves out a little of the edge's ends: its covariance is somewhat larger.
        assert 0.8 < np.sqrt(np.trace(one) / np.trace(two)) < 1.3
        for source in (rendered, model):
            spread = np.cov(normals[source][:, side].T)
            ratio = np.trace(spread) / np.trace(covariances[source][side])
            assert 0.5 < ratio < 1.7  # 30 draws of two numbers
        off = normals[rendered][:, side].mean(axis=0) - normals[model][:, side].mean(axis=0)
        assert np.linalg.norm(off) < 4.0 * np.sqrt(2.0 * np.trace(one) / 30.0)


# ---- When exposures come, and what the best error of a pixel is


class Recorder:
    """Keeps what it is called with."""

    def __init__(self) -> None:
        self.calls = []

    def edges(self, exposure, true, predicted):
        self.calls.append((exposure, true[1]))
        return []


@pytest.fixture(scope="module")
def plant() -> Plant:
    robot = nacelle.load("fivebar")
    return deviating_plant(robot, Deviation.zero(robot))


@pytest.mark.parametrize("offset", [0.0, 0.0137])
def test_every_exposure_comes_once_and_not_before_it_has_arrived(plant: Plant, offset: float) -> None:
    shutter = Shutter(rate=300.0, exposure=1e-3, latency=4e-3, clock_offset=offset)
    source, samples, seen = Recorder(), [], []
    sight = TrueCamera(plant, shutter, source, (0, 1, 2, 3), start=0.0)

    @mark_interpreted
    @nacelle.dynamics.physics(t=(), z=(0,))
    def watch(robot, t, z, *, motion):
        before = len(source.calls)
        sight.arrived_edges(float(t), motion, lambda time: (np.zeros(0), np.zeros(0)))
        samples.append((float(t), source.calls[before:]))
        return {"force": np.zeros(2), "memory": z}

    law, x = DigitalController(watch, 1e-3), nacelle.reference_pose(plant.robot)
    run = nacelle.simulate(
        plant, x, [0.1, 0.0], law, until=0.06, integration=nacelle.simulation.Integration("rk4", step=5e-4)
    )
    for now, calls in samples:
        for exposure, p in calls:
            # The robot is where it was in the middle of the exposure, by its own clock.
            there = plant.signal(run.at(exposure.time - offset).state, "p")
            np.testing.assert_allclose(p, there, atol=1e-11)
            assert now - 1e-3 < exposure.arrival + 1e-9 <= now + 2e-9
            seen.append(exposure)
    np.testing.assert_allclose(np.diff([one.time for one in seen]), 1.0 / 300.0, atol=1e-12)
    cylinders = [one.cylinders[0] for one in seen]
    assert np.all(np.diff(cylinders) % 4 == 1)
    assert len(seen) in (16, 17)


@pytest.mark.parametrize("blur", [0.6, 1.5])
def test_error_of_a_pixel_is_the_bound_of_the_pixel_model(blur: float) -> None:
    """Fisher's information of one row of pixels across an edge, averaged over where the edge is in them."""
    model = PixelModel(blur=blur)
    s = np.arange(-40.0, 40.0, 0.25)
    slope = edge_coverage(s, np.ones_like(s), np.zeros_like(s), blur)[1]
    information = 0.25 * np.sum((160.0 * slope / 2.0) ** 2)
    assert edge_sigma(model) == pytest.approx(information**-0.5, rel=0.02)


def test_what_cannot_be_is_refused(plant: Plant, robot: nacelle.Robot) -> None:
    with pytest.raises(KinematicsError, match="anchors is not negative, got -1"):
        Deviation.sample(robot, 0, anchors=-1.0)
    with pytest.raises(KinematicsError, match="'ct-cartesian', got 'cf-rb'"):
        law_of_observed_platform(nacelle.control.controller(robot, "cf-rb").kind)
    with pytest.raises(nacelle.UnreachableError):
        plant.state([5.0, 5.0], np.zeros(2))
    with pytest.raises(KinematicsError, match="sees no cylinder"):
        TrueCamera(plant, Shutter(), Recorder(), (), start=0.0)
    with pytest.raises(DescriptionError, match="finite number"):
        read_camera("name: a\ndistortion: [.nan, 0, 0, 0, 0]\n")


# ---- Closed loops of a five-bar whose anchors are off: who wins, and where curves cross


@pytest.fixture(scope="module")
def bench() -> VisualFeedbackBench:
    camera = Camera.look_at([0.0, 0.14, 0.0], [0.0, 0.14, 0.77], up=(0.0, 1.0, 0.0))
    return VisualFeedbackBench(nacelle.load("fivebar"), camera=camera, settle=0.1)


@pytest.mark.slow
def test_looking_wins_where_anchors_are_off(bench: VisualFeedbackBench) -> None:
    case = Circumstances(anchors=3e-4)
    encoders, vision, both = (
        rms(bench.run(name, case, 1).tool_error) for name in ("encoders", "vision", "both")
    )
    # Errors of anchors go to the platform as forward kinematics carries them; vision has them as states.
    assert encoders > 1e-4
    assert vision < 0.05 * encoders
    assert both < 2e-5


@pytest.mark.slow
def test_looking_loses_where_the_model_is_right(bench: VisualFeedbackBench) -> None:
    case = Circumstances(anchors=0.0, noise=20.0, rate=100.0)
    encoders, vision = (rms(bench.run(name, case, 1).tool_error) for name in ("encoders", "vision"))
    assert encoders < 1e-5
    assert vision > 2.0 * encoders


@pytest.mark.slow
def test_equal_seeds_give_equal_runs(bench: VisualFeedbackBench) -> None:
    one, two = (bench.run("vision", Circumstances(), 3) for _ in range(2))
    np.testing.assert_array_equal(one.x, two.x)
    other = bench.run("vision", Circumstances(), 4)
    assert np.max(np.abs(one.x - other.x)) > 1e-7


@pytest.mark.slow
def test_sweeps_and_crossings(bench: VisualFeedbackBench) -> None:
    sweeps = {"anchors": (1e-6, 1e-3)}
    result = compare_visual_feedback(bench, sweeps=sweeps, seeds=(1,), feedbacks=("encoders", "vision"))
    (crossing,) = result.crossings
    assert crossing.vision_wins_above
    assert 1e-6 < crossing.value < 1e-3
    assert "vision wins above" in result.verdict("anchors")
    figure = result.plot(shown=False)
    assert len(figure.axes) == 1


def test_crossings_are_where_the_medians_are_equal() -> None:
    def case(value: float, encoders: float, vision: float) -> Case:
        rms = {"encoders": np.array([encoders]), "vision": np.array([vision])}
        return Case("noise", value, rms, rms)

    # Encoders at 1; vision 0.01, 0.1, 10, then lost: it is as good as they are half-way of the logarithms.
    cases = (case(1.0, 1.0, 0.01), case(4.0, 1.0, 0.1), case(16.0, 1.0, 10.0), case(64.0, 1.0, np.nan))
    robot = nacelle.load("fivebar")
    result = VisualFeedbackComparison(robot, cases, Circumstances(), (1,), "model")
    (crossing,) = result.crossings
    assert crossing.value == pytest.approx(8.0)
    assert not crossing.vision_wins_above


def test_names_are_checked(bench: VisualFeedbackBench) -> None:
    with pytest.raises(KinematicsError, match="did you mean 'vision'"):
        bench.run("visoin", Circumstances(), 1)
    with pytest.raises(KinematicsError, match="did you mean 'anchors'"):
        compare_visual_feedback(bench, sweeps={"anchor": (1.0,)})
