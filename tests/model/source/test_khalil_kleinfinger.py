"""Tables of Khalil and Kleinfinger typed as the papers print them."""

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.mechanism.assembly import assemble, require_assembly
from nacelle.model.read import read_text
from nacelle.tree.spanning_tree import tree_kinematics

# [KI2007] Table 1, as printed; leg 1 has gamma_11 = d_11 = 0.
SPACE = """
format: nacelle/1
name: space
motion: se3
reference: {position: 0.1 0.1 0.8 m}
platform: {mass: 5 kg, inertia: 0.1 0.1 0.15 kg*m^2}
templates:
  leg:
    parameters: {γ_1i: 0, d_1i: 0, P: null}
    table: |
      j_i\ta(j_i)\tμ_ji\tσ_ji\tγ_ji\tb_ji\tα_ji\td_ji\tθ_ji\tr_ji
      1i\t0\t1\t0\tγ_1i\t0\t-π/2\td_1i\tθ_1i\t0
      2i\t1i\t0\t0\t0\t0\tπ/2\t0\tθ_2i\t0
      3i\t2i\t1\t1\t0\t0\tπ/2\t0\t0\tL_i
    bodies:
      3i: {mass: 1 kg, inertia: 0.02 0.02 0.001 kg*m^2}
    joints:
      2i: {guess: 80 deg}
      3i: {guess: 800 mm}
    closures:
      ball: {type: spherical, parent: 3i, child: platform, child_at: $P}
legs:
  - repeat: leg
    table:
      - {name: leg1, P: 0 0 0 mm}
      - {name: leg2, P: 300 0 0 mm, d_1i: 500 mm}
      - {name: leg3, P: 150 260 0 mm, γ_1i: 60 deg, d_1i: 500 mm}
"""

# [BK2013] Table I, as printed, with a line for the closure of leg 2 at P.
PRRRP = """
format: nacelle/1
name: prrrp
motion: [x, z]
gravity: 0 0 -9.81 m/s^2
reference: {position: 0.3 0 0.2645751311064591 m}
platform: {type: point, name: 3, mass: 1 kg}
legs:
  - name: legs
    table: |
      j  a(j)  μ_ji  σ_ji  γ_ji  b_ji  α_ji  d_ji      θ_ji  r_ji
      1  0     1     1     0     0     0     0         0     q_1
      2  1     0     0     0     0     π/2   0         q_2   0
      3  2     0     0     0     0     0     l = 0.4m  q_3   0
      4  0     1     1     0     0     0     a = 0.6m  0     q_4
      5  4     0     0     0     0     π/2   0         q_5   0
    bodies:
      1: {mass: 1 kg}
      4: {mass: 1 kg}
    joints:
      2: {guess: 40 deg}
      5: {guess: 140 deg}
    closures:
      P: {type: revolute, parent: 5, at: 400 0 0 mm, child: 3}
"""


def table_matrix(gamma, b, alpha, d, theta, r):
    """T of frame j in frame a(j), written out (Khalil and Dombre, Modeling ..., for tree structures)."""

    def rz(t, s):
        return np.array(
            [[np.cos(t), -np.sin(t), 0, 0], [np.sin(t), np.cos(t), 0, 0], [0, 0, 1, s], [0, 0, 0, 1]]
        )

    def rx(t, s):
        return np.array(
            [[1, 0, 0, s], [0, np.cos(t), -np.sin(t), 0], [0, np.sin(t), np.cos(t), 0], [0, 0, 0, 1]]
        )

    return rz(gamma, b) @ rx(alpha, d) @ rz(theta, r)


def homogeneous(pose):
    return np.vstack([np.column_stack([pose.R, pose.p]), [0, 0, 0, 1]])


@pytest.fixture(scope="module")
def space():
    return nacelle.loads(SPACE)


