"""Elastic: extended, forms, frames, named, rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.physics import ALL_TERMS, WITHOUT_FRICTION
from nacelle.elastic.dynamics import positions
from nacelle.elastic.dynamics.models import elastic_closure_gaps
from nacelle.elastic.dynamics.plan import choose_independent_rates
from nacelle.elastic.flexible_tree import flexible_tree, plane_normal
from nacelle.elastic.forms import form_of
from nacelle.elastic.frames import ElasticFrames, frames_at, stiffness_matrix
from nacelle.elastic.named import elastic_model, random_inputs
from nacelle.elastic.plant import elastic_plant, vibrations
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.assembly import row_scale
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot, body_parameters, has_mass
from nacelle.spatial.inertia import inertia_about_com
from nacelle.spatial.pose import Pose
from nacelle.tree.closure import closure_residual
from support.beam_points import mass_points
from support.elastic_states import general_state, reduced_state
from support.flexible_robots import prrrp, with_flexible_links
from support.random_robots.flexible import with_other_frames

# ---- Robots as trees of frames: which links can be flexible, planes, and what is refused


def turned_about(axis: int, degrees: float) -> Pose:
    from scipy.spatial.transform import Rotation

    return Pose(Rotation.from_euler("xyz"[axis], degrees, degrees=True).as_matrix(), np.zeros(3))


def test_planes() -> None:
    np.testing.assert_array_equal(np.abs(plane_normal(prrrp())), [0.0, 1.0, 0.0])
    assert plane_normal(with_flexible_links("delta")) is None
    frame = flexible_tree(prrrp())
    assert frame.in_plane
    assert frame.names[:3] == ("leg1.2.axial-1", "leg1.2.bend-y-1", "leg1.2.bend-y-2")
    space = flexible_tree(prrrp(), planar=False)
    assert not space.in_plane
    assert space.ne > frame.ne


def test_a_section_across_the_plane_is_refused() -> None:
    robot = with_flexible_links("fivebar", section={"rectangle": (0.01, 0.02)})
    index = next(k for k, body in enumerate(robot.bodies) if "distal" in body.name)
    # Turned about the beam by a right angle it bends about its other axis; by 30 degrees about neither.
    flexible_tree(with_other_frames(robot, index, turned_about(0, 90.0)))
    with pytest.raises(KinematicsError, match="does not lie in the plane"):
        flexible_tree(with_other_frames(robot, index, turned_about(0, 30.0)))


def test_robots_without_flexible_links() -> None:
    robot = nacelle.load("fivebar")
    for function in (flexible_tree, choose_independent_rates, form_of, elastic_plant):
        with pytest.raises(KinematicsError, match="no flexible link"):
            function(robot)


# ---- Forms of a flexible robot: which one it has, and that they are one model


def test_forms_that_do_not_exist() -> None:
    with pytest.raises(KinematicsError, match="condensed"):
        form_of(prrrp(), "condensd")
    with pytest.raises(KinematicsError, match="does not support"):
        form_of(with_flexible_links("orthoglide"), "condensed")
    assert form_of(with_flexible_links("orthoglide")).name == "assembled"
    assert form_of(with_flexible_links("fivebar", ("proximal",))).name == "general"


@pytest.mark.slow
def test_all_forms_are_one_model() -> None:
    """Forces, accelerations and energies of the three forms at one state, bent and in motion."""
    robot = prrrp((1.0, 0.0, -9.0))
    state = general_state(robot, np.random.default_rng(7))
    p, y = reduced_state(robot, state)
    general, assembled, condensed = (form_of(robot, name) for name in ("general", "assembled", "condensed"))
    expected = general.inverse(state.p, state.y, state.a, ALL_TERMS)["force"]
    size = float(np.max(np.abs(expected)))
    for form, at in ((assembled, (state.p, state.y)), (condensed, (p, y))):
        force = form.inverse(*at, state.a, ALL_TERMS)["force"]
        np.testing.assert_allclose(force, expected, rtol=0.0, atol=1e-9 * size)
        np.testing.assert_allclose(form.forward(*at, expected, ALL_TERMS)[:2], state.a, atol=1e-7)
        for name in ("kinetic", "potential"):
            value = general.energies(state.p, state.y, ALL_TERMS)[name]
            assert form.energies(*at, ALL_TERMS)[name] == pytest.approx(value, rel=1e-10), name
    np.testing.assert_allclose(condensed.elastic(p), general.elastic(state.p), atol=1e-12)
    np.testing.assert_array_equal(p[condensed.encoders], state.p[general.encoders])


# ---- Named models of flexible robots: the smallest form that there is, and inputs that it takes


def test_the_smallest_form() -> None:
    assert elastic_model(prrrp(), "elastic_inverse_dynamics").form == "lengths"
    assert elastic_model(with_flexible_links("delta"), "elastic_inverse_dynamics").form == "condensed"
    assert (
        elastic_model(with_flexible_links("fivebar", ("proximal",)), "elastic_forward_dynamics").form
        == "general"
    )


@pytest.mark.parametrize("form", ["condensed", "general"])
def test_sampled_inputs_fit_their_model(form: str) -> None:
    """Shapes are those of the model, each input is explained, positions close all loops."""
    robot = prrrp((0.0, 0.0, -9.81))
    model = elastic_model(robot, "elastic_inverse_dynamics", form=form)
    inputs = random_inputs(model, 3)
    assert {name: value.shape[1:] for name, value in inputs.items()} == dict(model.inputs)
    assert set(model.inputs) <= set(model.meaning)
    if form == "general":
        for p in inputs["p"]:
            assert np.max(np.abs(elastic_closure_gaps(robot, p)["gap"])) < 1e-10
    forces = [model.function(robot, *(value[k] for value in inputs.values()))["force"] for k in range(3)]
    assert np.all(np.isfinite(forces))


@pytest.mark.parametrize(
    ("name", "form", "words"),
    [
        ("elastic_invers_dynamics", None, "did you mean 'elastic_inverse_dynamics'"),
        ("elastic_inverse_dynamics", "small", "no form is called 'small'"),
    ],
)
def test_names_that_there_are_not(name: str, form: str | None, words: str) -> None:
    with pytest.raises(KinematicsError, match=words):
        elastic_model(prrrp(), name, form=form)


# ---- rest
#
# Vibrations about a rest pose: frequencies as those of the linear model, and which of them stretch links.

Array = np.ndarray


def found(radius: float) -> tuple[Array, Array]:
    robot = with_flexible_links("fivebar", section={"circle": radius})
    plant = elastic_plant(robot, friction=False)
    s = plant.state(nacelle.reference_pose(robot), np.zeros(2))
    return vibrations(form_of(robot), s[: form_of(robot).size], WITHOUT_FRICTION)


@pytest.mark.slow
def test_stretch_and_bending() -> None:
    """With all mass in round links, bending has w ~ r, stretch keeps its frequency whatever the radius is."""
    (thin, stretch), (thick, _) = found(0.004), found(0.0044)
    growth = np.log(thick / thin) / np.log(1.1)
    np.testing.assert_allclose(growth[stretch < 0.5], 1.0, atol=0.05)
    np.testing.assert_allclose(growth[stretch > 0.5], 0.0, atol=0.05)
    assert np.sum(stretch > 0.5) == 4
    assert np.min(np.abs(stretch - 0.5)) > 0.45
    # These are about the undeformed pose without gravity.
    robot = with_flexible_links("fivebar", section={"circle": 0.004})
    expected = nacelle.elastic.natural_frequencies(robot, nacelle.reference_pose(robot), modes=8).frequencies
    np.testing.assert_allclose(thin[:8] / 2.0 / np.pi, expected, rtol=1e-3)


def test_the_step_follows_what_bends() -> None:
    robot = with_flexible_links("fivebar", section={"circle": 0.004})
    plant = elastic_plant(robot, friction=False)
    s = plant.state(nacelle.reference_pose(robot), np.zeros(2))
    w, stretch = found(0.004)
    bends = np.max(w[stretch < 0.5])
    assert plant.suited_steps(s).implicit == pytest.approx(2.0 * np.pi / bends / 20.0)
    assert plant.suited_steps(s).method == "irk5"
    assert np.max(w) > 5.0 * bends


# ---- Frames of bent robots: kinetic energy and constraints against sums over points of mass

CASES = [prrrp, lambda: with_flexible_links("delta", number=1)]
STEP = 1e-6


def bent(
    make: Callable[[], Robot],
) -> tuple[ElasticFrames, np.ndarray, Callable[[np.ndarray], ElasticFrames]]:
    """A robot in a bent state, rates that keep its loops closed, and the robot after a small motion."""
    robot = make()
    own = choose_independent_rates(robot).elastic_tree
    state = general_state(robot, np.random.default_rng(3))

    def after(step: np.ndarray) -> ElasticFrames:
        return frames_at(own, *positions.split_positions(own, positions.step_positions(own, state.p, step)))

    return after(np.zeros(len(state.r))), state.r, after


def rotation_energy(frames: ElasticFrames, r: np.ndarray) -> float:
    """Energy of rotation about centres of mass, of sections of beams (Simpson's rule) and of rotors, J."""
    own, nz, total = frames.elastic_tree, len(frames.elastic_tree.rigid_rates), 0.0
    for joint, place in zip(own.robot.tree_joints, own.robot.v_slices, strict=True):
        rate = joint.gear_ratio * float(r[own.robot.platform_nv + place.start])
        total += 0.5 * joint.rotor_inertia * rate**2
    for body, pose in enumerate(frames.motion.poses):
        if body != BASE and has_mass(own.tree, body):
            w = pose.R.T @ (frames.jacobian(body, pose.p) @ r)[3:]
            total += 0.5 * float(w @ inertia_about_com(np.asarray(body_parameters(own.tree, body))) @ w)
    xi = np.linspace(0.0, 1.0, 201)
    weights = np.array([1.0, *([4.0, 2.0] * 100)[:-1], 1.0]) / 600.0
    for k, shapes in enumerate(own.shapes):
        pose, part = frames.floating_frame(k), own.slices[k]
        w = pose.R.T @ (frames.jacobian(shapes.beam.body, pose.p) @ r)[3:]
        rates = r[nz + part.start : nz + part.stop]
        spins = np.array([w + shapes.section_motion(at)[3:] @ rates for at in xi])
        total += 0.5 * shapes.beam.length * float(weights @ (spins**2 @ shapes.section_inertia))
    return total


@pytest.mark.parametrize("make", CASES)
def test_mass_matrix_is_the_kinetic_energy(make: Callable[[], Robot]) -> None:
    frames, r, after = bent(make)
    masses, ahead = mass_points(after(STEP * r))
    _, behind = mass_points(after(-STEP * r))
    v = (ahead - behind) / (2.0 * STEP)
    expected = 0.5 * float(masses @ np.sum(v * v, axis=1)) + rotation_energy(frames, r)
    assert 0.5 * float(r @ frames.mass_matrix() @ r) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("make", CASES)
def test_constraints_are_the_rates_of_the_gaps(make: Callable[[], Robot]) -> None:
    frames, r, after = bent(make)
    tree = frames.elastic_tree.tree
    r = r + np.random.default_rng(1).normal(size=len(r))  # rates that open the loops
    opened = [np.asarray(closure_residual(tree, after(t * r).motion), dtype=float) for t in (STEP, -STEP)]
    rates = (opened[0] - opened[1]) / (2.0 * STEP) / row_scale(tree)
    np.testing.assert_allclose((frames.constraints() @ r)[: len(rates)], rates, atol=1e-7)
    assert np.max(np.abs(rates)) > 0.1


def test_stiffness_of_a_bar() -> None:
    """Axial: E A / L of both beams of [BK2013]; platform and joints have none."""
    own = choose_independent_rates(prrrp()).elastic_tree
    K = stiffness_matrix(own)
    nz = len(own.rigid_rates)
    axial = [nz + k for k, name in enumerate(own.names) if name.endswith("axial-1")]
    np.testing.assert_allclose(K[axial, axial], 70e9 * 4e-6 / 0.4, rtol=1e-12)
    assert not np.any(K[:nz])
