"""A five-bar as URDF, its tree and its loop in several dialects; all frames are turned against each other."""

from __future__ import annotations

from pathlib import Path

_INERTIAL = """<inertial><origin xyz="{x} 0.01 0.02" rpy="0.1 0.2 0.3"/><mass value="{m}"/>
    <inertia ixx="2e-3" ixy="1e-4" ixz="2e-4" iyy="3e-3" iyz="3e-4" izz="4e-3"/></inertial>"""


def link_text(name: str, mass: float, x: float, more: str = "") -> str:
    """A link with inertia in turned axes."""
    return f'<link name="{name}">{_INERTIAL.format(m=mass, x=x)}{more}</link>\n'


def joint_text(name: str, ends: tuple[str, str], origin: str, more: str = "", kind: str = "revolute") -> str:
    """A joint about y."""
    axis = '<axis xyz="0 1 0"/>' if "<axis" not in more and kind != "fixed" else ""
    return f"""<joint name="{name}" type="{kind}"><parent link="{ends[0]}"/><child link="{ends[1]}"/>
    <origin {origin}/>{axis}{more}</joint>\n"""


LIMIT = '<limit effort="{}" velocity="12" lower="-2" upper="2.5"/>'
TREE = (
    link_text("ground", 7.0, 0.0)
    + link_text("left_crank", 0.4, 0.05, '<visual><geometry><box size="0.2 0.02 0.02"/></geometry></visual>')
    + link_text("left_rod", 0.3, 0.06)
    + link_text("right_crank", 0.5, 0.04)
    + link_text("right_rod", 0.2, 0.07, '<visual><geometry><mesh filename="absent.stl"/></geometry></visual>')
    + link_text("tool", 0.1, 0.0)
    + joint_text(
        "left_motor",
        ("ground", "left_crank"),
        'xyz="-0.1 0 0.3" rpy="0 -2.2 0"',
        LIMIT.format(9) + '<dynamics damping="0.3"/>',
    )
    + joint_text("left_pin", ("left_crank", "left_rod"), 'xyz="0.2 0.01 0" rpy="0 1.6 0"', kind="continuous")
    + joint_text("right_motor", ("ground", "right_crank"), 'xyz="0.1 0 0.3" rpy="0 -0.9 0"', LIMIT.format(8))
    + joint_text(
        "right_pin", ("right_crank", "right_rod"), 'xyz="0.2 -0.01 0" rpy="0 -1.6 0"', kind="continuous"
    )
    + joint_text("tool_weld", ("left_rod", "tool"), 'xyz="0.1 0 0.1" rpy="0.3 0 0"', kind="fixed")
)
# Where the ends of the rods meet, on each of them.
LEFT, RIGHT = 'xyz="0.25 -0.01 0"', 'xyz="0.25 0.01 0" rpy="0 0.4 0"'
LOOPS = {
    "loop": f"""<loop name="tip" type="revolute"><predecessor link="left_rod"><origin {LEFT}/></predecessor>
        <successor link="right_rod"><origin {RIGHT}/></successor><axis xyz="0 1 0"/></loop>""",
    "constraint": f"""<constraint name="tip" type="revolute"><parent link="left_rod"/><parent_origin {LEFT}/>
        <parent_axis xyz="0 1 0"/><child link="right_rod"/><child_origin {RIGHT}/></constraint>""",
    "loop_joint": f"""<loop_joint name="tip" type="revolute"><link1 link="left_rod" {LEFT}/>
        <link2 link="right_rod" {RIGHT}/><axis xyz="0 1 0"/></loop_joint>""",
}
DRIVES = """<transmission name="left"><type>transmission_interface/SimpleTransmission</type>
  <joint name="left_motor"/><actuator name="m1">
  <mechanicalReduction>20</mechanicalReduction></actuator></transmission>
<transmission name="right"><joint name="right_motor"/></transmission>"""
# As CAD exports it: a light body at the end of either rod, which a closure file welds.
ENDS = (
    link_text("left_end", 0.02, 0.0)
    + link_text("right_end", 0.03, 0.0)
    + joint_text("tip_A", ("left_rod", "left_end"), LEFT, kind="continuous")
    + joint_text("tip_B", ("right_rod", "right_end"), RIGHT, kind="continuous")
)
SIDE = "closed_loop: [[tip_A, tip_B]]\ntype: [6d]\nname_mot: [left_motor, right_motor]\n"


def robot_document(contents: str, name: str = "bars") -> str:
    """A whole document."""
    return f'<?xml version="1.0"?>\n<robot name="{name}">\n{contents}\n</robot>\n'


def write_file(folder: Path, text: str, name: str = "robot.urdf") -> Path:
    """A file with a text."""
    path = folder / name
    path.write_text(text)
    return path
