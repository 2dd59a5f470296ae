"""Welds and connects of bodies and sites: what they leave open anywhere is MuJoCo's own residual."""

from __future__ import annotations

from pathlib import Path

import mujoco as mj
import numpy as np
import pytest

import nacelle
from nacelle.exchange.graph import BASE, ExchangeReport, Graph
from nacelle.exchange.mjcf.read import compile_mjcf, read_mjcf
from nacelle.spatial.pose import Pose
from support.mujoco_files import import_and_compare
from support.urdf_files import write_file

TREE = """<mujoco><worldbody>
  <site name="ground" pos="0.5 0.1 0.2" euler="20 40 -30"/>
  <body name="hand" mocap="true" pos="0.4 0 0"><geom size="0.01"/></body>
  <body name="a" pos="0.1 0.2 0.3" euler="10 20 30"><joint axis="0.2 0.3 1"/><geom size="0.1"/>
    <site name="s" pos="0 0.1 0.2" euler="50 -20 10"/>
    <body name="b" pos="0 0 1" euler="40 0 0"><joint axis="1 0 0.2"/><geom size="0.1"/></body></body>
  <body name="c" pos="1 0 0" euler="0 70 20"><joint type="ball"/><geom size="0.1"/>
    <site name="t" pos="0.1 0 0.3" quat="0.3 -0.5 0.1 0.8"/></body>
</worldbody><equality>{}</equality></mujoco>"""
EQUALITIES = [
    '<weld body1="b" body2="c"/>',
    '<weld body1="b" body2="c" anchor="0.05 0.02 0.01"/>',
    '<weld body1="b" body2="c" relpose="0.2 0.1 0 0.9 0.1 0.2 0.3"/>',
    '<weld body1="b" body2="c" relpose="0.2 0.1 0 -0.9 -0.1 -0.2 -0.3"/>',
    '<weld body1="c" body2="b" relpose="0.2 0.1 0 0.9 0.1 0.2 0.3" anchor="0 0.1 0.2" torquescale="0.3"/>',
    '<weld body1="b" relpose="0.2 0.1 0 0.1 0.9 0.2 0.3"/>',
    '<weld site1="s" site2="t"/>',
    '<weld site1="t" site2="ground"/>',
    '<weld body1="b" body2="c" anchor="0.05 0.02 0.01" torquescale="0"/>',
    '<connect body1="b" body2="c" anchor="0.05 0.02 0.01"/>',
    '<connect body1="b" anchor="0.05 0.02 0.01"/>',
    '<connect site1="s" site2="t"/>',
]


def graph_at(graph: Graph, model: mj.MjModel, qpos: np.ndarray) -> dict[str, Pose]:
    """Poses of bodies at coordinates of MuJoCo."""
    values = {}
    for j, joint in enumerate(graph.joints):
        q = int(model.jnt_qposadr[j])
        values[joint.name] = np.roll(qpos[q : q + 4], -1) if joint.spherical else qpos[q : q + 1]
    return graph.with_values(values).poses()


@pytest.mark.parametrize("equality", EQUALITIES)
def test_a_closure_leaves_open_what_mujoco_does(tmp_path: Path, equality: str) -> None:
    path = write_file(tmp_path, TREE.format(equality), "robot.xml")
    model = compile_mjcf(path, ExchangeReport()).model
    graph = read_mjcf(path)
    graph = Graph(
        "tree", "", graph.gravity, graph.bodies, tuple(j for j in graph.joints if j.kind != "fixed"),
        graph.closures,
    )  # fmt: skip
    (closure,) = graph.closures
    data = mj.MjData(model)
    rng = np.random.default_rng(5)
    for _ in range(4):
        data.qpos[:] = rng.normal(size=model.nq)
        data.qpos[2:] /= np.linalg.norm(data.qpos[2:])
        mj.mj_forward(model, data)
        poses = graph_at(graph, model, data.qpos)
        first, second = poses[closure.parent] @ closure.at, poses[closure.child] @ closure.child_at
        np.testing.assert_allclose(first.p - second.p, data.efc_pos[:3], atol=1e-14)
        scale = model.eq_data[0, 10] if "weld" in equality else 0.0
        assert closure.spherical == (scale == 0.0)
        if scale:
            # MuJoCo's residual is the vector of the relative quaternion: the sine of half the angle.
            angle = np.arccos(np.clip((np.trace(first.R.T @ second.R) - 1.0) / 2.0, -1.0, 1.0))
            expected = np.linalg.norm(data.efc_pos[3:6]) / scale
            assert np.sin(angle / 2.0) == pytest.approx(expected, rel=1e-9)