def test_space_robot_structure(space):
    assert [leg.name for leg in space.legs] == ["leg1", "leg2", "leg3"]
    assert [nacelle.kinematics.leg_type(space, leg).name for leg in space.legs] == ["UPS"] * 3
    assert [space.joints[a.joint].name for a in space.actuators] == [
        f"leg{i}.{j}i" for i in (1, 2, 3) for j in (1, 3)
    ]
    assert nacelle.kinematics.mobility(space).platform == 6


def test_space_robot_frames(space):
    rng = np.random.default_rng(3)
    q = rng.uniform(-1.0, 1.0, space.nq)
    poses = tree_kinematics(space, space.reference, q).poses
    parameters = {"leg1": (0, 0), "leg2": (0, 0.5), "leg3": (np.pi / 3, 0.5)}
    for k, (name, (gamma, d)) in enumerate(parameters.items()):
        q1, q2, q3 = q[3 * k : 3 * k + 3]
        T1 = table_matrix(gamma, 0, -np.pi / 2, d, q1, 0)
        T2 = T1 @ table_matrix(0, 0, np.pi / 2, 0, q2, 0)
        T3 = T2 @ table_matrix(0, 0, np.pi / 2, 0, 0, q3)
        for body, T in (("1i", T1), ("2i", T2), ("3i", T3)):
            np.testing.assert_allclose(
                homogeneous(poses[space.body(f"{name}.{body}")]), T, rtol=0, atol=2e-16 * 10
            )


def test_inverse_jacobian_of_the_paper(space):
    """[KI2007] (36), with the misprint mended: rows of J_1^-1 in frame 0."""
    rng = np.random.default_rng(5)
    for q1, q2, L in rng.uniform([-0.5, 0.8, 0.5], [0.5, 1.6, 1.2], (20, 3)):
        q = np.zeros(space.nq)
        q[:3] = q1, q2, L
        motion = tree_kinematics(space, space.reference, q)
        J = motion.jacobian(space.body("leg1.3i"))[:3, 6:9]
        C1, S1, C2, S2 = np.cos(q1), np.sin(q1), np.cos(q2), np.sin(q2)
        printed = np.array(
            [
                [-S1 / (L * S2), 0, -C1 / (L * S2)],
                [C1 * C2 / L, S2 / L, -C2 * S1 / L],
                [C1 * S2, -C2, -S1 * S2],
            ]
        )
        np.testing.assert_allclose(printed @ J, np.eye(3), rtol=0, atol=1e-14)


def test_prrrp_of_the_paper():
    robot = nacelle.loads(PRRRP)
    assert [leg.name for leg in robot.legs] == ["legs-1", "legs-2"]
    assert [nacelle.kinematics.leg_type(robot, leg).name for leg in robot.legs] == ["PRR", "PRR"]
    m = nacelle.kinematics.mobility(robot)
    assert (m.counted_planar, m.true, m.platform) == (2, 2, 2)
    found = require_assembly(robot)
    P = found.platform.p
    for body, x in (("legs.1", 0.0), ("legs.4", 0.6)):
        A = found.motion.poses[robot.body(body)].p
        assert A[0] == pytest.approx(x, abs=1e-15)
        assert np.linalg.norm(P - A) == pytest.approx(0.4, abs=1e-14)
    assert robot.bodies[1].mass == 1.0


