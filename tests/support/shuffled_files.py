"""MJCF files with bodies, equalities and names in another order: the same robot, drawn by somebody else."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET

import mujoco as mj

_WIDTH = {0: 7, 1: 4, 2: 1, 3: 1}


def shuffled(text: str, seed: int) -> tuple[str, dict[str, str]]:
    """A file in another order, its bodies with names that say nothing; the old names by the new ones."""
    rng = random.Random(seed)
    model = mj.MjModel.from_xml_string(text)
    values = {}
    for joint in range(model.njnt):
        at = int(model.jnt_qposadr[joint])
        values[model.jnt(joint).name] = model.key_qpos[0][at : at + _WIDTH[int(model.jnt_type[joint])]]
    root = ET.fromstring(text)
    world, equalities = root.find("worldbody"), root.find("equality")
    assert world is not None
    assert equalities is not None
    for element in (*world.iter(), equalities):
        mixed = [child for child in element if child.tag in ("body", "connect", "weld")]
        for child in mixed:
            element.remove(child)
        rng.shuffle(mixed)
        element.extend(mixed)
    (key,) = root.iter("key")
    order = [joint.get("name") for joint in world.iter("joint")]
    key.set("qpos", " ".join(repr(float(v)) for name in order for v in values[name]))
    names = [body.get("name", "") for body in world.iter("body")]
    given = {name: f"b{k}x" for k, name in enumerate(rng.sample(names, len(names)))}
    for element in root.iter():
        for attribute in ("body1", "body2", *(["name"] if element.tag == "body" else [])):
            if attribute in element.attrib:
                element.set(attribute, given.get(element.attrib[attribute], element.attrib[attribute]))
    return ET.tostring(root, encoding="unicode"), {new: old for old, new in given.items()}
