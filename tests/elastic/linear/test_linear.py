"""Linear.

buckling, compliance, eigen, equilibrium, maps, matrices, mode shape, pattern, response, state, statics,
subspace, tangent.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest

import nacelle
from nacelle.elastic.dynamics import positions
from nacelle.elastic.dynamics.plan import choose_independent_rates
from nacelle.elastic.flexible_tree import FlexibleTree, flexible_tree
from nacelle.elastic.frames import frames_at
from nacelle.elastic.linear.frequencies import ModeShape, frequency_map, modes_on_subspace
from nacelle.elastic.linear.matrices import (
    body_index,
    closure_springs,
    mass_jacobian,
    matrices_at,
    null_spaces,
    rate_scales,
    sparsity_pattern,
)
from nacelle.elastic.linear.statics import constraint_rows, find_equilibrium
from nacelle.elastic.linear.tangent import (
    DeformedRobot,
    ExternalLoads,
    Forces,
    LoadedRobot,
    constraint_gaps,
    undeformed_robot,
)
from nacelle.errors import BucklingError, KinematicsError
from nacelle.kinematics.mechanism.assembly import row_scale
from nacelle.model.joint import Spring
from nacelle.model.robot import Robot
from nacelle.tree.actuation import actuator_scales
from support.beam_points import mass_points
from support.elastic_states import general_state
from support.flexible import prrrp
from support.flexible.beamed import with_beam_links
from support.flexible.prrrp import BEAM, DIRECTION, EA, EULER, robot_under_gravity
from support.flexible.references import flexible_robot
from support.flexible_robots import prrrp as plain_prrrp
from support.flexible_robots import with_flexible_links
from support.library import library_robot

# ---- Buckling of bars between pinned ends: Euler's load


def test_buckling_at_eulers_load() -> None:
    """Half of each beam's weight is at P; all of that is carried by two bars in compression."""
    robot, x = robot_under_gravity(-9.81)
    beam = robot.bodies[robot.body("leg1.2")].mass
    force = (1.0 + beam) * 9.81 / (2.0 * DIRECTION[1])
    found = nacelle.elastic.buckling(robot, x)
    # The axial force varies by the beams' own weight, 0.4 %: the middle counts.
    np.testing.assert_allclose(found.factors[:2], EULER / force, rtol=5e-3)
    assert found.near
    with pytest.raises(BucklingError, match=r"prrrp buckles under this load: .* at 0\.77") as error:
        nacelle.elastic.static_deflection(robot, x)
    assert error.value.factor == pytest.approx(found.factor)
    with pytest.raises(BucklingError):
        nacelle.elastic.natural_frequencies(robot, x, gravity=True)
    with pytest.warns(RuntimeWarning, match="near buckling"):
        batch = nacelle.elastic.natural_frequencies(robot, np.stack([x, x]), gravity=True)
    assert np.all(np.isnan(batch.frequencies))
    # Pulled, it cannot buckle.
    assert np.all(np.isinf(nacelle.elastic.buckling(robot_under_gravity(9.81)[0], x).factors))
    with pytest.raises(KinematicsError, match="no load"):
        nacelle.elastic.buckling(robot_under_gravity(0.0)[0], x)


# ---- Compliance of two bars that meet at a point