def test_palida_inverse_kinematics_of_the_paper():
    """[AGH2005] (29)-(31): length and cardan angles from the vector r = B - A."""
    robot = nacelle.load("palida")
    for seed in range(5):
        rng = np.random.default_rng(seed)
        pose = robot.reference._replace(p=robot.reference.p + rng.uniform(-0.05, 0.05, 3))
        found = assemble(robot, pose)
        assert not found.open
        for leg in robot.legs:
            ball = robot.joints[leg.closures[0]]
            B = (found.motion.poses[1] @ ball.frame_successor).p
            A = robot.joints[leg.joints[0]].frame_predecessor.p
            x, y, z = B - A
            expected = [np.arctan2(x, -z), np.arctan(y / np.hypot(x, z)), np.linalg.norm(B - A)]
            q = [found.q_tree[robot.q_slices[j]][0] for j in leg.joints]
            np.testing.assert_allclose(q, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("2i\t1i", "2i\t7i", 12, "no body is called '7i'"),
        ("3i\t2i\t1\t1", "3i\t2i\t1\t5", 13, "σ of joint 3i is '5'"),
        ("μ_ji\tσ_ji", "μ_ji\tspin", 10, "unknown column 'spin'"),
        ("1i\t0\t1\t0\tγ_1i", "1i\t0\t1\t0\tδ_1i", 11, "nothing is called 'δ_1i'"),
        ("\t0\tθ_2i\t0", "\t0\tθ_2i", 12, "9 cells under 10 columns"),
        ("\tθ_1i\t0", "\t?\t0", 11, "the variable theta of joint 1i"),
        ("-π/2", "-90", 11, "the angle -90 has no unit"),
    ],
)
def test_faulty_tables_name_the_line(old, new, line, words):
    assert SPACE.count(old) == 1
    with pytest.raises(nacelle.DescriptionError) as caught:
        read_text(SPACE.replace(old, new).lstrip("\n"), "space.yaml")
    problems = caught.value.problems
    assert any(words in p.message and p.line == line for p in problems), [str(p) for p in problems]


def test_rows_as_lists_and_as_mappings_agree():
    as_lists = PRRRP.replace(
        PRRRP[PRRRP.index("    table: |") : PRRRP.index("    bodies:")],
        """    table:
      - [1, 0, 1, 1, 0, 0, 0, 0, 0, q_1]
      - [2, 1, 0, 0, 0, 0, pi/2, 0, q_2, 0]
      - [3, 2, 0, 0, 0, 0, 0, 0.4 m, q_3, 0]
      - [4, 0, 1, 1, 0, 0, 0, 0.6 m, 0, q_4]
      - [5, 4, 0, 0, 0, 0, pi/2, 0, q_5, 0]
""",
    )
    as_mappings = PRRRP.replace(
        PRRRP[PRRRP.index("    table: |") : PRRRP.index("    bodies:")],
        """    table:
      - {j: 1, a: 0, mu: 1, sigma: 1, alpha: 0, d: 0, theta: 0, r: q_1}
      - {j: 2, a: 1, mu: 0, sigma: 0, alpha: pi/2, d: 0, theta: q_2, r: 0}
      - {j: 3, a: 2, mu: 0, sigma: 0, alpha: 0, d: 0.4 m, theta: q_3, r: 0}
      - {j: 4, a: 0, mu: 1, sigma: 1, alpha: 0, d: 0.6 m, theta: 0, r: q_4}
      - {j: 5, a: 4, mu: 0, sigma: 0, alpha: pi/2, d: 0, theta: q_5, r: 0}
""",
    )
    assert nacelle.loads(as_lists) == nacelle.loads(PRRRP) == nacelle.loads(as_mappings)


def test_a_second_row_for_a_frame_is_a_closure_line():
    """The closure of leg 2 at P as a line of the table: frame 3 is also reached from body 5."""
    row = "      5  4     0     0     0     0     π/2   0         q_5   0\n"
    closing_row = "      3  5     0     0     0     0     0     l = 0.4m  q_6   0\n"
    closure = "    closures:\n      P: {type: revolute, parent: 5, at: 400 0 0 mm, child: 3}\n"
    assert row in PRRRP
    assert closure in PRRRP
    with_line = PRRRP.replace(row, row + closing_row).replace(closure, "")
    assert nacelle.loads(with_line) == nacelle.loads(PRRRP)


def test_latex_as_converted_from_the_paper():
    """Symbols in LaTeX and the long minus sign are read as plain ones."""
    latex = (
        SPACE.replace("μ_ji", "$\\mu_{ji}$").replace("σ_ji", "$\\sigma_{ji}$").replace("-π/2", "$−\\pi/2$")
    )
    assert latex != SPACE
    assert nacelle.loads(latex) == nacelle.loads(SPACE)
