"""XML without its dangers: bounded, without entities, includes within the folder, errors at their places."""

from pathlib import Path

import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.xml import parsed, read_xml, text_of, with_includes


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
