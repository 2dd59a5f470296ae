"""Entries, graphs and XML files that are refused at their places."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.fields import (
    finite_numbers,
    possible_solid,
)
from nacelle.exchange.graph import BASE, Axis, Graph, Link, Solid
from nacelle.exchange.xml import parsed, read_xml, text_of, with_includes
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_quat

# ---- Numbers in XML, with errors at their places


def test_what_no_body_has() -> None:
    flat, long = (
        Solid(1.0, np.ones(3), np.diag([1.0, 2.0, 3.0])),
        Solid(1.0, np.ones(3), np.diag([1.0, 2.0, 4.0])),
    )
    assert possible_solid(flat, parsed(b"<a/>", "f").fault) is flat
    with pytest.raises(DescriptionError, match=r"f:1:1.*triangle inequality.*mend the numbers"):
        possible_solid(long, parsed(b"<a/>", "f").fault)


@pytest.mark.parametrize("text", ["1 2", "1 2 x", "nan 0 0", "1 inf 0", ""])
def test_what_is_not_three_numbers(text: str) -> None:
    with pytest.raises(DescriptionError, match=r"f:1:1.*'v' must be 3 numbers"):
        finite_numbers(parsed(b"<a/>", "f"), text, 3, "'v'")


# ---- Joints of a graph seen from both ends, and the poses that they give bodies

X, Y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


def place(seed: int) -> Pose:
    """A pose without any zeros."""
    rng = np.random.default_rng(seed)
    quat = rng.normal(size=4)
    return Pose(rotation_quat(quat / np.linalg.norm(quat)), rng.normal(size=3))


LINKS = (
    Link("weld", BASE, "a", place(1), place(2)),
    Link("hinge", BASE, "a", place(1), place(2), (Axis(X, value=0.4),)),
    Link("slide", BASE, "a", place(1), place(2), (Axis(Y, turns=False, value=-0.3),)),
    Link("cross", BASE, "a", place(1), place(2), (Axis(X, value=0.4), Axis(Y, value=1.1))),
    Link("ball", BASE, "a", place(1), place(2), spherical=True, quat=np.array([0.5, 0.1, -0.7, 0.5])),
)


def test_a_body_that_nothing_carries_is_an_error() -> None:
    graph = Graph("g", "g.xml", np.zeros(3), {"a": Solid()}, (replace(LINKS[1], parent="lost"),))
    with pytest.raises(DescriptionError, match=r"g\.xml: .*nothing carries the body 'lost'"):
        graph.poses()


# ---- xml
#
# XML without its dangers: bounded, without entities, includes within the folder, errors at their places.


def problem(text: str) -> str:
    """The one error of a document."""
    with pytest.raises(DescriptionError) as caught:
        parsed(text.encode(), "robot.xml")
    assert len(caught.value.problems) == 1
    return str(caught.value.problems[0])


def test_errors_name_line_and_column() -> None:
    assert problem('<a>\n  <!DOCTYPE b [<!ENTITY c "c">]></a>').startswith("robot.xml:2:")
    assert "a document type is declared" in problem('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>')
    assert problem("<a>\n<b></a>").startswith("robot.xml:2:6: this is no XML")
    assert "within each other" in problem("<a>" * 300 + "</a>" * 300)
    assert "no XML" in problem("")
    assert "no XML" in problem("<a>&ghost;</a>")


def test_includes_stay_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    main, part = tmp_path / "in" / "main.xml", tmp_path / "in" / "part.xml"
    part.write_text('<mujoco><b n="&lt;&quot;"/></mujoco>')
    (tmp_path / "outside.xml").write_text("<mujoco/>")
    (tmp_path / "in" / "link.xml").symlink_to(tmp_path / "outside.xml")
    main.write_text('<mujoco>\n<include file="part.xml"/>\n<c/></mujoco>')
    whole = with_includes(read_xml(main), main.parent)
    assert [child.tag for child in whole.children] == ["b", "c"]
    again = parsed(text_of(whole).encode(), str(main))
    assert again.children[0].get("n") == '<"'
    assert again.children[1].line == 3
    for file, words in (
        ("../outside.xml", "outside of the robot's folder"),
        ("link.xml", "outside of the robot's folder"),
        ("main.xml", "included twice"),
        ("absent.xml", "there is no file"),
    ):
        main.write_text(f'<mujoco>\n<include file="{file}"/></mujoco>')
        with pytest.raises(DescriptionError, match=words) as caught:
            with_includes(read_xml(main), main.parent)
        assert caught.value.problems[0].line == 2


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match=r"absent\.xml"):
        read_xml(tmp_path / "absent.xml")
    with pytest.raises(DescriptionError, match="this is a folder"):
        read_xml(tmp_path)


def test_numbers_that_no_robot_has_are_refused() -> None:
    root = parsed(b'<a>\n<b name="inf" pos="0 0 1e12"/><b pos="0 nan 0"/></a>', "robot.xml")
    root.children[0].require_sound(("name",))
    with pytest.raises(DescriptionError, match=r"robot\.xml:2:31: pos of <b> is nan"):
        root.children[1].require_sound()
    # MuJoCo 4.0 stays locked for good after an empty anchor.
    with pytest.raises(DescriptionError, match="anchor of <c> is empty"):
        parsed(b'<c anchor=" "/>', "robot.xml").require_sound()
