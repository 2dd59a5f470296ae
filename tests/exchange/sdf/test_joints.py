"""Joints of SDF: axes in any frame, screws, gearboxes, mimic axes."""

import math
from pathlib import Path

import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import Graph
from nacelle.exchange.sdf.read import read_sdf
from nacelle.exchange.xml import parsed


def model(*joints: str, version: str = "1.9") -> Graph:
    """Three links and some joints."""
    inertial = "<inertial><mass>1</mass></inertial>"
    links = "".join(
        f'<link name="{name}"><pose>{k} 0 0 0 0 {0.5 * k}</pose>{inertial}</link>'
        for k, name in enumerate("abc")
    )
    pose = "<pose>0 0 0 0 0 0.25</pose>"
    text = f'<sdf version="{version}"><model name="m">{pose}{links}{"".join(joints)}</model></sdf>'
    return read_sdf(parsed(text.encode(), "m.sdf"), Path("m.sdf"))


def joint(name: str, kind: str, ends: str, inner: str = "<axis><xyz>0 0 1</xyz></axis>") -> str:
    """A joint between links with names of one letter; w is the world."""
    parent, child = ("world" if end == "w" else end for end in ends)
    return (
        f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inner}</joint>'
    )


WELDS = joint("base", "fixed", "wa"), joint("hold", "fixed", "ac")


def test_axes_are_expressed_in_any_frame() -> None:
    """Joint b is turned by 0.75 against the world and by 0.5 against its model."""
    for words, turn in (("", 0.75), ('expressed_in="__model__"', 0.25), ('expressed_in="c"', 1.25)):
        axis = f"<axis><xyz {words}>2 0 0</xyz></axis>"
        graph = model(*WELDS, joint("j", "prismatic", "ab", axis))
        link = next(j for j in graph.joints if j.name == "j")
        world = graph.poses()["b"].R @ link.child_at.R @ link.axes[0].direction
        np.testing.assert_allclose(world, [math.cos(turn), math.sin(turn), 0.0], atol=1e-15)
    old = "<axis><xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame></axis>"
    link = next(j for j in model(*WELDS, joint("j", "revolute", "ab", old)).joints if j.name == "j")
    np.testing.assert_allclose(link.axes[0].direction, [math.cos(0.5), -math.sin(0.5), 0.0], atol=1e-15)
    plain = joint("j", "revolute", "ab", "<axis><xyz>1 0 0</xyz></axis>")
    older = next(j for j in model(*WELDS, plain, version="1.4").joints if j.name == "j")
    np.testing.assert_allclose(older.axes[0].direction, link.axes[0].direction, atol=1e-15)


def test_what_acts_along_an_axis() -> None:
    inner = """<axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>1e16</upper><effort>5</effort>
      <velocity>3</velocity></limit><dynamics><damping>0.1</damping><friction>0.2</friction><spring_stiffness>4</spring_stiffness>
      <spring_reference>0.3</spring_reference></dynamics></axis>"""
    link = next(j for j in model(*WELDS, joint("j", "revolute", "ab", inner)).joints if j.name == "j")
    axis = link.axes[0]
    assert (axis.damping, axis.coulomb, axis.stiffness, axis.rest, axis.limits) == (
        0.1,
        0.2,
        4.0,
        0.3,
        (-1.0, math.inf),
    )
    assert link.motor is not None
    assert (link.motor.force, link.motor.speed) == (5.0, 3.0)


def test_joints_of_two_axes_are_two_hinges() -> None:
    axes = "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0.6 0.8 0</xyz></axis2>"
    graph = model(*WELDS, joint("j", "revolute2", "ab", axes))
    links = [j for j in graph.joints if j.name.startswith("j")]
    assert [(j.parent, j.child, j.kind) for j in links] == [
        ("a", "j-carrier", "revolute"),
        ("j-carrier", "b", "revolute"),
    ]
    np.testing.assert_allclose(links[1].axes[0].direction, [0.6, 0.8, 0.0])
    ball = model(*WELDS, joint("j", "ball", "ab", ""))
    assert next(j for j in ball.joints if j.name == "j").spherical