def test_compliance_is_that_of_two_bars() -> None:
    robot, x = prrrp.robot_at(0.0, 0.0)
    bars = [DIRECTION, DIRECTION * [-1.0, 1.0]]
    K = sum(EA / BEAM * np.outer(u, u) for u in bars)
    c = nacelle.elastic.compliance(robot, x)
    np.testing.assert_allclose(c[np.ix_([0, 2], [0, 2])], np.linalg.inv(K), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(np.delete(c, [0, 2], axis=0), 0.0, atol=1e-20)
    batch = nacelle.elastic.compliance(robot, np.stack([x, [9.0, 9.0]]))
    np.testing.assert_allclose(batch[0], c, atol=1e-15)
    assert np.all(np.isnan(batch[1]))
    push = {"P": np.array([3.0, 0.0, -2.0, 0.0, 0.0, 0.0])}
    linear = nacelle.elastic.static_deflection(robot, x, external=push, nonlinear=False)
    np.testing.assert_allclose(linear.displacement(), c @ push["P"], atol=1e-15)


# ---- Modes on a subspace against SciPy's generalised eigenvalues


def test_directions_without_mass_follow_statically() -> None:
    """A massless point between two springs in series: k1 k2 / (k1 + k2) on the mass."""
    k1, k2, m = 30.0, 60.0, 1.5
    K = np.array([[k1 + k2, -k2], [-k2, k2]])
    modes = modes_on_subspace(np.diag([0.0, m]), K, np.eye(2), np.zeros((2, 0)))
    np.testing.assert_allclose(modes.values, [k1 * k2 / (k1 + k2) / m], rtol=1e-12)
    np.testing.assert_allclose(modes.shapes[0] / modes.shapes[1], [k2 / (k1 + k2)], rtol=1e-12)


def test_only_rigid_motions() -> None:
    modes = modes_on_subspace(np.eye(2), np.zeros((2, 2)), np.eye(2), np.eye(2))
    assert modes.rigid == 2
    np.testing.assert_array_equal(modes.values, [0.0, 0.0])


# ---- Equilibria under loads: their stiffness, and loops that stay closed where links bend far


def test_stiffness_at_an_equilibrium() -> None:
    """On the rates that the constraints allow it is symmetric; it says how deflection follows the load."""
    robot = flexible_robot("fivebar-flexible")
    own = flexible_tree(robot)
    x = nacelle.reference_pose(robot)
    start = undeformed_robot(own, x, nacelle.inverse_kinematics(robot, x).y)
    loads = ExternalLoads(np.array([0.0, -2.0, 0.0]), {1: np.array([0.6, -1.0, 0.0, 0.0, 0.0, 0.0])})
    found = find_equilibrium(start, loads)
    assert found is not None
    assert found.stable
    K = found.basis.T @ found.tangent @ found.basis
    np.testing.assert_allclose(K, K.T, atol=1e-9 * np.max(np.abs(K)))
    # The deflection changes with the load as the inverse of this stiffness says.
    more = find_equilibrium(start, loads.scale(1.001))
    less = find_equilibrium(start, loads.scale(0.999))
    assert more is not None
    assert less is not None
    f = -LoadedRobot(found.state).outside(loads).h
    moved = found.basis @ np.linalg.solve(K, found.basis.T @ f)
    nz = len(own.rigid_rates)
    np.testing.assert_allclose((more.state.qe - less.state.qe) / 2e-3, moved[nz:], rtol=1e-4, atol=1e-9)


def test_large_deflections_stay_closed() -> None:
    """A robot pushed hard: far from linear, its loops stay closed and its actuators where they were."""
    robot = flexible_robot("fivebar-flexible")
    x = nacelle.reference_pose(robot)
    push = {robot.bodies[1].name: np.array([1.2, -1.8, 0.0, 0.0, 0.0, 0.0])}
    found = nacelle.elastic.static_deflection(robot, x, gravity=False, external=push)
    moved = found.displacement()[:2]
    linear = nacelle.elastic.compliance(robot, x)[:2, :2] @ [1.2, -1.8]
    assert np.linalg.norm(moved) > 0.01
    assert np.linalg.norm(moved - linear) > 0.01 * np.linalg.norm(linear)
    state = found.equilibria[()].state
    rows = len(constraint_rows(LoadedRobot(state))) - len(robot.actuators)
    assert np.max(np.abs(constraint_gaps(state, found.starts[()], state.frames(), rows))) < 1e-10


# ---- A map of natural frequencies is the frequencies of its poses, one by one


def test_a_map_is_its_poses() -> None:
    robot = plain_prrrp()
    x, z = nacelle.reference_pose(robot)
    found = frequency_map(robot, {"z": (z - 0.1, z + 0.1, 3)}, modes=2)
    assert found.frequencies.shape == (3, 2)
    for k, height in enumerate((z - 0.1, z, z + 0.1)):
        alone = nacelle.elastic.natural_frequencies(robot, [x, height], modes=2)
        np.testing.assert_allclose(found.frequencies[k], alone.frequencies, rtol=1e-9)
    lowest, pose = found.lowest(1)
    assert lowest == np.nanmin(found.frequencies[:, 1])
    np.testing.assert_array_equal(pose, found.modes.x[int(np.nanargmin(found.frequencies[:, 1]))])


# ---- matrices
#
# Compiled matrices against frames in numbers, and weights against the motion of the centre of mass.


def test_compiled_matrices_are_those_of_the_frames() -> None:
    robot = with_flexible_links("fivebar")
    x = nacelle.reference_pose(robot)
    found = matrices_at(robot, np.stack([x, x + np.array([0.01, -0.02])]))
    for k in range(2):
        frames = undeformed_robot(flexible_tree(robot), found.x[k], found.y[k]).frames()
        size = np.max(np.abs(found.M[k]))
        np.testing.assert_allclose(found.M[k], frames.mass_matrix(), atol=1e-13 * size)
        np.testing.assert_allclose(found.A[k], frames.constraints(), atol=1e-12)
        np.testing.assert_allclose(found.actuators[k], frames.actuator_rows(), atol=1e-12)
    assert np.all(np.linalg.eigvalsh(found.K) > -1e-9 * np.max(found.K))
    np.testing.assert_array_equal(found.rows(True)[:, -2:], found.actuators / actuator_scales(robot)[:, None])


def test_weights_are_the_rate_of_the_first_moment() -> None:
    """W r = d/dt sum m c, over bodies and points of bent beams."""
    robot = with_flexible_links("fivebar")
    own = flexible_tree(robot)
    x = nacelle.reference_pose(robot)
    state = undeformed_robot(own, x, nacelle.inverse_kinematics(robot, x).y)
    unit, random = rate_scales(own), np.random.default_rng(0)
    state = state.displace(0.01 * unit * random.normal(size=len(unit)))
    direction, h = unit * random.normal(size=len(unit)), 1e-6
    ahead, behind = (mass_points(state.displace(k * h * direction).frames()) for k in (1.0, -1.0))
    change = (ahead[0] @ ahead[1] - behind[0] @ behind[1]) / (2.0 * h)
    np.testing.assert_allclose(mass_jacobian(state.frames()) @ direction, change, atol=1e-8)


def test_places() -> None:
    robot = flexible_robot("delta-flexible")
    assert body_index(robot, None) == 1
    assert body_index(robot, "flange") >= len(robot.bodies)
    with pytest.raises(KinematicsError, match="no body or tool 'flang'"):
        body_index(robot, "flang")


# ----


def test_bodies_move_as_the_modes_say_and_links_hold_together() -> None:
    """Twists are those of `displacement`; the free ends of both distal links stay at the platform's point."""
    robot = nacelle.load("fivebar-flexible")
    modes = nacelle.elastic.natural_frequencies(robot, nacelle.reference_pose(robot))
    shape = ModeShape(modes, 0)
    np.testing.assert_allclose(shape.twist(1), modes.displacement()[:, 0], atol=1e-10)
    factor = shape.factor(0.01)
    assert shape.largest * factor == pytest.approx(0.01)
    p = shape.frames.motion.poses[1].p
    tip = p + factor * shape.at(1, p)
    ends = [end for k in shape.links.values() for end in shape.link(k, factor)[[0, -1]]]
    near = sorted(float(np.linalg.norm(end - tip)) for end in ends)
    assert near[1] < 1e-3
    with pytest.raises(nacelle.NacelleError, match="there is no mode"):
        ModeShape(modes, 99)


# ---- Entries that the pattern leaves out are zero wherever the robot is; those in it are not


@pytest.mark.parametrize(
    "make", [lambda: with_flexible_links("fivebar"), lambda: with_flexible_links("delta", number=1)]
)
def test_places_of_pattern(make: Callable[[], Robot]) -> None:
    robot = make()
    own = choose_independent_rates(robot).elastic_tree
    pattern = sparsity_pattern(own)
    p = general_state(robot, np.random.default_rng(2)).p
    frames = frames_at(own, *positions.split_positions(own, p))
    for matrix, places in (
        (np.triu(frames.mass_matrix()), pattern.mass),
        (frames.constraints(), pattern.constraints),
        (frames.actuator_rows(), pattern.actuators),
    ):
        outside = np.asarray(matrix, dtype=float).copy()
        inside = np.abs(outside[places])
        outside[places] = 0.0
        assert not np.any(outside)
        assert np.count_nonzero(inside) > 0.3 * inside.size
    assert pattern.mass[0].size < 0.6 * pattern.rates**2 / 2


# ---- Frequency response: against statics, rigid-body mechanics, and the modes


def test_slow_wrenches_meet_the_compliance() -> None:
    robot, x = prrrp.robot_at(0.0, 0.25)
    slow = nacelle.elastic.frequency_response(robot, x, [1e-3], source="P")
    np.testing.assert_allclose(slow.response[0], nacelle.elastic.compliance(robot, x), atol=1e-14)
    assert slow.inputs == ("fx", "fy", "fz", "nx", "ny", "nz")


def test_slow_forces_of_actuators_move_the_rigid_robot() -> None:
    """Far below the first mode x = -M^-1 J_r^-T tau / w^2 with the rigid robot's mass matrix."""
    robot, x = prrrp.robot_at(0.0, 0.25)
    w = 2.0 * np.pi * 0.01
    slow = nacelle.elastic.frequency_response(robot, x, [0.01]).response[0]
    J = nacelle.jacobian(robot, x).inverse
    rigid = -np.linalg.solve(nacelle.mass_matrix(robot, x), J.T) / w**2
    np.testing.assert_allclose(slow[[0, 2]], rigid, rtol=1e-5)


def test_it_is_the_sum_of_the_modes() -> None:
    """With damping proportional to stiffness H = sum of phi phi^T / (w_k^2 - w^2 + 2 i zeta w_k w)."""
    robot, x = prrrp.robot_at(0.0, 0.0)
    bodies = [
        dataclasses.replace(b, beam={"damping": {"rayleigh": {"mass": 0.0, "stiffness": 1e-5}}})
        if b.section
        else b
        for b in robot.bodies
    ]
    robot = dataclasses.replace(robot, bodies=tuple(bodies))
    modes = nacelle.elastic.natural_frequencies(robot, x)
    w_k = 2.0 * np.pi * modes.frequencies
    np.testing.assert_allclose(modes.damping, 1e-5 * w_k / 2.0, rtol=1e-6)
    grid = np.array([10.0, modes.frequencies[4], 300.0])
    found = nacelle.elastic.frequency_response(robot, x, grid, source="P").response
    phi = modes.displacement()
    w = 2.0 * np.pi * grid[:, None]
    gain = 1.0 / (w_k**2 - w**2 + 2j * modes.damping * w_k * w)
    np.testing.assert_allclose(found, np.einsum("ik,fk,jk->fij", phi, gain, phi), atol=1e-12)


def test_wrong_frequencies_are_refused() -> None:
    robot, x = prrrp.robot_at(0.0, 0.0)
    with pytest.raises(KinematicsError, match="above zero"):
        nacelle.elastic.frequency_response(robot, x, [0.0])
    with pytest.raises(KinematicsError, match="no body or tool"):
        nacelle.elastic.frequency_response(robot, x, [1.0], tool="gripper")


# ---- A robot moved by small rates: its frames move as their Jacobians say


def start() -> DeformedRobot:
    """A Delta with flexible rods, whose joints are spherical, at its reference pose."""
    robot = with_flexible_links("delta", number=1)
    x = nacelle.reference_pose(robot)
    return undeformed_robot(flexible_tree(robot), x, nacelle.inverse_kinematics(robot, x).y)


def test_frames_move_as_their_jacobians_say() -> None:
    straight = start()
    random = np.random.default_rng(0)
    unit = rate_scales(straight.elastic_tree)
    state = straight.displace(0.02 * unit * random.normal(size=len(unit)))
    frames = state.frames()
    direction, h = unit * random.normal(size=len(unit)), 1e-6
    ahead, behind = (state.displace(k * h * direction).frames().motion.poses for k in (1.0, -1.0))
    for body, pose in enumerate(frames.motion.poses):
        twist = frames.jacobian(body, pose.p) @ direction
        velocity = (ahead[body].p - behind[body].p) / (2.0 * h)
        W = (ahead[body].R - behind[body].R) @ pose.R.T / (2.0 * h)
        np.testing.assert_allclose(velocity, twist[:3], atol=1e-7)
        np.testing.assert_allclose([W[2, 1], W[0, 2], W[1, 0]], twist[3:], atol=1e-7)


def test_gaps_open_as_the_rows_say() -> None:
    straight = start()
    robot = straight.elastic_tree.robot
    rows = constraint_rows(LoadedRobot(straight))
    count = len(rows) - len(robot.actuators)
    assert np.max(np.abs(constraint_gaps(straight, straight, straight.frames(), count))) < 1e-12
    unit = rate_scales(straight.elastic_tree)
    step = 1e-6 * unit * np.random.default_rng(1).normal(size=len(unit))
    ahead, behind = (straight.displace(k * step) for k in (1.0, -1.0))
    opened = [constraint_gaps(state, straight, state.frames(), count) for state in (ahead, behind)]
    change = (opened[0] - opened[1]) / 2.0
    spins = np.arange(len(rows)) >= count - _spins(straight)
    kept = ~spins | (np.arange(len(rows)) >= count)
    np.testing.assert_allclose(change[kept], (rows @ step)[kept], atol=1e-11)


def _spins(state: DeformedRobot) -> int:
    """Idle spins of the rods: their rows leave nothing open."""
    from nacelle.kinematics.mechanism.mechanism import mechanism_of

    return sum(len(plan.spins) for plan in mechanism_of(state.elastic_tree.robot).legs)


# ---- Static deflection and loaded frequencies against elementary mechanics


@pytest.mark.slow
def test_deflection_and_forces_in_space() -> None:
    """A little load gives the linear deflection; drives carry what the rigid robot's do."""
    robot = flexible_robot("delta-flexible")
    x = np.array([0.1, -0.15, -0.65])
    push = {"flange": np.array([0.2, -0.1, 0.3, 0.01, 0.0, 0.02])}
    c = nacelle.elastic.compliance(robot, x, tool="flange")
    small = {"flange": 1e-4 * push["flange"]}
    found = nacelle.elastic.static_deflection(robot, x, gravity=False, external=small)
    np.testing.assert_allclose(found.displacement("flange"), c @ small["flange"], rtol=1e-3, atol=1e-10)
    linear = nacelle.elastic.static_deflection(robot, x, external=push, nonlinear=False)
    rigid = nacelle.dynamics.equilibrium(robot, x, external=push)
    np.testing.assert_allclose(linear.tau, rigid, rtol=1e-9)
    assert linear.factor > 1.25


@pytest.mark.costly
@pytest.mark.parametrize("g", [-11.0, -4.0, 8.0, 30.0])
def test_loaded_frequencies(g: float) -> None:
    """A pinned beam under an axial force F has the frequency w_0 sqrt(1 + F / F_Euler), in tension F > 0."""
    robot, x = robot_under_gravity(g)
    if g < -9.0:
        robot = dataclasses.replace(
            robot,
            bodies=tuple(
                dataclasses.replace(b, material={**b.material, "E": 700e9}) if b.material else b
                for b in robot.bodies
            ),
        )
    stiffer = 10.0 if g < -9.0 else 1.0
    unloaded = nacelle.elastic.natural_frequencies(robot, x)
    found = nacelle.elastic.natural_frequencies(robot, x, gravity=True)
    force = 1.00448 * g / (2.0 * DIRECTION[1])
    factors = [math.sqrt(1.0 + force / (EULER * stiffer * k**2)) for k in (1, 1, 2, 2)]
    order = np.argsort(unloaded.frequencies)
    bending = unloaded.frequencies[order][:2] * factors[:2]
    np.testing.assert_allclose(found.frequencies[:2], bending, rtol=5e-3)
    assert found.load is not None
    assert found.load.factor == (pytest.approx(-EULER * stiffer / force, rel=5e-3) if g < 0.0 else np.inf)


def test_near_buckling_warns() -> None:
    robot, x = robot_under_gravity(-0.77 * 9.81 / 1.1)
    with pytest.warns(RuntimeWarning, match="near buckling"):
        found = nacelle.elastic.static_deflection(robot, x)
    assert found.is_near_buckling
    assert 1.0 < found.factor < 1.25


# ---- Null spaces against SciPy's, with the gap that decides their rank


def test_what_is_kept_and_dropped() -> None:
    (space,) = null_spaces(np.diag([1.0, 1e-3, 1e-12])[None], np.ones(3))
    assert space.basis.shape == (3, 1)
    np.testing.assert_allclose([space.kept, space.largest_dropped], [1e-3, 1e-12], rtol=1e-9)
    (all_,) = null_spaces(np.zeros((1, 0, 2)), np.array([2.0, 3.0]))
    np.testing.assert_array_equal(all_.basis, np.diag([2.0, 3.0]))


def test_shapes_have_unit_size() -> None:
    """An axial coordinate of a bar moves it by u = xi, of size sqrt(int xi^2) = 1/sqrt(3)."""
    robot = plain_prrrp()
    own = flexible_tree(robot)
    scale = rate_scales(own)[len(own.rigid_rates) :]
    places = [k for k, name in enumerate(own.names) if name.endswith("axial-1")]
    assert len(places) == 2
    np.testing.assert_allclose(scale[places], np.sqrt(3.0) * robot.size, rtol=1e-12)


# ---- Forces at rest and their derivatives: against differences along every rate, and each other


def sprung() -> Robot:
    """A 3-RRR with springs in passive joints, in the tree and where its loops are cut."""
    robot = flexible_robot("3rrr-flexible")
    driven = {actuator.joint for actuator in robot.actuators}
    joints = [
        joint if index in driven else dataclasses.replace(joint, springs=(Spring(3.0, 0.4),))
        for index, joint in enumerate(robot.joints)
    ]
    return dataclasses.replace(robot, joints=tuple(joints))


ROBOTS = {
    "fivebar": lambda: flexible_robot("fivebar-flexible"),
    "orthoglide": lambda: flexible_robot("orthoglide-flexible"),
    "h4": lambda: with_beam_links(library_robot("h4")),
}


def somewhere(own: FlexibleTree, seed: int) -> DeformedRobot:
    """The robot deformed at random, its loops open."""
    x = nacelle.reference_pose(own.robot)
    start = undeformed_robot(own, x, nacelle.inverse_kinematics(own.robot, x).y)
    random = np.random.default_rng(seed)
    return start.displace(0.02 * random.normal(size=len(rate_scales(own))) * rate_scales(own))


@pytest.mark.parametrize("name", ROBOTS)
def test_derivatives_along_all_rates(name: str) -> None:
    robot = ROBOTS[name]()
    own = flexible_tree(robot)
    state, unit = somewhere(own, 1), rate_scales(own)
    random = np.random.default_rng(2)
    wrenches = {1: np.concatenate([random.normal(size=3), np.zeros(3)])}
    wrenches |= {len(robot.bodies): np.array([1.0, -2.0, 0.5, 0, 0, 0])} if robot.tools else {}
    loads = ExternalLoads(np.array([1.0, -2.0, -9.81]), wrenches)
    closures = random.normal(size=len(row_scale(own.tree)))
    efforts = random.normal(size=len(robot.actuators))

    def forces(at: DeformedRobot) -> dict[str, Forces]:
        loaded = LoadedRobot(at)
        return {
            "outside": loaded.outside(loads),
            "held": loaded.constraint_forces(closures, efforts),
            "strained": loaded.elastic_forces(),
        }

    here = forces(state)
    rows = constraint_rows(LoadedRobot(state))
    spins = len(rows) - len(closures) - len(efforts)
    scaled = [closures * row_scale(own.tree), np.zeros(spins), efforts * actuator_scales(robot)]
    np.testing.assert_allclose(here["held"].h, rows.T @ np.concatenate(scaled), atol=1e-12)
    step = 1e-5
    differences: dict[str, list[np.ndarray]] = {name: [] for name in here}
    for j in range(len(unit)):
        d = np.zeros(len(unit))
        d[j] = step * unit[j]
        ahead, behind = forces(state.displace(d)), forces(state.displace(-d))
        for what, columns in differences.items():
            columns.append((ahead[what].h - behind[what].h) / (2.0 * step))
    for what, columns in differences.items():
        D = here[what].D * np.outer(unit, unit)
        size = max(1.0, float(np.max(np.abs(D))))
        np.testing.assert_allclose(
            D, np.stack(columns, axis=1) * unit[:, None], atol=3e-8 * size, err_msg=what
        )


def test_springs_in_the_tree_and_in_closures() -> None:
    """Along all rates that the loops allow: where a loop is open a joint's angle is not defined."""
    own = flexible_tree(sprung())
    x = nacelle.reference_pose(own.robot)
    state = undeformed_robot(own, x, nacelle.inverse_kinematics(own.robot, x).y)
    count = len(own.robot.actuators)
    (space,) = null_spaces(constraint_rows(LoadedRobot(state))[None, :-count], rate_scales(own))
    N, step = space.basis, 1e-5
    here = LoadedRobot(state).springs(preload=True)
    assert len(closure_springs(own)) == 3
    ahead, behind = (
        np.stack([LoadedRobot(state.displace(sign * step * n)).springs(preload=True).h for n in N.T], axis=1)
        for sign in (1.0, -1.0)
    )
    np.testing.assert_allclose(N.T @ here.D @ N, N.T @ (ahead - behind) / (2.0 * step), atol=1e-7)
