"""The robots of the ruler as numbers that all engines share, and as the files that engines read.

    python benchmarks/ruler/describe.py [NAME ...]      write YAML, MJCF and URDF into .results/ruler/

A description holds a tree of joints with one axis each and the loops that close it: frames of two bodies
whose origins coincide ("point"), or that coincide entirely ("weld"). Loops at joints that are not bare ball
joints are cut through a body, whose mass and inertia are shared by the two halves; a universal joint has a
massless body between its axes, and a ball joint of the tree two.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from collection import ROBOTS, description

import nacelle
from nacelle.exchange.graph import Axis, UniqueNames, relative_quat
from nacelle.exchange.mjcf.write import joint_chains, write_mjcf
from nacelle.exchange.tree import massless_bodies, split_axes
from nacelle.exchange.urdf.write import write_urdf
from nacelle.exchange.write.inertia import with_minimal_inertia
from nacelle.exchange.write.robot import assembled_graph, is_bare, with_cut_loops
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import rotation_quat

FILES = Path(__file__).parents[2] / ".results" / "ruler"


def load(name):
    """A robot of the ruler in nacelle."""
    return nacelle.loads(description(name))


def single_axis_graph(robot):
    """The robot's graph with one axis a joint and loops that are points or welds."""
    graph = assembled_graph(robot)
    unsupported = {"couplings": graph.couplings, "springs between bodies": graph.struts}
    unsupported |= {"dampers between bodies": graph.dampers, "a floating platform": graph.floating}
    for what, present in unsupported.items():
        if present:
            raise ValueError(f"{robot.name} has {what}, which the ruler leaves out")
    graph = with_cut_loops(graph, lambda closure: closure.spherical and is_bare(graph, closure))
    names, joints, carriers = UniqueNames(("base", *graph.bodies)), [], []
    for link in graph.joints:
        if link.spherical:
            if link.damping or link.armature:
                raise ValueError(f"{robot.name}: {link.name} has friction or a rotor in a ball joint")
            rotated = link.at @ Pose(rotation_quat(link.quat), np.zeros(3))
            axes = tuple(Axis(direction) for direction in np.eye(3))
            link = replace(link, at=rotated, axes=axes, spherical=False)
        if len(link.axes) == 1:
            joints.append(link)
            continue
        labels = [f"{link.name}-{k + 1}" for k in range(len(link.axes))]
        parts, between = split_axes(link, link.axes, labels, names)
        joints += parts
        carriers += between
    graph = replace(graph, joints=tuple(joints), bodies=graph.bodies | massless_bodies(carriers), marks=())
    loaded = [chain.body for chain in joint_chains(graph)]
    return with_minimal_inertia(graph, loaded, "an engine")


def as_numbers(robot, graph):
    """The graph as plain numbers, bodies in the order of the joints that carry them."""
    scales = {
        term.scale
        for joint in robot.joints
        for terms in joint.friction
        for term in terms
        if term.basis == "coulomb-smooth"
    }
    (scale,) = scales or {0.0}
    joints = []
    for link in graph.joints:
        (axis,) = link.axes
        record = {"name": link.name, "parent": link.parent, "child": link.child}
        record |= {"at": _frame(link.at), "child_at": _frame(link.child_at)}
        record |= {"axis": list(map(float, axis.direction)), "turns": axis.turns, "value": float(axis.value)}
        record["driven"] = axis.motor is not None
        numbers = {"viscous": axis.damping, "coulomb": axis.coulomb, "quadratic": axis.quadratic}
        numbers |= {"cubic": axis.cubic, "armature": axis.armature}
        numbers |= {"stiffness": axis.stiffness, "rest": axis.rest if axis.stiffness else 0.0}
        numbers |= {"scale": scale if axis.coulomb else 0.0}
        joints.append(record | {key: float(value) for key, value in numbers.items() if value})
    loops = [
        {"name": link.name, "kind": "point" if link.spherical else "weld"}
        | {"parent": link.parent, "child": link.child}
        | {"at": _frame(link.at), "child_at": _frame(link.child_at)}
        for link in graph.closures
    ]
    bodies = [{"name": link.child} | _solid(graph.bodies[link.child]) for link in graph.joints]
    return {"name": robot.name, "gravity": list(map(float, graph.gravity)), "bodies": bodies} | {
        "joints": joints,
        "loops": loops,
    }


def _frame(pose):
    quat = [0.0, 0.0, 0.0, 1.0] if np.array_equal(pose.R, identity().R) else relative_quat(pose.R)
    return {"p": [float(v) + 0.0 for v in pose.p], "quat_xyzw": [float(v) + 0.0 for v in quat]}


def _solid(solid):
    return {
        "mass": float(solid.mass),
        "com": [float(v) + 0.0 for v in solid.com],
        "inertia": (0.5 * (solid.inertia + solid.inertia.T) + 0.0).tolist(),
    }


def describe(name):
    """The numbers of a robot of the ruler."""
    robot = load(name)
    return as_numbers(robot, single_axis_graph(robot))


def write_files(name, folder=FILES):
    """The robot as YAML, MJCF and URDF; the paths by their endings."""
    folder.mkdir(parents=True, exist_ok=True)
    robot = load(name)
    graph = single_axis_graph(robot)
    texts = {".yaml": description(name), ".xml": write_mjcf(graph), ".urdf": write_urdf(graph)[".urdf"]}
    texts[".json"] = json.dumps(as_numbers(robot, graph))
    for ending, text in texts.items():
        (folder / f"{name}{ending}").write_text(text, encoding="utf-8")
    return {ending: folder / f"{name}{ending}" for ending in texts}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(ROBOTS))
    for name in parser.parse_args().names:
        write_files(name)