def test_what_pulls_at_a_mocap_body_is_left_out(tmp_path: Path) -> None:
    graph = read_mjcf(write_file(tmp_path, TREE.format('<weld body1="hand" body2="b"/>'), "robot.xml"))
    assert graph.closures == ()
    assert "the equality 0 left out: a user moves its mocap body" in graph.report.losses


def test_an_end_without_a_body_is_on_the_base(tmp_path: Path) -> None:
    graph = read_mjcf(write_file(tmp_path, TREE.format(EQUALITIES[5]), "robot.xml"))
    assert {graph.closures[0].parent, graph.closures[0].child} == {"b", BASE}


INERTIAL = '<inertial mass="{}" pos="0.06 0.01 0.02" fullinertia="2e-3 3e-3 4e-3 1e-4 2e-4 3e-4"/>'
# A four-bar in a plane across all axes, its coupler cut in two; both ends of the cut have turned frames.
CUT = f"""<mujoco><compiler angle="radian"/><worldbody><body name="plane" quat="0.8 0.2 -0.4 0.3">
  <body name="crank">{INERTIAL.format(0.4)}<joint name="motor" axis="0 0 1"/>
    <body name="near" pos="0.1 0.05 0">{INERTIAL.format(0.3)}<joint name="elbow" axis="0 0 1"/>
      <site name="s" pos="0.1 0.01 0.02" euler="0.3 -0.7 0.4"/></body></body>
  <body name="rocker" pos="0.3 0 0">{INERTIAL.format(0.5)}<joint name="pivot" axis="0 0 1"/>
    <body name="far" pos="0.02 0.12 0" euler="0 0 2.1">{INERTIAL.format(0.2)}<joint name="pin" axis="0 0 1"/>
      {{site}}</body></body>
</body></worldbody><equality>{{equality}}</equality><actuator><motor joint="motor"/></actuator></mujoco>"""


@pytest.mark.parametrize("kind", ["relpose", "anchor", "sites"])
def test_a_weld_across_a_body_moves_as_in_mujoco(tmp_path: Path, kind: str) -> None:
    drawn = compile_mjcf(
        write_file(tmp_path, CUT.format(site="", equality='<weld body1="near" body2="far"/>'), "drawn.xml"),
        ExchangeReport(),
    ).model.eq_data[0]
    numbers = " ".join(repr(float(value)) for value in (*drawn[3:6], *drawn[6:10]))
    equality = {
        "relpose": f'<weld body1="near" body2="far" relpose="{numbers}"/>',
        "anchor": '<weld body1="near" body2="far" anchor="0.03 0.02 -0.05"/>',
        "sites": '<weld site1="s" site2="t"/>',
    }[kind]
    site = ""
    if kind == "sites":
        R, p = np.zeros(9), drawn[3:6]
        mj.mju_quat2Mat(R, drawn[6:10])
        R = R.reshape(3, 3)
        # The same frame from the second body: relative pose inverted, then the site of the first.
        model = compile_mjcf(tmp_path / "drawn.xml", ExchangeReport()).model
        s = int(mj.mj_name2id(model, mj.mjtObj.mjOBJ_SITE, "s"))
        quat, inverse = np.zeros(4), np.zeros(4)
        mj.mju_negQuat(inverse, drawn[6:10])
        mj.mju_mulQuat(quat, inverse, model.site_quat[s])
        position = R.T @ (model.site_pos[s] - p)
        texts = [" ".join(repr(float(v)) for v in values) for values in (position, quat)]
        site = f'<site name="t" pos="{texts[0]}" quat="{texts[1]}"/>'
    path = write_file(tmp_path, CUT.format(site=site, equality=equality), "robot.xml")
    done, worst = import_and_compare(path, 20)
    assert done.robot.motion.n == 1
    assert max(worst["inverse"], worst["forward"], worst["rates"]) < 1e-9
    assert worst["loops"] < 1e-12
    assert isinstance(done, nacelle.io.ImportedRobot)


def test_names_that_hint_at_loops_are_warned_of_where_nothing_closes_them(tmp_path: Path) -> None:
    text = (
        TREE.format("")
        .replace('name="s"', 'name="closing_tip_1"')
        .replace('name="t"', 'name="closing_tip_2"')
    )
    graph = read_mjcf(write_file(tmp_path, text, "robot.xml"))
    (warning,) = graph.report.warnings
    assert "the names closing_tip_1, closing_tip_2 hint at loops" in str(warning)
    closed = text.replace("<equality>", '<equality><connect site1="closing_tip_1" site2="closing_tip_2"/>')
    assert not read_mjcf(write_file(tmp_path, closed, "closed.xml")).report.warnings