def test_screws_go_forward_as_they_turn() -> None:
    """4 mm a turn, right-handed; the old pitch is in radians for a metre, left-handed."""
    for words in (
        "<screw_thread_pitch>0.004</screw_thread_pitch>",
        f"<thread_pitch>{-2 * math.pi / 0.004}</thread_pitch>",
    ):
        graph = model(*WELDS, joint("j", "screw", "ab", "<axis><xyz>0 0 1</xyz></axis>" + words))
        (coupling,) = graph.couplings
        assert coupling.joint == "j-2"
        assert math.isclose(coupling.follows["j"], 0.004 / (2 * math.pi))
        assert [j.kind for j in graph.joints if j.name in ("j", "j-2")] == ["revolute", "prismatic"]


def test_gearboxes_couple_hinges_on_their_reference_body() -> None:
    """theta_2 = -ratio theta_1; the second hinge goes from the gear to the body, about -z: two signs."""
    box = "<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body>"
    axes = "<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2>"
    one, other = joint("p", "revolute", "ab"), joint("q", "revolute", "ca", "<axis><xyz>0 0 -1</xyz></axis>")
    (coupling,) = model(WELDS[0], one, other, joint("g", "gearbox", "bc", axes + box)).couplings
    assert (coupling.joint, coupling.follows) == ("q", {"p": -3.0})
    (plain,) = model(
        WELDS[0], one, joint("q", "revolute", "ac"), joint("g", "gearbox", "bc", axes + box)
    ).couplings
    assert plain.follows == {"p": -3.0}
    turned = axes.replace("0 0 1</xyz></axis2>", "0 0 -1</xyz></axis2>")
    (turned_round,) = model(
        WELDS[0], one, joint("q", "revolute", "ac"), joint("g", "gearbox", "bc", turned + box)
    ).couplings
    assert turned_round.follows == {"p": 3.0}


def test_mimic_axes_follow_with_a_reference() -> None:
    """q = 2 (leader - 0.5) + 0.1."""
    mimic = (
        '<mimic joint="p"><multiplier>2</multiplier><offset>0.1</offset><reference>0.5</reference></mimic>'
    )
    inner = f"<axis><xyz>0 0 1</xyz>{mimic}</axis>"
    graph = model(WELDS[0], joint("p", "revolute", "ab"), joint("q", "revolute", "ac", inner))
    (coupling,) = graph.couplings
    assert (coupling.joint, coupling.follows) == ("q", {"p": 2.0})
    assert math.isclose(coupling.offset, -0.9)


@pytest.mark.parametrize(
    ("joints", "message"),
    [
        ((*WELDS, joint("j", "revolute", "ab", "")), "the joint 'j' has no axis"),
        ((*WELDS, joint("j", "universal", "ab")), "the joint 'j' has no axis"),
        ((*WELDS, joint("j", "revolute", "bb")), "joins a link to itself"),
        (
            (*WELDS, '<joint name="j" type="fixed"><parent>a</parent></joint>'),
            "the joint 'j' has no child",
        ),
        (
            (*WELDS, joint("j", "fixed", "ab"), joint("g", "gearbox", "bc")),
            "the gearbox 'g' has no reference body",
        ),
        (
            (*WELDS, joint("j", "revolute", "ab", "<axis><mimic joint='hold'/></axis>")),
            "'hold' has no axis to follow",
        ),
        ((*WELDS, joint("j", "screw", "ab", "<axis/><thread_pitch>0</thread_pitch>")), "of zero radians"),
    ],
)
def test_errors_name_the_place(joints: tuple[str, ...], message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        model(*joints)
    assert message in str(caught.value)
    assert caught.value.problems[0].line == 1
